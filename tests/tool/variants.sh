#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests arm64 and arm64e in one file: a fat program and a fat dSYM with a slice for each are listed, selected, indexed
# and symbolicated as two images, and a report of one of them uses the slice with its UUID. Also tests the lines and
# inlined calls that such a report gets.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools clang-19 ld64.lld-19 llvm-lipo-19 llvm-strip-19 dsymutil-19 python3
program=$work/two
bundle=$program.dSYM/Contents/Resources/DWARF
mkdir -p "$bundle"
for arch in arm64 arm64e; do
  # Each variant has a function of its own, so that the two have code at other addresses.
  cat >"$work/two.c" <<END_C
int only_$arch(int x) { return x / 7; }
int deep(int x);
static inline __attribute__((always_inline)) int inner(int x) { return deep(x) + 1; }
int outer(int x) {
  return inner(x) + 2;
}
__attribute__((noinline)) int deep(int x) { return only_$arch(x) * 3; }
int main(void) { return outer(1); }
END_C
  clang-19 -target "$arch-apple-macos13" -O1 -g -fno-inline-functions -c "$work/two.c" -o "$work/$arch.o"
  ld64.lld-19 -arch "$arch" -platform_version macos 13.0 13.0 -undefined dynamic_lookup -o "$work/$arch" "$work/$arch.o"
  # lld writes arm64's subtype when it links arm64e. The highest bit means that the ABI's version is given, too.
  [[ $arch != arm64e ]] || printf '\2\0\0\200' | dd of="$work/$arch" bs=1 seek=8 conv=notrunc status=none
  dsymutil-19 "$work/$arch" -o "$work/$arch.dSYM"
  llvm-strip-19 -o "$work/$arch.stripped" "$work/$arch"
done
llvm-lipo-19 -create -output "$program" "$work"/{arm64,arm64e}.stripped
llvm-lipo-19 -create -output "$bundle/two" "$work"/arm64.dSYM/Contents/Resources/DWARF/arm64 \
  "$work"/arm64e.dSYM/Contents/Resources/DWARF/arm64e

for file in "$program" "$program.dSYM"; do
  run 0 images "$file"
  [[ $(grep -cE ' arm64 +[0-9a-f]{32} ' "$work/out") -eq 1 && $(grep -cE ' arm64e +[0-9a-f]{32} ' "$work/out") -eq 1 ]] ||
    fail "images $file: $(cat "$work/out")"
done
declare -A uuid
for arch in arm64 arm64e; do
  uuid[$arch]=$(awk -v arch=$arch '$4 == arch { print $5 }' "$work/out")
done
[[ ${uuid[arm64]} != "${uuid[arm64e]}" ]] || fail "one UUID"

# Without a choice the command must ask for one.
for arch in '' --arch=aarch64; do
  run 2 symbols ${arch:+$arch} "$program.dSYM"
  err_has "  arm64 ${uuid[arm64]}\$"
  err_has "  arm64e ${uuid[arm64e]}\$"
done
run 3 symbols --arch armv7 "$program.dSYM"
err_has 'for arm64, arm64e, not for armv7$'
run 3 symbols --arch arm64e "$work/arm64"
err_has 'for arm64, not for arm64e$'
run 3 symbolize --arch arm64 -o "$work/arm64e" 0x0
err_has 'for arm64e, not for arm64$'
run 2 symbols --arch arm64f "$program.dSYM"
err_has '"arm64f" is none of arm64, arm64e, '

# address_of ARCH NAME: prints the first address of a function.
address_of() { "$unspool" symbols --arch "$1" "$program.dSYM" | awk -v name="$2" '$4 == name { print "0x" $1 }'; }

run 0 index -o "$work/store" "$program.dSYM"
run 0 store list "$work/store"
for arch in arm64 arm64e; do
  other=arm64
  [[ $arch != arm64 ]] || other=arm64e
  out_has "^${uuid[$arch]} $arch +[0-9]+ lines +two\$"
  [[ -n $(address_of $arch only_$arch) && -z $(address_of $arch only_$other) ]] || fail "--arch $arch: other symbols"
done
run 0 store list --json "$work/store"
out_has "\"uuid\": \"${uuid[arm64e]}\", \"arch\": \"arm64\", \"variant\": \"arm64e\""
out_has "\"uuid\": \"${uuid[arm64]}\", \"arch\": \"arm64\", \"name\""
cp "$work/out" "$work/store.json"

# Lines and inlined calls: of the stripped program by the dSYM beside it, of the dSYM, and by the index of the UUID
# only.
cat >"$work/expected" <<'END_LINES'
inner (in two) (two.c:3)
outer (in two) (two.c:5)
END_LINES
for arch in arm64 arm64e; do
  outer=$(address_of $arch outer)
  # One of the few instructions belongs to the inlined function.
  addresses=()
  for ((i = 0; i < 6; i++)); do addresses+=("$(printf '0x%x' $((outer + 4 * i)))"); done
  for file in "$program" "$program.dSYM"; do
    run 0 symbolize -i --arch $arch -o "$file" "${addresses[@]}"
    grep -A 1 '^inner ' "$work/out" | head -n 2 | cmp -s - "$work/expected" || fail "$arch of $file: $(cat "$work/out")"
  done
done

# Reports name each image's variant, and the slice with the UUID is used.
for arch in arm64 arm64e; do
  deep=$(address_of $arch deep)
  printf '%s\n' 'Process:               two [1]' 'Code Type:             ARM-64' '' 'Thread 0 Crashed:' \
    "0   two                           	$deep 0x100000000 + $((deep - 0x100000000))" '' 'Binary Images:' \
    "       0x100000000 -        0x100003fff two $arch  <${uuid[$arch]}> /x/two" >"$work/$arch.crash"
  for way in --search="$program.dSYM" --index="$work/store"; do
    run 0 symbolize --log "$work/$arch.crash" "$way"
    out_has 'deep \+ 0 \(two\.c:7\)'
  done
  run 0 report "$work/$arch.crash"
  out_has " two $arch <${uuid[$arch]}>"
  run 0 report --json "$work/$arch.crash"
  cp "$work/out" "$work/$arch.json"
done

# Reports as JSON get the file, the line, and a frame for each inlined call, as in Apple's own reports. The frame is the
# return address of the call that the inlined function makes.
for arch in arm64 arm64e; do
  outer=$(address_of $arch outer)
  for ((at = outer; ; at += 4)); do
    [[ $at -lt $((outer + 64)) ]] || fail "$arch: no inlined call"
    run 0 symbolize -i --arch $arch -o "$program.dSYM" "$(printf '0x%x' "$at")"
    [[ $(head -n 1 "$work/out") != 'inner '* ]] || break
  done
  {
    echo '{"app_name":"two","bug_type":"309"}'
    echo '{"threads":[{"frames":[{"imageOffset":0,"imageIndex":0},{"imageOffset":'$((at + 4 - 0x100000000))',"imageIndex":0}]}],'
    echo '"usedImages":[{"source":"P","arch":"'$arch'","base":4294967296,"size":16384,"uuid":"'"${uuid[$arch]}"'","name":"two"}]}'
  } >"$work/$arch.ips"
  for way in --search="$program.dSYM" --index="$work/store"; do
    run 0 symbolize --quiet --log "$work/$arch.ips" "$way"
    python3 - "$work/out" $((at + 4 - outer)) <<'END' || fail "$arch.ips, $way: $(cat "$work/out")"
import json, sys
frames = json.loads(open(sys.argv[1]).read().split('\n', 1)[1])['threads'][0]['frames'][1:]
told = [{key: value for key, value in frame.items() if not key.startswith('image')} for frame in frames]
assert told == [{'inline': True, 'symbol': 'inner', 'sourceFile': 'two.c', 'sourceLine': 3},
                {'symbol': 'outer', 'symbolLocation': int(sys.argv[2]), 'sourceFile': 'two.c', 'sourceLine': 5}], told
assert len({(frame['imageIndex'], frame['imageOffset']) for frame in frames}) == 1, frames
END
  done
done
grep -q '"variant": "arm64e"' "$work/arm64e.json" || fail "report --json: no variant"
! grep -q '"variant"' "$work/arm64.json" || fail "report --json: arm64 has a variant"

run 0 images --json "$program"
cp "$work/out" "$work/images.json"
run 0 symbols --json --arch arm64e "$program.dSYM"
cp "$work/out" "$work/symbols.json"
for file in images symbols; do
  grep -q '"arch": "arm64", "variant": "arm64e"' <(tr -d '\n' <"$work/$file.json" | sed 's/,  */, /g') || fail "$file --json"
done
validate images "$work/images.json"
validate symbols "$work/symbols.json"
validate store "$work/store.json"
validate report "$work"/{arm64,arm64e}.json
verdict
