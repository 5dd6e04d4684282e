#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the progress line of `unspool stack` and `unspool index`: it is shown on a terminal only, and erased before the
# command ends. The delay is set, so that the result does not depend on time.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

need_tools python3
cp tests/tool/captures_itself "$work"
# A capture takes no time, so only the command's options decide.
"$work/captures_itself" "$work/capture.raw" >/dev/null || fail "the program ended with $?"
erase=$'\r\033[K'

# on_terminal DELAY TERM [OPTION...]: runs the command on a terminal; what it writes there is in $said, its report in
# $work/out.
on_terminal() {
  local delay=$1 terminal=$2 status=0
  shift 2
  said=$(UNSPOOL_PROGRESS_DELAY=$delay TERM=$terminal python3 "$top/tests/tool/on_terminal.py" "$work/out" \
    "$unspool" stack "$@" "$work/capture.raw" && echo .) || status=$?
  [[ $status -eq 0 ]] || fail "on a terminal: status $status, \"$said\""
  said=${said%.}
  out_has '^Thread '
}

on_terminal 0 xterm
# Each line begins by erasing the one before; one more erasure follows the last. The first line is always shown; lines
# that follow too soon are skipped.
[[ $said == "$erase"1\ of\ *": "*"$erase" ]] || fail "on a terminal: $(printf %q "$said")"
[[ $said != *$'\n'* ]] || fail "a line stays on the terminal: $(printf %q "$said")"
out_lacks ' of [0-9]+: '
cp "$work/out" "$work/watched"

# The delay of an hour has not passed.
on_terminal 3600000 xterm
[[ -z $said ]] || fail "too early: $(printf %q "$said")"
on_terminal 0 dumb
[[ -z $said ]] || fail "on a dumb terminal: $(printf %q "$said")"
on_terminal 0 xterm --no-symbols
[[ -z $said ]] || fail "nothing is read: $(printf %q "$said")"

# Not on a terminal.
UNSPOOL_PROGRESS_DELAY=0 TERM=xterm run 0 stack "$work/capture.raw"
err_is_empty
# The names are the same.
cmp -s <(grep -E '^[0-9]+ ' "$work/out") <(grep -E '^[0-9]+ ' "$work/watched") || fail 'other frames on a terminal'

# `unspool index`, while it reads the units of debug information, and while it compares them.
if part_needs gcc; then
  # --verify shows progress after every few thousand addresses.
  for ((i = 0; i < 1000; i++)); do echo "int answer_$i(int a) { return a * $i; }"; done >"$work/one.c"
  gcc -g -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o "$work/one" "$work/one.c"
  for action in --force --verify; do
    index=(index "$action" -o "$work/store" "$work/one")
    said=$(UNSPOOL_PROGRESS_DELAY=0 TERM=xterm python3 "$top/tests/tool/on_terminal.py" "$work/out" "$unspool" "${index[@]}" && echo .)
    [[ $said == "$erase"*" of 1000: $work/one$erase." ]] || fail "index $action on a terminal: $(printf %q "$said")"
    said=$(UNSPOOL_PROGRESS_DELAY=3600000 TERM=xterm python3 "$top/tests/tool/on_terminal.py" "$work/out" "$unspool" "${index[@]}" && echo .)
    [[ $said == . ]] || fail "index $action, too early: $(printf %q "$said")"
    UNSPOOL_PROGRESS_DELAY=0 TERM=xterm run 0 "${index[@]}"
    err_is_empty
  done
fi
verdict
