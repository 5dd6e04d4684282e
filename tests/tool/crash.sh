#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the crash handler of doc/examples/crash.c: however the program crashes, it ends as without the handler, the
# stack that was written reaches main, and handlers that were installed before are called.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

crash=$PWD/doc/examples/crash
former=$PWD/tests/tool/crash_former
cd "$work"

# crashes STATUS PROGRAM ARGUMENT...: runs a program that crashes and ends with this status, then reads its stack. The
# program's output is in $work/says.
crashes() {
  local status=0
  rm -f crash.raw
  # The inner shell says "Aborted" and so on.
  { timeout 300 "${@:2}" >says 2>err; } 2>/dev/null || status=$?
  [[ $status -eq $1 ]] || fail "${*:2}: exit status $status instead of $1"
  run 0 stack crash.raw
}
# ended NUMBER: checks that the stack of this signal reaches the program's start.
ended() {
  out_has "^Process [0-9]+ .*/crash[_a-z]*, .*, ended by SIG$(kill -l "$1")\$"
  out_has ' main(\.cold)? \+ [0-9]+( \([^ ]+\))?$'
  out_has '^    ends: (the outermost frame was reached|the frame pointer is zero)$'
}

crashes 139 "$crash"
[[ ! -s says ]] || fail "crash writes to standard output: $(<says)"
ended 11
out_has '^0 +crash +0x[0-9a-f]+ (read_setting|main)(\.[a-z]+)? \+ [0-9]+( \([^ ]+\))?$'

signals=(ABRT TRAP ILL FPE BUS SYS SEGV)
for name in "${signals[@]}"; do
  number=$(kill -l "$name")
  crashes $((128 + number)) "$crash" "$number"
  ended "$number"
done

# Earlier handlers of both kinds. One returns, which ends no program but one that has called abort; the other ends it.
for name in "${signals[@]}"; do
  number=$(kill -l "$name") status=0
  [[ $name != ABRT ]] || status=$((128 + number))
  crashes "$status" "$former" plain "$number"
  [[ $(<says) == "plain $number" ]] || fail "the former handler of SIG$name without information says: $(<says)"
  ended "$number"
  crashes 3 "$former" info "$number"
  [[ $(<says) == "info $number" ]] || fail "the former handler of SIG$name with information says: $(<says)"
  ended "$number"
done
crashes 3 "$former" info
[[ $(<says) == 'info 11' ]] || fail "the former handler of a null pointer says: $(<says)"
ended 11

# libc and libstdc++ are compiled without frame pointers, and functions that do not return end with their call.
aborted=$((128 + 6))
crashes $aborted "$former" assert
ended 6
out_has ' abort \+ [0-9]+( \([^ ]+\))?$'
expect_frames '' check_setting main
if part_needs g++; then
  g++ -O2 -shared -fPIC -fno-optimize-sibling-calls -o libthrow.so "$top/tests/tool/crash_throw.cc"
  crashes $aborted "$former" throw "$work/libthrow.so"
  ended 6
  out_has ' abort \+ [0-9]+( \([^ ]+\))?$'
  out_has ' parse_setting(\.cold)? \+ [0-9]+$'
  expect_frames '' throw_setting main
fi

# A thread that runs out of stack; the handler runs on a stack of its own.
crashes 139 "$crash" overflow
out_has ', ended by SIGSEGV$'
out_has ' call_without_end(\.[a-z0-9]+)* \+ [0-9]+( \([^ ]+\))?$'
verdict
