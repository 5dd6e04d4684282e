#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests images whose mappings are unusual: segments that share the file's first page, so that the file's beginning is
# mapped several times, and text that the program has replaced by other memory. Live and in a core.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

# check NAME ARGUMENT...: starts the program and checks its stack, the list of its images, and those of a core.
check() {
  local name=$1 core=$work/$1.core
  shift
  start "$work/$name" "$@"
  run 0 stack --app "$pid"
  err_is_empty
  expect_frames "$pid" inner outer main
  run 0 stack --json "$pid"
  [[ $(grep -c "\"path\": ?*\"$work/$name\"" "$work/out") -eq 1 ]] || fail "$name $*: not one image of its path"
  record_until ';main;outer;inner' "$work/out" --format folded "$pid"
  err_has '^unspool: [0-9]+ samples'
  out_has ';main;outer;inner'
  if part_needs gdb; then
    gdb -nx -batch -readnever -p "$pid" -ex "gcore $core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
    run 0 stack "$core"
    expect_frames "$pid" inner outer main
    run 0 stack --json "$core"
    [[ $(grep -c "\"path\": ?*\"$work/$name\"" "$work/out") -eq 1 ]] || fail "$name $*: not one image in the core"
    out_lacks '"path": ?".*memfd'
  fi
  stop
}

program=$top/tests/tool/moves_text.c
read -ra compiler <<<"${CC:-cc}"
"${compiler[@]}" -O2 -I"$top" -o "$work/whole" "$program" || skip "no compiler"
check whole
check whole anonymous
check whole file

if part_needs clang-19 ld.lld-19; then
  clang-19 -O2 -I"$top" -fuse-ld=lld-19 -Wl,--build-id -o "$work/small" "$program"
  start "$work/small"
  [[ $(grep -cE "^[0-9a-f]+-[0-9a-f]+ .... 00000000 .*$work/small\$" "/proc/$pid/maps") -ge 2 ]] ||
    fail "the file's beginning is mapped once: $(grep small "/proc/$pid/maps")"
  stop
  check small
fi
verdict
