#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbols`, `symbolize` and `images` of unlinked code: objects of five processors, compiled here, alone,
# in archives of GNU's and Apple's format, and in fat archives. Functions are compared with llvm-nm and llvm-readelf,
# names with llvm-symbolizer, addr2line, and with the objects outside of their archives.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
here=$top/tests/symbolize
# A sample has two processors of ELF and three of Mach-O, and asks for names in a part of the sections.
note_sample
need_tools clang-19 llvm-ar-19 llvm-lipo-19 llvm-libtool-darwin-19 llvm-nm-19 llvm-readelf-19 llvm-symbolizer-19 \
  llvm-objdump-19 llvm-strip-19 addr2line python3
names=$(runnable "$PWD/tests/symbolize/macho_names" "$work")
cd "$work"
oracle=(python3 "$here/archives_oracle.py" "$unspool")

# ---- ELF: one section of code, and one for each function
for target in x86_64-linux-gnu i386-linux-gnu aarch64-linux-gnu arm-linux-gnueabihf; do
  is_full_size || [[ $target == x86_64-* || $target == arm-* ]] || continue
  mkdir "$target"
  for language in c cc; do
    clang-19 "--target=$target" -O1 -c "$here/elf_fixture.$language" -o "$target/$language.o"
    clang-19 "--target=$target" -O1 -ffunction-sections -c "$here/elf_fixture.$language" \
      -o "$target/$language-in-sections-of-its-own.o"
  done
  llvm-ar-19 rcD "$target/lib.a" "$target"/*.o
  "${oracle[@]}" elf "$target/lib.a" "$target"/*.o || fail "$target: other functions or names"
done
llvm-ar-19 --format=bsd rcD bsd.a x86_64-linux-gnu/*.o
"${oracle[@]}" elf bsd.a x86_64-linux-gnu/*.o || fail "BSD's format: other functions or names"

# ---- Mach-O
for arch in arm64 x86_64 armv7 i386 arm64_32; do
  is_full_size || [[ $arch != i386 && $arch != arm64_32 ]] || continue
  case $arch in
  arm64) target=arm64-apple-ios14 ;;
  x86_64) target=x86_64-apple-macos13 ;;
  armv7) target=armv7-apple-ios9 ;;
  i386) target=i386-apple-macos10.13 ;;
  arm64_32) target=arm64_32-apple-watchos5 ;;
  esac
  mkdir "$arch"
  clang-19 -target "$target" -O1 -c "$here/macho_fixture.c" -o "$arch/c.o"
  clang-19 -target "$target" -O1 -std=c++17 -fno-exceptions -c "$here/macho_fixture.cc" -o "$arch/a long name, with blanks.o"
  # Objective-C 1, which i386 uses, has no blocks.
  [[ $arch == i386 ]] || clang-19 -target "$target" -fblocks -O1 -w -c "$here/objc_fixture.m" -o "$arch/objc.o"
  llvm-libtool-darwin-19 -static -o "$arch/lib.a" "$arch"/*.o
  python3 "$here/macho_oracle.py" --names "$names" --arch "$arch" --llvm -19 "$arch"/*.o >said ||
    fail "$arch: names differ: $(cat said)"
  "${oracle[@]}" macho "$arch/lib.a" "$arch"/*.o || fail "$arch: other functions or names"
done
llvm-lipo-19 -create -output fat.a arm64/lib.a x86_64/lib.a armv7/lib.a
llvm-lipo-19 -create -fat64 -output fat64.a arm64/lib.a x86_64/lib.a
for library in fat.a fat64.a; do
  for arch in arm64 x86_64; do
    "${oracle[@]}" macho --arch "$arch" "$library" "$arch"/*.o || fail "$library, $arch: other functions or names"
  done
  run 0 images --json "$library"
  cp "$work/out" "$library.json"
done
[[ $(grep -c '"arch": "arm64"' fat.a.json) -eq 3 && $(grep -c '"path"' fat.a.json) -eq 9 ]] || fail "not three members of three"
# The methods must be those of the symbols.
run 0 symbols --objc --arch arm64 fat.a
sed -n 's/.* symtab *\([-+]\[.*\)/\1/p' "$work/out" | sort >methods
llvm-nm-19 arm64/objc.o | sed -n 's/^[0-9a-f]* t \([-+]\[.*\)/\1/p' | sort >expected
[[ -s methods ]] || fail "no methods"
cmp -s methods expected || fail "methods: $(diff methods expected | head -n 4)"
# A member without symbols has no functions; the other members must be listed all the same.
mkdir stripped
llvm-strip-19 -o stripped/c.o x86_64-linux-gnu/c.o
llvm-ar-19 rcD stripped.a stripped/c.o x86_64-linux-gnu/cc.o
run 0 symbols stripped.a
out_has '^stripped.a\(cc.o\)'
out_lacks '^stripped.a\(c.o\)'
run 1 symbols stripped/c.o
err_has '^unspool: stripped/c.o: no symbols'

# ---- one of several members
run 2 symbolize -o x86_64-linux-gnu/lib.a 0
err_has 'several images; say which by its path:$'
err_has '^unspool:   x86_64 x86_64-linux-gnu/lib.a\(c.o\)$'
err_has '^unspool:   x86_64 x86_64-linux-gnu/lib.a\(c-in-sections-of-its-own.o\)$'
run 2 symbolize -o 'x86_64-linux-gnu/lib.a(c-in-sections-of-its-own.o)' 0
err_has '^unspool:   x86_64 x86_64-linux-gnu/lib.a\(c-in-sections-of-its-own.o\):\(.text.local_10\)$'
run 0 symbolize -o 'x86_64-linux-gnu/lib.a(c-in-sections-of-its-own.o):(.text.local_10)' 0
[[ $(cat "$work/out") == 'local_10 (in lib.a(c-in-sections-of-its-own.o)) + 0' ]] || fail "$(cat "$work/out")"
run 0 symbolize -o 'x86_64-linux-gnu/lib.a(c-in-sections-of-its-own.o):(.text.local_10)' -l 0x5000 0x5001
[[ $(cat "$work/out") == 'local_10 (in lib.a(c-in-sections-of-its-own.o)) + 1' ]] || fail "$(cat "$work/out")"
# Two members with the same name.
mkdir again
echo 'int second(void) { return 2; }' | clang-19 --target=x86_64-linux-gnu -O1 -x c -c - -o again/c.o
llvm-ar-19 qcD twice.a x86_64-linux-gnu/c.o
llvm-ar-19 qcD twice.a again/c.o
run 2 symbolize -o 'twice.a(c.o)' 0
second=$(sed -n 's/^unspool:   x86_64 //p' "$work/err" | tail -n 1)
[[ $second == 'twice.a(c.o at '*')' ]] || fail "another choice: $(cat "$work/err")"
run 0 symbolize -o "$second" 0
[[ $(cat "$work/out") == 'second (in twice.a(c.o)) + 0' ]] || fail "another member: $(cat "$work/out")"
run 0 symbols twice.a
[[ $(grep -c '^twice.a(c.o):$' "$work/out") -eq 2 ]] || fail "not both members: $(cat "$work/out")"

# ---- files that are not archives, and damaged ones
llvm-ar-19 --thin rcD thin.a x86_64-linux-gnu/c.o
for command in 'images thin.a' 'symbols thin.a' 'symbolize -o thin.a 0'; do
  # shellcheck disable=SC2086 # words
  run 3 $command
  err_has '^unspool: thin.a: offset 0x0: a thin archive'
done
cp x86_64-linux-gnu/lib.a inner.o
llvm-ar-19 rcD nested.a inner.o
run 3 images nested.a
err_has '^unspool: nested.a: offset 0x[0-9a-f]+: an archive that is a member of an archive$'
run 3 symbolize -o 'x86_64-linux-gnu/lib.a(nothing.o)' 0
err_has '^unspool: x86_64-linux-gnu/lib.a: offset 0x0: no member nothing.o'
run 3 symbols nothing.a
err_has '^unspool: nothing.a: '
size=$(wc -c <x86_64-linux-gnu/lib.a)
for cut in 9 67 $((size / 2)) $((size - 40)); do
  head -c "$cut" x86_64-linux-gnu/lib.a >cut.a
  run 3 symbols cut.a
  err_has '^unspool: cut.a: offset 0x[0-9a-f]+: '
  [[ ! -s $work/out ]] || fail "cut at $cut: something is listed"
done
# Frames of a log never belong to an unlinked file.
printf '0   lib.a   0x0000000000000010 lib.a + 16\n' >log
run 0 symbolize --log log --search x86_64-linux-gnu
cmp -s log "$work/out" || fail "a log is named by what is not linked: $(cat "$work/out")"

run 0 symbols --json arm64/c.o
cp "$work/out" symbols.json
run 0 symbols --json stripped.a
python3 - "$work/out" <<'END_OF_PROGRAM' || fail "symbols --json of an archive"
import json, sys

text = open(sys.argv[1], encoding="utf-8").read()
decoder, paths = json.JSONDecoder(), []
while text.strip():
    answer, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    paths.append(answer["path"])
assert paths[0] == "stripped.a(c.o)" and len(paths) == len(set(paths)) > 1, paths
json.dump(answer, open("last.json", "w", encoding="utf-8"))
END_OF_PROGRAM
validate images fat.a.json fat64.a.json
validate symbols symbols.json last.json
verdict
