#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that `unspool stack` gives no wrong name to the waiting threads of a stripped program with musl. musl's
# functions in assembly have no size in the symbol tables, and must not name the code after them. The main thread's stack
# ends at its outermost frame, also in a core, although no table describes the function that calls main for ever.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools musl-gcc strip
cd "$work"

# waiting PROGRAM PATTERN NAMES: starts the program and shows its stacks until two lines match, which takes a moment:
# its threads have to reach their waits. Checks that the stacks reach the program's code, and that all names in them
# match NAMES.
waiting() {
  local program=$1 names wrong
  start "./$program"
  # shellcheck disable=SC2317,SC2329 # called by wait_until
  both_wait() { run 0 stack "$pid" && [[ $(grep -cE "$1" out) -ge 2 ]]; }
  wait_until both_wait "$2" || fail "$program: the two threads do not wait" "$(<out)"
  [[ $(grep -cE "^[0-9]+ +$program +0x" out) -ge 3 ]] || fail "$program: the stacks are incomplete" "$(<out)"
  # Where a function has no name, its image's stands.
  names=$(awk '/^[0-9]+ +[^ ]+ +0x/ && $4 != $2 { print $4 }' out | sort -u)
  wrong=$(grep -vxE "$3" <<<"$names" || :)
  [[ -z $wrong ]] || fail "$program: these functions do not wait: ${wrong//$'\n'/ }" "$(<out)"
}

# ends_well: standard output has the main thread's stack, which is complete.
ends_well() {
  awk '/^Thread/ { is_main = /\(main\)/ } is_main && /ends: the outermost frame was reached/ { n++ } END { exit n != 1 }' out ||
    fail "the main thread's stack is not complete" "$(<out)"
}

# complete: the stack of the process's main thread is complete, live and in a core.
complete() {
  ends_well
  part_needs gdb || return 0
  gdb -nx -batch -readnever -p "$pid" -ex "gcore core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
  run 0 stack core
  ends_well
}

musl-gcc -O2 -o dynamic "$top/tests/tool/musl_waits.c"
strip dynamic
waits='(pause|(clock_)?nanosleep)'
waiting dynamic " $waits \\+ " "$waits"
out_has ' pause \+ '
out_has ' nanosleep \+ '
complete

musl-gcc -O2 -static -o static "$top/tests/tool/musl_waits.c"
strip -K memset -K memcpy static
waiting static '^Thread .*, sleeping' ''
complete
verdict
