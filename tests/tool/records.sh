#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize --records`: each line gets one answer in its place, whatever it contains; memory does not
# grow, and the index stays mapped. records.py sends the records; this script compiles the program that they are about.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc nm python3
echo 'int innermost(int x) { return x * x + 1; }' >"$work/code.c"
gcc -g -O1 -fPIC -shared -Wl,--build-id=sha1 -o "$work/code.so" "$work/code.c"
run 0 index --quiet -o "$work/store" "$work/code.so"
# The index's path contains the build id: ab/cdef.../index.
build_id=$(cd "$work/store" && find . -name index | tr -cd '0-9a-f/' | cut -d / -f 2,3 | tr -d /)
offset=$(nm "$work/code.so" | awk '$3 == "innermost" { print $1 }')
[[ ${#build_id} -eq 40 && -n $offset ]] || fail "no index: $build_id, $offset"
python3 "$top/tests/tool/records.py" "$unspool" "$work/store" "$build_id" "$((16#$offset))" innermost || fail "records.py"
verdict
