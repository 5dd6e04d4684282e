#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize --records`: each line gets one answer in its place, whatever it contains; memory does not
# grow, and the index stays mapped. records.py sends the records; this script compiles the program that they are about.
# Records and answers conform to their schemas. Return addresses in Thumb code name their call.
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

# ---- return addresses in Thumb code are odd. The call that never returns is the last instruction of its function, so
# that one byte less than the odd address would be the next function.
if part_needs clang-19 ld.lld-19; then
  cat >"$work/thumb.c" <<'END_C'
__attribute__((noreturn)) extern void stop(int);
__attribute__((noinline)) void dies(int x) {
  stop(x);
}
__attribute__((noinline)) int next(int x) { return x * 3; }
END_C
  clang-19 --target=armv7a-linux-gnueabihf -mthumb -O1 -g -shared -fPIC -nostdlib -fuse-ld=lld-19 -Wl,--build-id=sha1 \
    -o "$work/thumb.so" "$work/thumb.c"
  run 0 index --quiet -o "$work/thumb.store" "$work/thumb.so"
  build_id=$(readelf -n "$work/thumb.so" | sed -n 's/.*Build ID: //p')
  next=$((16#$(nm "$work/thumb.so" | awk '$3 == "next" { print $1 }') & ~1))
  for address in $next $((next + 1)); do
    record='{"frames":[{"build_id":"'$build_id'","offset":1},{"build_id":"'$build_id'","offset":'$address'}]}'
    for way in --search="$work/thumb.so" --index="$work/thumb.store"; do
      run 0 symbolize --records "$way" <<<"$record"
      out_has "\"symbol\":\"dies\",\"symbol_offset\":$((address - next + 4)),.*\"source_line\":3\}"
    done
    printf './thumb.so(+0x%x) [0x%x]\n' 1 1 "$address" "$address" >"$work/thumb.log"
    run 0 symbolize --log "$work/thumb.log" --search "$work/thumb.so"
    out_has "\(dies\+0x$((address - next + 4)) \(thumb\.c:3\)\)"
  done
fi
validate record-answer "$work/damaged.out"
open_keys=('' frames)
validate record "$work/records"
validate record-answer "$work/records.out"
verdict
