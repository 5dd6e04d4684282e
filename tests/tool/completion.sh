#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shell completion: every option that a command's help or manual page names is completed, by bash and, where it is installed,
# by zsh; and what follows an option.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

completion=$top/tools/completion

# in_bash WORD...: what bash offers for the last of the words.
in_bash() {
  # shellcheck disable=SC2016 # for the other bash
  bash --norc --noprofile -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _unspool; printf "%s\n" "${COMPREPLY[@]}"' \
    "$completion/unspool.bash" "$@"
}

# in_zsh WORD...: the specifications of what zsh is to offer; its own functions, which only work in a line editor, print
# what they are given.
in_zsh() {
  # shellcheck disable=SC2016 # for zsh
  zsh -f -c 'file=$1; shift; words=("$@"); CURRENT=$#
    _arguments() { print -rl -- "$@"; }
    _describe() { print -rl -- ${(P)2}; }
    . $file' zsh "$completion/_unspool" "$@" |
    # (EXCLUDED)*--option[text]:value:action, command:text
    sed -E 's/^\([^)]*\)//; s/^\*-/-/; s/[:[].*//'
}

# offers SHELL COMMAND OPTION...: fails for each that is not offered.
offers() {
  local shell=$1 command=$2 option
  shift 2
  for option; do
    grep -qx -- "$option" "$work/$shell" || fail "$shell: unspool $command: $option is not completed"
  done
}

# same_options COMMAND: both shells, against the help and the synopsis.
same_options() {
  local command=$1 page=$top/doc/man/unspool-$1.1 shell option wanted=()
  run 0 "$command" --help
  mapfile -t wanted < <(
    # An option begins its line, or is named in the text behind.
    grep -oE -- '(^|[^[:alnum:]-])--?[a-zA-Z][a-zA-Z-]*' "$work/out" | grep -oE -- '--?[a-zA-Z].*' | sort -u
    [[ -f $page ]] || page=$top/doc/man/unspool.1
    sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$page" | sed 's/\\-/-/g; s/\\fP/ /g' | grep -E "^\.[BR]+ .*" |
      if [[ $page == */unspool.1 ]]; then awk -v wanted="unspool $command" '/unspool /{ on = index($0, wanted) } on'; else cat; fi |
      grep -oE -- '(^|[^[:alnum:]-])--?[a-zA-Z][a-zA-Z-]*' | grep -oE -- '--?[a-zA-Z].*' | sort -u
  )
  [[ ${#wanted[@]} -gt 1 ]] || fail "$command: the help names no option"
  # These of atos change nothing (unspool-symbolize.1).
  mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | grep -vxE -- '-(i|d|fullPath|printHeader)')
  in_bash unspool "$command" - >"$work/bash"
  offers bash "$command" "${wanted[@]}"
  if have zsh; then
    in_zsh unspool "$command" - >"$work/zsh"
    offers zsh "$command" "${wanted[@]}"
    # One list, written down twice.
    while read -r option; do offers zsh "$command" "$option"; done <"$work/bash"
  fi
  # What is completed is understood, so far as the help goes.
  while read -r option; do
    grep -qE -- "(^|[^[:alnum:]-])$option([^[:alnum:]-]|\$)" "$work/out" || fail "$command: $option is not in the help"
  done < <(grep -x -- '--.*' "$work/bash")
}

run 0 --help
mapfile -t commands < <(sed -nE 's/^  ([a-z]+) .*/\1/p' "$work/out")
[[ ${commands[0]-} == stack ]] || fail "unspool --help names no commands"
in_bash unspool '' >"$work/bash"
offers bash '' "${commands[@]}" --help --version
if have zsh; then
  in_zsh unspool '' >"$work/zsh"
  offers zsh '' "${commands[@]}" --help --version
fi
for command in "${commands[@]}"; do same_options "$command"; done

# What follows.
[[ $(in_bash unspool stack --demangle si) == simple ]] || fail "bash: --demangle s"
[[ $(in_bash unspool stack --style cr) == crash-report ]] || fail "bash: --style cr"
[[ $(in_bash unspool symbolize -arch arm64_) == arm64_32 ]] || fail "bash: -arch arm64_"
[[ $(in_bash unspool symbols --arch arm64e) == arm64e ]] || fail "bash: --arch arm64e"
[[ -z $(in_bash unspool stack --max '') ]] || fail "bash: --max"
mkdir "$work/folder"
: >"$work/folder.file"
[[ $(in_bash unspool stack --sysroot "$work/fol") == "$work/folder" ]] || fail "bash: --sysroot"
[[ $(in_bash unspool stack --program "$work/folder.") == "$work/folder.file" ]] || fail "bash: --program"
[[ $(in_bash unspool symbols "$work/folder.") == "$work/folder.file" ]] || fail "bash: a file"
in_bash unspool stack "$$" | grep -cx "$$" >/dev/null || fail "bash: a process"
verdict
