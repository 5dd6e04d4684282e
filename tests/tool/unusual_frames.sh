#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks `unspool stack` of programs whose frames are unusual: a function that does not return lies directly after its
# call; only .debug_frame describes functions, in the program's file or a separate one; the stack is changed, upward and
# downward, as call frame information describes, or to one of makecontext; generated code keeps no frame records; a
# language has a stack of its own.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
source=$top/tests/tool/unusual_frames.c
cd "$work"

# expect NAMES: the stack of the program has these functions next to each other.
expect() {
  local names
  names=$(awk '/^[0-9]+ +[^ ]+ +0x/ { print $4 }' out | tr '\n' ' ')
  [[ " $names" == *" $1 "* ]] || fail "the stack has no $1" "$(<out)"
  out_lacks 'damaged'
}

# expect_generated: the stack is complete on both sides of a frame of generated code.
expect_generated() {
  expect "$chain innermost"
  out_has ' \[unknown\]$'
  out_has 'left out'
  out_has ' run_generated .*\[unverified\]'
  out_has ' main '
  out_has 'ends: the outermost frame was reached'
}

# expect_language: the stack is complete on both sides of a frame of a language's code.
expect_language() {
  expect "$chain innermost language run_language main"
  out_has 'left out'
  out_lacks 'unverified'
  out_has 'ends: the outermost frame was reached'
}

# Each function has a frame and its own name.
plain=(-fno-ipa-sra -fno-ipa-cp -fno-optimize-sibling-calls)
chain='ready ends checks works'

# The program has an .eh_frame_hdr for its startup files, and its functions are in .debug_frame only.
gcc -O2 "${plain[@]}" -g -fno-asynchronous-unwind-tables -fno-unwind-tables "$source" -o described
start ./described
run 0 stack "$pid"
expect "$chain main"
stop
need_tools objcopy
objcopy --only-keep-debug described split.debug
objcopy --strip-debug --add-gnu-debuglink=split.debug described split
rm described
start ./split
run 0 stack "$pid"
expect "$chain main"
stop
rm split.debug

if part_needs clang-19; then
  clang-19 -Oz "$source" -o next
  start ./next
  run 0 stack "$pid"
  expect 'ready ends checks'
  stop
fi

if [[ $(uname -m) == x86_64 ]]; then
  gcc -O2 "${plain[@]}" -DSWITCHES "$source" -o switches -pthread
  for how in up down thread-up thread-down; do
    start ./switches "$how"
    run 0 stack "$pid"
    step=to_lower
    [[ $how != *up ]] || step=to_higher
    expect "$chain innermost on_stack $step on_stack runs"
    stop
  done
  # Frames of generated code that no reader understands are left out: live, and in a core.
  start ./switches generated
  run 0 stack "$pid"
  expect_generated
  if part_needs gdb; then
    gdb -nx -batch -readnever -p "$pid" -ex "gcore core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
    run 0 stack core
    expect_generated
  fi
  stop
  # The caller of the function that has entered a language's code follows that code: live, and in a core.
  start ./switches language
  run 0 stack "$pid"
  expect_language
  if part_needs gdb; then
    gdb -nx -batch -p "$pid" -ex "gcore core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
    run 0 stack core
    expect_language
  fi
  stop
  # The first function of a coroutine is the outermost one: live, and in a core.
  start ./switches context
  run 0 stack "$pid"
  expect "$chain first"
  out_has 'ends: the outermost frame was reached'
  if part_needs gdb; then
    gdb -nx -batch -readnever -p "$pid" -ex "gcore core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
    run 0 stack core
    expect "$chain first"
    out_has 'ends: the outermost frame was reached'
  fi
  stop
fi
verdict
