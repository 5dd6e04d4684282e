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

# one_frame: the stack has the generated code alone.
one_frame() {
  local frames
  frames=$(grep -cE '^[0-9]+ ' out)
  [[ $frames == 1 ]] || fail "$frames frames instead of one" "$(<out)"
}

gcc -O1 "$source" -o other
start ./other
run 0 stack "$pid"
one_frame
out_lacks "$hint"
out_has '^    ends: the frame pointer is zero$'
stop

gcc -shared -fPIC -x c /dev/null -o libjvm.so
gcc -O1 "$source" -o jvm -Wl,--no-as-needed -L. -ljvm -Wl,-rpath,"$work"
start ./jvm
run 0 stack "$pid"
one_frame
out_has "^    ends: $hint\$"
run 0 stack --json "$pid"
out_lacks "$hint"
stop
verdict
