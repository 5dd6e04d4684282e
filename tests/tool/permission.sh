#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `unspool stack` of a process that must not be looked at: the status, and a sentence that says what to do.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
[[ $(id -u) -eq 0 ]] || skip "only root can become another user"
need_tools setpriv
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
"${nobody[@]}" "$unspool" --version >/dev/null 2>&1 || skip "another user cannot run $unspool"

refused() {
  local status=0
  "${nobody[@]}" "$unspool" stack "$pid" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq 3 ]] || fail "exit status $status instead of 3"
  [[ ! -s $work/out ]] || fail "output: $(cat "$work/out")"
  err_has "$1"
}
# Another user's process.
start "$stuck"
refused '^unspool: .*(as root|as that user)'
# One's own, which has forbidden it.
start "${nobody[@]}" "$stuck" undumpable
refused '^unspool: .*(PR_SET_DUMPABLE|CAP_SYS_PTRACE)'
run 0 stack "$pid"
# One's own.
start "${nobody[@]}" "$stuck"
"${nobody[@]}" "$unspool" stack "$pid" >"$work/out" 2>"$work/err" || fail "one's own process is refused: $(cat "$work/err")"
expect_frames "$pid" inner outer main
verdict
