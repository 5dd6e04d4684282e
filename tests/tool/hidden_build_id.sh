#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests programs whose build id no program header describes, as Go has linked them since 1.24: the file's section says
# where the id is mapped. Live, in a core, sampled, replaced by another build, and where the id cannot be compared.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
have readelf || skip "readelf is missing"

# hide_notes FILE: makes every PT_NOTE a PT_NULL. The sections of the notes stay.
hide_notes() {
  local start size index=0 type
  start=$(readelf -hW "$1" | sed -n 's/.*Start of program headers: *\([0-9]*\).*/\1/p')
  size=$(readelf -hW "$1" | sed -n 's/.*Size of program headers: *\([0-9]*\).*/\1/p')
  while read -r type; do
    if [[ $type == NOTE ]]; then
      printf '\0\0\0\0' | dd of="$1" bs=1 seek=$((start + index * size)) conv=notrunc status=none
    fi
    index=$((index + 1))
  done < <(readelf -lW "$1" | awk '/^  Type/ { on = 1; next } /^$/ { on = 0 } on && $1 != "[Requesting" { print $1 }')
  ! readelf -lW "$1" | grep '^  NOTE ' >/dev/null || fail "$1: a note is still in the program headers"
}

id=$(readelf -nW "$stuck" 2>/dev/null | sed -n 's/.*Build ID: //p')
[[ -n $id ]] || skip "the compiler writes no build ids"
hide_notes "$stuck"

start "$stuck" busy
run 0 stack "$pid"
err_is_empty
expect_frames "$pid" inner outer main
expect_frames 'w.x1b' work_inner work_outer work
run 0 stack --json "$pid"
out_has "\"build_id\": ?\"$id\""
address=$(awk '/ inner \+/ { print $3; exit }' <("$unspool" stack "${patient[@]}" "$pid"))
run 0 symbolize -p "$pid" "$address"
err_is_empty
out_has '^inner '
record_until ';main;outer;inner' "$work/out" --format folded "$pid"
out_has ';main;outer;inner'

# Another build takes the file's place: the process keeps its own, which still gives the names.
cp "$stuck" "$work/first"
cp "$unspool" "$work/new"
hide_notes "$work/new"
mv "$work/new" "$stuck"
run 0 stack "$pid"
expect_frames "$pid" inner outer main
cp "$work/first" "$stuck"

# A core: the file that it names is used, another build is refused, and the message says so.
if part_needs gdb; then
  gdb -nx -batch -readnever -p "$pid" -ex "gcore $work/core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
  run 0 stack "$work/core"
  expect_frames "$pid" inner outer main
  run 0 stack --json "$work/core"
  out_has "\"build_id\": ?\"$id\""
  cp "$unspool" "$work/new"
  hide_notes "$work/new"
  mv "$work/new" "$stuck"
  run 0 stack "$work/core"
  out_lacks ' (inner|outer) \+'
  err_has "^unspool: $stuck: .*another build"
fi
stop

# A raw capture of the process itself does not hold the memory in which the id lies: the file is refused, and the
# message says so.
cp tests/tool/captures_itself "$work"
hide_notes "$work/captures_itself"
"$work/captures_itself" "$work/raw" >/dev/null
run 0 stack "$work/raw"
err_has "^unspool: $work/captures_itself: .*build-id.*; not used$"
out_lacks ' ends_in_noreturn \+'
verdict
