#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks what `unspool stack` says where a stack ends in generated code without frame records: of a JVM, which has an
# option for that, and of another program.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
[[ $(uname -sm) == 'Linux x86_64' ]] || skip "the generated code is for x86_64 Linux"
need_tools gcc
source=$top/tests/tool/java_end.c
cd "$work"
hint='Java code compiled without frame pointers: -XX:\+PreserveFramePointer'

# has_frames NAMES: the stack has frames with these names alone. Generated code has none.
has_frames() {
  local names
  names=$(awk '/^[0-9]+ / { print $4 }' out | tr '\n' ' ')
  [[ $names == "$1" ]] || fail "the frames $names instead of $1" "$(<out)"
}

# begin PROGRAM [ARGUMENT]: starts it and captures it.
begin() {
  start "$@"
  run 0 stack "$pid"
}

gcc -O1 "$source" -o other
begin ./other own-stack
has_frames '[unknown] '
out_lacks "$hint"
out_has '^    ends: the frame pointer is zero$'
stop
begin ./other
out_has ' main( |$)'
out_lacks "$hint"
stop

gcc -shared -fPIC -x c /dev/null -o libjvm.so
gcc -O1 "$source" -o jvm -Wl,--no-as-needed -L. -ljvm -Wl,-rpath,"$work"
begin ./jvm own-stack
has_frames '[unknown] '
out_has "^    ends: $hint\$"
run 0 stack --json "$pid"
out_lacks "$hint"
stop
begin ./jvm
out_has "^    frames left out: $hint\$"
out_has '^    ends: the outermost frame was reached$'
stop
verdict
