#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The progress line: on a terminal, erased before the command ends; nowhere else. The delay is set, so that no time decides.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

need_tools python3
cp tests/tool/captures_itself "$work"
# A capture, which takes no time: only the command's options decide.
"$work/captures_itself" "$work/capture.raw" >/dev/null || fail "the program ended with $?"
erase=$'\r\033[K'

# on_terminal DELAY TERM [OPTION...]: what the command writes there, in $said; its report in $work/out.
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
# Each line begins with an erasure of the one before, and one more follows the last. Lines between are skipped when little
# time has passed, the first is not.
[[ $said == "$erase"1\ of\ *": "*"$erase" ]] || fail "on a terminal: $(printf %q "$said")"
[[ $said != *$'\n'* ]] || fail "a line stays on the terminal: $(printf %q "$said")"
out_lacks ' of [0-9]+: '
cp "$work/out" "$work/watched"

# An hour has not passed.
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
verdict
