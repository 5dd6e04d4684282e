#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests commands for a process that the user must not examine: the exit status, and a message that says what to do.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
[[ $(id -u) -eq 0 ]] || skip "only root can become another user"
need_tools setpriv
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${nobody[@]}" "$unspool" --version >/dev/null 2>&1 || skip "another user cannot run $unspool"

# refused TEXT COMMAND...: checks that the command refuses the process with a message that matches TEXT.
refused() {
  local text=$1 status=0
  shift
  "${nobody[@]}" "$unspool" "$@" "$pid" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq 3 ]] || fail "exit status $status instead of 3"
  [[ ! -s $work/out ]] || fail "output: $(cat "$work/out")"
  [[ $(wc -l <"$work/err") -eq 1 ]] || fail "not one line: $(cat "$work/err")"
  err_has "$text"
}
# refused_by_all TEXT: checks this for every command that reads a process.
refused_by_all() {
  refused "$1" stack
  refused "$1" images
  refused "$1" symbolize -p
}
# Another user's process.
start "$stuck"
refused_by_all "^unspool: process $pid belongs to user 0, this is user 65534: run as that user, or as root"
# The user's own process, which has forbidden it.
start "${nobody[@]}" "$stuck" undumpable
refused_by_all '^unspool: .*(PR_SET_DUMPABLE|CAP_SYS_PTRACE)'
run 0 stack "$pid"
# The user's own process.
start "${nobody[@]}" "$stuck"
"${nobody[@]}" "$unspool" stack "${patient[@]}" "$pid" >"$work/out" 2>"$work/err" || fail "one's own process is refused: $(cat "$work/err")"
expect_frames "$pid" inner outer main
verdict
