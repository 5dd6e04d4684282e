#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize --records`: each line gets one answer in its place, whatever it contains; memory does not
# grow, and the index stays mapped. records.py sends the records; this script compiles the program that they are about.
# Records and answers conform to their schemas.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc nm python3
cat >"$work/code.c" <<'END_C'
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
int innermost(int x) { return square(x) + 1; }
END_C
gcc -g -O1 -fPIC -shared -Wl,--build-id=sha1 -o "$work/code.so" "$work/code.c"
run 0 index --quiet -o "$work/store" "$work/code.so"
# The index's path contains the build id: ab/cdef.../index.
build_id=$(cd "$work/store" && find . -name index | tr -cd '0-9a-f/' | cut -d / -f 2,3 | tr -d /)
offset=$(nm "$work/code.so" | awk '$3 == "innermost" { print $1 }')
[[ ${#build_id} -eq 40 && -n $offset ]] || fail "no index: $build_id, $offset"
python3 "$top/tests/tool/records.py" "$unspool" "$work/store" "$build_id" "$((16#$offset))" innermost || fail "records.py"

# ---- records of all forms, and answers with all members
place='"build_id":"'$build_id'","offset":'
cat >"$work/records" <<END
{"frames":[{"image":"code.so",$place$((16#$offset))},{$place"0x$offset","base":"linked","exact":true}]}
{"frames":[{$place$((16#$offset + 1)),"base":"load","exact":true},{$place$((16#$offset + 3)),"exact":true}]}
{"frames":[{"uuid":"0123ABCD-4567-89AB-CDEF-0123456789AB","address":4377157428,"load_address":"0x104e5c000"}]}
{"frames":[{$place$((16#$offset + 2)),"symbol":"<redacted>","symbol_offset":0},{$place$((16#$offset + 4)),"symbol":"named"}]}
{"frames":[],"unspool":{"frames":1,"named":1,"answered":0,"no_symbol":0,"no_file":0,"no_image":0}}
END
printf 'no JSON \377\n{"frames":[\n[]\n{}{}\n' >"$work/damaged"
for name in records damaged; do
  "$unspool" symbolize --records --index "$work/store" <"$work/$name" >"$work/$name.out" 2>"$work/err" || fail "$(cat "$work/err")"
  err_is_empty
done
[[ $(grep -c '"error"' "$work/damaged.out") -eq 4 ]] || fail "errors: $(cat "$work/damaged.out")"
grep -q '"symbol":"innermost","symbol_offset":[0-9]*,"source_file":"/.*/code.c","source_line":[0-9]*,"inlined":\[{"symbol":"square",' \
  "$work/records.out" || fail "no answer with all members: $(cat "$work/records.out")"
# A name that says nothing is replaced, and so is its offset.
python3 - "$work/records.out" <<'END' || fail "a placeholder: $(cat "$work/records.out")"
import json, sys

def once(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)

with open(sys.argv[1], encoding="utf-8") as file:
    answers = [json.loads(line, object_pairs_hook=once) for line in file]
frame = answers[3]["frames"][0]
assert (frame["symbol"], frame["symbol_offset"]) == ("innermost", 2), frame
END
validate record-answer "$work/damaged.out"
open_keys=('' frames)
validate record "$work/records"
validate record-answer "$work/records.out"
verdict
