#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests shell completion: bash and, where it is installed, zsh complete every option that a command's help or manual
# page names, and the argument of an option.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

completion=$top/tools/completion

# in_bash WORD...: prints bash's completions of the last word.
in_bash() {
  # shellcheck disable=SC2016 # for the other bash
  bash --norc --noprofile -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _unspool; printf "%s\n" "${COMPREPLY[@]}"' \
    "$completion/unspool.bash" "$@"
}

# in_zsh WORD...: prints zsh's specifications of the completions. zsh's own functions work only in a line editor, so
# these replacements print their arguments.
in_zsh() {
  # shellcheck disable=SC2016 # for zsh
  zsh -f -c 'file=$1; shift; words=("$@"); CURRENT=$#
    _arguments() { print -rl -- "$@"; }
    _describe() { print -rl -- ${(P)2}; }
    . $file' zsh "$completion/_unspool" "$@" |
    # The form is (EXCLUDED)*--option[text]:value:action, or command:text.
    sed -E 's/^\([^)]*\)//; s/^\*-/-/; s/[:[].*//'
}

# offers SHELL COMMAND OPTION...: fails for each option that is not completed.
offers() {
  local shell=$1 command=$2 option
  shift 2
  for option; do
    grep -qx -- "$option" "$work/$shell" || fail "$shell: unspool $command: $option is not completed"
  done
}

# same_options COMMAND: compares both shells with the help and the synopsis.
same_options() {
  local command=$1 page=$top/doc/man/unspool-$1.1 shell option wanted=()
  run 0 "$command" --help
  mapfile -t wanted < <(
    # An option begins its line, or is named in the text after it.
    grep -oE -- '(^|[^[:alnum:]-])--?[a-zA-Z][a-zA-Z-]*' "$work/out" | grep -oE -- '--?[a-zA-Z].*' | sort -u
    [[ -f $page ]] || page=$top/doc/man/unspool.1
    sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$page" | sed 's/\\-/-/g; s/\\fP/ /g' | grep -E "^\.[BR]+ .*" |
      if [[ $page == */unspool.1 ]]; then awk -v wanted="unspool $command" '/unspool /{ on = index($0, wanted) } on'; else cat; fi |
      grep -oE -- '(^|[^[:alnum:]-])--?[a-zA-Z][a-zA-Z-]*' | grep -oE -- '--?[a-zA-Z].*' | sort -u
  )
  [[ ${#wanted[@]} -gt 1 ]] || fail "$command: the help names no option"
  # These options of atos have no effect (unspool-symbolize.1).
  mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | grep -vxE -- '-(i|d|fullPath|printHeader)')
  in_bash unspool "$command" - >"$work/bash"
  offers bash "$command" "${wanted[@]}"
  if have zsh; then
    in_zsh unspool "$command" - >"$work/zsh"
    offers zsh "$command" "${wanted[@]}"
    # Both shells have the same list.
    while read -r option; do offers zsh "$command" "$option"; done <"$work/bash"
  fi
  # The help names every option that is completed.
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

# Arguments of options.
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
# The shell does not expand names of files.
mkdir "$work/names"
name='$'"(echo >made) *"
: >"$work/names/$name"
[[ $(cd "$work/names" && in_bash unspool stack --core '$') == "$name" ]] || fail "bash: a name that looks like a command"
[[ ! -e $work/names/made ]] || fail "bash: runs the name of a file"
in_bash unspool stack "$$" | grep -cx "$$" >/dev/null || fail "bash: a process"
verdict
