#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests frames that have a name already: a name whose function does not hold the address is replaced, another one is kept
# and gets its line and inlined calls, each only if the image's build is known. A second run changes nothing.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
id=0123abcd456789abcdef0123456789ab
mkdir "$work/files"
cat >"$work/files/App.sym" <<END
MODULE mac arm64 ${id}0 App
FILE 0 /src/View.m
INLINE_ORIGIN 0 helper
FUNC 1000 100 0 far_export
1000 100 3 0
FUNC 5f2d 40 0 -[View draw]
INLINE 0 14 0 0 5f30 10
5f2d 3 12 0
5f30 10 9 0
5f40 2d 15 0
FUNC 6000 100 0 serve(int)
6000 100 20 0
END
images="Binary Images:
0x104e5c000 - 0x104e6bfff App arm64 <$id> /private/App
0x204e5c000 - 0x204e6bfff Other arm64 <Unknown> /private/Other"
cat >"$work/named.crash" <<END
Thread 0 Crashed:
0   App                           	0x0000000104e61f34 far_export + 20276
1   App                           	0x0000000104e61f4c -[View draw] + 31
2   App                           	0x0000000104e62024 serve(int) + 99
3   App                           	0x0000000104e62030 unknown_label + 12
4   App                           	0x0000000104e62034 \$s3App5QueueC4sizeSivg + 15876
5   App                           	0x0000000104e62038 far_export + 4
6   Other                         	0x0000000204e62038 far_export + 4
7   App                           	0x0000000104e5c800 _start + 16

$images
END
cat >"$work/expected" <<END
Thread 0 Crashed:
0   App                           	0x0000000104e61f34 helper [inlined] (View.m:9)
0   App                           	0x0000000104e61f34 -[View draw] + 7 (View.m:14)
1   App                           	0x0000000104e61f4c -[View draw] + 31 (View.m:15)
2   App                           	0x0000000104e62024 serve(int) + 99 (View.m:20)
3   App                           	0x0000000104e62030 unknown_label + 12 (View.m:20)
4   App                           	0x0000000104e62034 serve(int) + 52 (View.m:20)
5   App                           	0x0000000104e62038 serve(int) + 56 (View.m:20)
6   Other                         	0x0000000204e62038 far_export + 4
7   App                           	0x0000000104e5c800 _start + 16

$images
END
run 0 symbolize --log "$work/named.crash" --search "$work/files"
cmp "$work/out" "$work/expected" || fail "$(diff "$work/out" "$work/expected")"
err_has 'named\.crash: 8 frames, 0 symbolicated, 8 with a name before, .*\(3 names replaced, 3 kept and given a line\)$'
cp "$work/out" "$work/twice.crash"
run 0 symbolize --log "$work/twice.crash" --search "$work/files"
cmp "$work/out" "$work/expected" || fail "a second run changes the log: $(diff "$work/out" "$work/expected")"
! grep 'names replaced' "$work/err" || fail "a second run replaces names"
# Inlined calls of a frame that keeps its name.
sed -i '2s/.*/0   App                           	0x0000000104e61f34 -[View draw] + 7/' "$work/named.crash"
run 0 symbolize --log "$work/named.crash" --search "$work/files"
cmp "$work/out" "$work/expected" || fail "$(diff "$work/out" "$work/expected")"

# ---- KSCrash's lines with a second name in parentheses, in which an inlined call comes first
printf '%s\n' '0   App                           	0x0000000104e61f34 0x104e5c000 + 24372 (far_export + 20276)' \
  "$images" >"$work/second.crash"
run 0 symbolize --log "$work/second.crash" --search "$work/files"
cp "$work/out" "$work/second.named"
sed '/^0 /!d' "$work/expected" | cmp - <(grep '^0 ' "$work/out") || fail "two names: $(cat "$work/out")"
run 0 symbolize --log "$work/second.named" --search "$work/files"
cmp "$work/out" "$work/second.named" || fail "a second run changes lines that had two names"

# ---- as they are
run 0 symbolize --log "$work/named.crash" --search "$work/files" --keep-names
cmp "$work/out" "$work/named.crash" || fail "--keep-names changes names"
run 0 report "$work/named.crash" --search "$work/files" --keep-names
out_has ' far_export \+ 4$'
sed "s/<$id>/<Unknown>/" "$work/named.crash" >"$work/no_id.crash"
run 0 symbolize --log "$work/no_id.crash" --search "$work/files"
cmp "$work/out" "$work/no_id.crash" || fail "names in an image without a UUID change"
run 2 symbolize --keep-names -o "$work/files/App.sym"
err_has 'are for --log'

# ---- `unspool report` and JSON
run 0 report "$work/named.crash" --search "$work/files"
grep '^[0-9]' "$work/out" | sed 's/ *\t/\t/' >"$work/shown"
grep '^[0-9]' "$work/expected" | grep -v '^0x' | sed 's/ *\t/\t/' >"$work/frames"
grep -v '^0x' "$work/shown" | diff - "$work/frames" || fail "report shows other names"
cat >"$work/named.ips" <<END
{"app_name":"App","bug_type":"309"}
{"threads":[{"frames":[{"imageOffset":24372,"symbol":"-[View draw]","symbolLocation":7,"imageIndex":0},
  {"imageOffset":24632,"symbol":"far_export","symbolLocation":4,"imageIndex":0}]}],
 "usedImages":[{"base":4377133056,"size":65536,"uuid":"$id","name":"App"}]}
END
cat >"$work/expected" <<END
{"app_name":"App","bug_type":"309"}
{"threads":[{"frames":[{"imageOffset":24372,"imageIndex":0,"inline":true,"symbol":"helper","sourceFile":"View.m","sourceLine":9},{"imageOffset":24372,"sourceFile":"View.m","sourceLine":14,"symbol":"-[View draw]","symbolLocation":7,"imageIndex":0},
  {"imageOffset":24632,"sourceFile":"View.m","sourceLine":20,"symbol":"serve(int)","symbolLocation":56,"imageIndex":0}]}],
 "usedImages":[{"base":4377133056,"size":65536,"uuid":"$id","name":"App"}]}
END
run 0 symbolize --log "$work/named.ips" --search "$work/files"
cmp "$work/out" "$work/expected" || fail "$(diff "$work/out" "$work/expected")"
err_has '\(1 names replaced, 1 kept and given a line\)$'
cp "$work/out" "$work/twice.ips"
run 0 symbolize --log "$work/twice.ips" --search "$work/files"
cmp "$work/out" "$work/expected" || fail "a second run changes JSON: $(diff "$work/out" "$work/expected")"
verdict
