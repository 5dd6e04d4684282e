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
images_refused() {
  refused "^unspool: process $pid may not be read: run as root" images
  refused "^unspool: process $pid may not be read: run as root" symbolize -p
}
# Another user's process.
start "$stuck"
refused '^unspool: .*(as root|as that user)' stack
images_refused
# The user's own process, which has forbidden it.
start "${nobody[@]}" "$stuck" undumpable
refused '^unspool: .*(PR_SET_DUMPABLE|CAP_SYS_PTRACE)' stack
images_refused
run 0 stack "$pid"
# The user's own process.
start "${nobody[@]}" "$stuck"
"${nobody[@]}" "$unspool" stack "$pid" >"$work/out" 2>"$work/err" || fail "one's own process is refused: $(cat "$work/err")"
expect_frames "$pid" inner outer main
verdict
