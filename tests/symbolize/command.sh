#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize`, `images` and `symbols` of Mach-O files: programs that are compiled and linked here for two
# processors, stripped, split into a dSYM and joined into a fat file. Names are compared with llvm-nm and
# llvm-symbolizer.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
here=$top/tests/symbolize
need_tools clang-19 ld64.lld-19 llvm-lipo-19 llvm-strip-19 dsymutil-19 llvm-nm-19 llvm-dwarfdump-19 llvm-symbolizer-19 \
  python3
cd "$work"

cat >libraries.tbd <<'END_OF_STUBS'
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos, x86_64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ arm64-macos, x86_64-macos ]
    symbols: [ _outside, _outside_2, dyld_stub_binder, __ZTVN10__cxxabiv117__class_type_infoE,
               __ZTVN10__cxxabiv120__si_class_type_infoE ]
...
END_OF_STUBS

# build ARCH: makes ARCH/App, ARCH/App.dSYM, and ARCH/stripped/App without names.
build() {
  local target=$1-apple-macos13
  mkdir -p "$1/stripped"
  clang-19 -target "$target" -g -O1 -c "$here/macho_fixture.c" -o "$1/c.o"
  clang-19 -target "$target" -g -O1 -std=c++17 -fno-exceptions -c "$here/macho_fixture.cc" -o "$1/cc.o"
  clang-19 -target "$target" -c "$here/macho_fixture.S" -o "$1/S.o"
  ld64.lld-19 -arch "$1" -platform_version macos 13.0 13.0 "$1"/*.o libraries.tbd -o "$1/App"
  dsymutil-19 "$1/App" -o "$1/App.dSYM"
  llvm-strip-19 -o "$1/stripped/App" "$1/App"
  llvm-nm-19 --defined-only "$1/App" | awk '$2 ~ /[tT]/ && $3 ~ /^_(local|hidden|visible|weak)_[0-9]/ { print $1, substr($3, 2) }' >"$1/functions"
  [[ $(wc -l <"$1/functions") -ge 300 ]] || fail "$1: the fixture has few functions"
  awk '{ print "0x" $1 }' "$1/functions" >"$1/starts"
  sed 's/^[0-9a-f]* //; s/$/ (in App) + 0/' "$1/functions" >"$1/names"
}
build arm64
build x86_64

# uuid_of FILE ARCH: prints the UUID.
uuid_of() { llvm-dwarfdump-19 --uuid "$1" | awk -v arch="($2)" '$3 == arch { print $2 }'; }
# with_offset N: replaces each line number in the output by the offset that the line would have without debug
# information.
with_offset() { sed -i -E "s/ \\(macho_fixture\\.[a-z]+:[0-9]+\\)\$/ + $1/" "$work/out"; }
# named FILE OPTION...: checks that every function has its name at its start.
named() {
  local arch=$1
  shift
  run 0 symbolize "$@" <"$arch/starts"
  err_is_empty
  with_offset 0
  cmp -s "$work/out" "$arch/names" || fail "unspool symbolize $*: $(diff "$work/out" "$arch/names" | head -n 4)"
}
llvm-lipo-19 -create -output App arm64/App x86_64/App
llvm-lipo-19 -create -fat64 -output App64 arm64/App x86_64/App
arm64_uuid=$(uuid_of arm64/App arm64)
[[ ${#arm64_uuid} -eq 36 ]] || fail "no UUID: $arm64_uuid"

for arch in arm64 x86_64; do
  # The program, the dSYM bundle, the file in it; a stripped program with its dSYM beside it.
  named "$arch" -o "$arch/App"
  named "$arch" -o "$arch/App.dSYM"
  named "$arch" -o "$arch/App.dSYM/Contents/Resources/DWARF/App" -arch "$arch"
  named "$arch" -o App -arch "$arch"
  named "$arch" -o App --uuid "$(uuid_of "$arch/App" "$arch")"
  run 0 symbolize -o App64 -arch "$arch" <"$arch/starts"
  with_offset 0
  sed 's/(in App64)/(in App)/' "$work/out" | cmp -s - "$arch/names" || fail "App64, $arch: other names"
  run 0 symbolize -o "$arch/stripped/App" <"$arch/starts"
  ! grep -q local_ "$work/out" || fail "$arch: a stripped program has names of local functions"
  cp -r "$arch/App.dSYM" "$arch/stripped/"
  named "$arch" -o "$arch/stripped/App"

  # In the middle of functions, compared with llvm-symbolizer.
  awk '{ printf "0x%s\n", $1 }' "$arch/functions" |
    python3 -c 'import sys; [print(hex(int(line, 16) + 5)) for line in sys.stdin]' >middles
  run 0 symbolize -o "$arch/App" <middles
  grep -qE '^visible_[0-9]+ \(in App\) \(macho_fixture\.c:[0-9]+\)$' "$work/out" || fail "$arch: no lines"
  with_offset 5
  llvm-symbolizer-19 --obj="$arch/App" --no-inlines --no-demangle --functions=linkage <middles |
    awk 'NF == 0 { first = 1; next } first || NR == 1 { sub(/^_/, "", $1); print $1; first = 0 }' >theirs
  sed 's/ (in App) + 5$//' "$work/out" | cmp -s - theirs || fail "$arch: $(diff <(sed 's/ (in.*//' "$work/out") theirs | head -n 4)"
done

# The host's processor is chosen if the file has it; otherwise the command must ask for one.
case $(uname -m) in
  x86_64) named x86_64 -o App ;;
  aarch64) named arm64 -o App ;;
  *)
    run 2 symbolize -o App 1
    err_has 'say which'
    ;;
esac

# The address where the image was loaded: the same place, given in four ways.
first=$(head -n 1 arm64/starts)
expected=$(head -n 1 arm64/names)
base=0x100000000
load=0x1028a0000
moved=$(printf '0x%x' $((first - base + load)))
for words in "-l $load $moved" "-l ${load#0x} $moved" "-s $(printf '0x%x' $((load - base))) $moved" \
  "-offset $(printf '0x%x' $((first - base)))"; do
  # shellcheck disable=SC2086 # words
  run 0 symbolize -arch arm64 -o arm64/App.dSYM $words
  with_offset 0
  [[ $(cat "$work/out") == "$expected" ]] || fail "$words: $(cat "$work/out")"
done

# Another build: the message must have both UUIDs, and there must be no name.
other=00112233-4455-6677-8899-AABBCCDDEEFF
run 3 symbolize --uuid $other -o App "$first"
[[ ! -s $work/out ]] || fail "another build is used"
err_has "^unspool: App: .*arm64 $arm64_uuid.*, not $other$"
err_has "^unspool: App: .*x86_64 $(uuid_of x86_64/App x86_64).*, not $other$"
run 3 symbolize --uuid $other -o arm64/App.dSYM "$first"
err_has "$arm64_uuid, not $other$"
run 3 symbolize -arch armv7 -o App 1
err_has '^unspool: App: for (arm64, x86_64|x86_64, arm64), not for armv7$'

# C++: as people write it, and mangled as in the file.
mangled=$(llvm-nm-19 --defined-only arm64/App | awk '$2 ~ /[tT]/ && $3 ~ /^__ZN/ && !n++ { print $1, substr($3, 2) }')
run 0 symbolize --demangle no -o arm64/App "0x${mangled% *}"
with_offset 0
out_has "^${mangled#* } \\(in App\\) \\+ 0$"
run 0 symbolize --demangle simple -o arm64/App "0x${mangled% *}"
out_lacks '^_Z'
run 0 symbolize --json -o arm64/App "0x${mangled% *}"
cp "$work/out" answer.json
out_has "\"mangled\": \"${mangled#* }\""
out_has "\"uuid\": \"$(echo "${arm64_uuid//-/}" | tr A-F a-f)\""

# The images: one for each slice.
run 0 images App
[[ $(wc -l <"$work/out") -eq 3 ]] || fail "not two images: $(cat "$work/out")"
out_has "^0x0000000100000000 0x[0-9a-f]+ 0x0+ arm64 +$(echo "${arm64_uuid//-/}" | tr A-F a-f) App$"
run 0 images --json arm64/App.dSYM
cp "$work/out" images.json
out_has '"path": "arm64/App.dSYM/Contents/Resources/DWARF/App", "load_address": "0x100000000"'
run 0 images arm64/c.o
out_has '^0x0+ 0x[0-9a-f]+ 0x0+ arm64 '

# All functions, with their addresses.
run 0 symbols --arch arm64 App
awk '{ print $1, $4 }' "$work/out" | sort >listed
sort arm64/functions | comm -23 - listed >missing
[[ ! -s missing ]] || fail "not listed: $(head -n 4 missing)"
run 0 symbols --json --uuid "$arm64_uuid" App
cp "$work/out" symbols.json
python3 - "$work/out" <<'END_OF_PROGRAM' || fail "symbols --json: no source files, or sizes"
import json, sys

symbols = {symbol["symbol"]: symbol for symbol in json.load(open(sys.argv[1], encoding="utf-8"))["symbols"]}
assert symbols["local_10"]["size"] > 0 and symbols["local_10"]["source_file"].endswith("/macho_fixture.c")
END_OF_PROGRAM

# Objective-C: the metadata of a stripped library must give the same methods as its symbols.
clang-19 -target arm64-apple-ios14 -fobjc-runtime=ios-14.0 -fblocks -O1 -c "$here/objc_fixture.m" -o objc.o
ld64.lld-19 -arch arm64 -platform_version ios 14.0 14.0 -dylib -objc_relative_method_lists objc.o \
  "$here/objc_fixture.tbd" -o objc
llvm-strip-19 -o objc.stripped objc
run 0 symbols --objc objc
awk '{ print $1, $3, $4, $5 }' "$work/out" >with
[[ $(grep -c ' symtab [-+]' with) -ge 16 ]] || fail "few methods: $(cat with)"
[[ $(grep -c ' symtab [-+]' with) -eq $(wc -l <with) ]] || fail "not from the symbol table: $(cat with)"
run 0 symbols --objc objc.stripped
awk '{ print $1, $3, $4, $5 }' "$work/out" >without
[[ $(grep -c ' objc-metadata [-+]' without) -eq $(wc -l <without) ]] || fail "not from the metadata: $(cat without)"
# In an unlinked object each method has a symbol, because the metadata refers to it by a relocation.
run 0 symbols --objc objc.o
cmp -s <(awk '{ print $3, $4, $5 }' "$work/out" | sort) <(cut -d' ' -f 2- with | sort) ||
  fail "unlinked: other methods: $(cat "$work/out")"
# The linker merges categories into their classes.
strip_category() { sed -E 's/ (symtab|objc-metadata) / /; s/\([A-Za-z0-9_]*\)//' "$1"; }
cmp -s <(strip_category with) <(strip_category without) || fail "$(diff <(strip_category with) <(strip_category without) | head -n 6)"
validate symbolize answer.json
validate images images.json
validate symbols symbols.json
verdict
