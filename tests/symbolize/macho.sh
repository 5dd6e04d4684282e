#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests names from linked Mach-O files: fixtures are compiled for each processor, linked and stripped step by step, and
# each answer is compared with llvm-symbolizer's (macho_oracle.py has the rules). Runs in the folder of the build, where
# tests/symbolize/macho_names was made.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

names=$PWD/tests/symbolize/macho_names
here=$top/tests/symbolize
[[ -x $names ]] || skip "tests/symbolize/macho_names was not built"
need_tools clang-19 ld64.lld-19 ld64.lld.darwinold-13 llvm-lipo-19 llvm-strip-19 dsymutil-19 llvm-nm-19 \
  llvm-objdump-19 llvm-symbolizer-19 python3

# A sample looks up names in each program with all symbols or without any. The full size has the steps between these,
# libraries, and the files in which linkers leave out parts, for each processor.
note_sample
make_work
names=$(runnable "$names" "$work")
cd "$work"

cat >libraries.tbd <<'END'
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-ios, arm64e-ios, x86_64-macos, arm64_32-watchos, i386-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ arm64-ios, arm64e-ios, x86_64-macos, arm64_32-watchos, i386-macos ]
    symbols: [ _outside, _outside_2, dyld_stub_binder, _objc_msgSend, __ZTVN10__cxxabiv117__class_type_infoE,
               __ZTVN10__cxxabiv120__si_class_type_infoE ]
...
END
: >no_symbols

# compile NAME TARGET FLAG...: makes NAME.c.o, NAME.cc.o, NAME.S.o. Optimization takes most of the time; in a sample only
# those have it whose jump tables are data between functions, or which have all tests.
compile() {
  local name=$1 target=$2 level=-O1
  shift 2
  is_full_size || [[ $name == arm64 || $name == armv7 ]] || level=-O0
  clang-19 -target "$target" -g "$level" "$@" -c "$here/macho_fixture.c" -o "$name.c.o"
  clang-19 -target "$target" -g -O1 -std=c++17 -fno-exceptions "$@" -c "$here/macho_fixture.cc" -o "$name.cc.o"
  clang-19 -target "$target" "$@" -c "$here/macho_fixture.S" -o "$name.S.o"
}

# compare ARCH LEAST FILE [TWIN]: compares at least LEAST answers, in a sample a third; TWIN is the unstripped file.
compare() {
  local twin=() least=$2
  [[ $# -lt 4 ]] || twin=(--twin "$4")
  is_full_size || least=$((least / 3))
  python3 "$here/macho_oracle.py" --names "$names" --arch "$1" --least "$least" "${twin[@]}" "$3" ||
    fail "$3: names differ"
}

# ladder ARCH FILE: tests the file with all symbols, without the debug map, without local symbols, without all removable
# ones.
ladder() {
  local arch=$1 file=$2
  llvm-strip-19 -o "$file.stripped" "$file"
  # Exported names are still in the trie.
  compare "$arch" 2000 "$file.stripped" "$file"
  is_full_size || return 0
  llvm-strip-19 -S -o "$file.no-debug" "$file"
  llvm-strip-19 -x -o "$file.no-locals" "$file"
  compare "$arch" 5000 "$file"
  compare "$arch" 5000 "$file.no-debug" "$file"
  compare "$arch" 2000 "$file.no-locals" "$file"
}

# rungs ARCH LINK...: tests files in which the linker leaves out names and bounds of functions.
rungs() {
  local arch=$1
  shift
  # With exports, and with bounds from unwind information.
  "$@" -no_function_starts -o "$arch.unwind"
  llvm-strip-19 -o "$arch.unwind.stripped" "$arch.unwind"
  compare "$arch" 1000 "$arch.unwind.stripped" "$arch.unwind"
  # With bounds, and no names but the stubs'.
  "$@" -exported_symbols_list no_symbols -o "$arch.starts"
  llvm-strip-19 -o "$arch.starts.stripped" "$arch.starts"
  compare "$arch" 6 "$arch.starts.stripped" "$arch.starts"
  # Without both.
  "$@" -exported_symbols_list no_symbols -no_function_starts -o "$arch.nothing"
  llvm-strip-19 -o "$arch.nothing.stripped" "$arch.nothing"
  compare "$arch" 6 "$arch.nothing.stripped" "$arch.nothing"
}

# A dSYM gives a stripped program all of its names, and has them alone, too. The UUID shows that it is the program's,
# not the file's name. It does not contain the starts of functions without names, so these are not tested.
dsym() {
  local arch=$1 program=$2 path
  dsymutil-19 "$program" -o "$program.stripped.dSYM"
  "$names" --starts "$program" "$arch" | "$names" "$program" "$arch" | grep -v ' -$' | cut -d' ' -f 1,2,4 |
    cut -f 1 >expected
  [[ $(grep -c ' local_' expected) -eq 80 ]] || fail "$program: not 80 local functions by their names"
  for path in "$program.stripped" "$program.stripped.dSYM"; do
    cut -d' ' -f 1 expected | "$names" "$path" "$arch" | cut -d' ' -f 1,2,4 | cut -f 1 >given
    cmp -s expected given || fail "$path: other names than in $program: $(diff expected given | head -n 4)"
  done
}

# build NAME ARCH TARGET PLATFORM VERSION FLAG...: makes NAME.program, and sets `link` to the command that links it.
build() {
  local name=$1 arch=$2 target=$3 platform=$4 version=$5
  shift 5
  compile "$name" "$target" "$@"
  link=(ld64.lld-19 -arch "$arch" -platform_version "$platform" "$version" "$version"
    "$name.c.o" "$name.cc.o" "$name.S.o" libraries.tbd)
  "${link[@]}" -o "$name.program"
}

modern() {
  build "$@"
  ladder "$2" "$1.program"
  # In a sample one processor has the rest.
  is_full_size || [[ $1 == arm64 ]] || return 0
  dsym "$2" "$1.program"
  "${link[@]}" -dylib -o "$1.dylib"
  ladder "$2" "$1.dylib"
  rungs "$2" "${link[@]}"
  compare "$2" 1000 "$1.c.o"
}

modern arm64 arm64 arm64-apple-ios16 ios 16.0 -DOBJC_STUB
"${link[@]}" -objc_stubs_small -o arm64-small.program
modern arm64_32 arm64_32 arm64_32-apple-watchos9 watchos 9.0
modern x86_64 x86_64 x86_64-apple-macos13 macos 13.0
# Without chained fixups: the exports are in LC_DYLD_INFO. The linker decides that; the objects' code is the same.
ld64.lld-19 -arch arm64 -platform_version ios 11.0 11.0 arm64.{c,cc,S}.o libraries.tbd -o arm64-old.program 2>said ||
  fail "arm64-old.program: $(cat said)"
llvm-objdump-19 --macho --private-headers arm64-old.program | grep LC_DYLD_INFO >/dev/null ||
  fail "arm64-old.program has chained fixups"
ladder arm64 arm64-old.program
# lld writes arm64's subtype when it links arm64e.
build arm64e arm64e arm64e-apple-ios16 ios 16.0
compare arm64 5000 arm64e.program
compare arm64e 1000 arm64e.c.o
# LLVM's former linker, for processors that the new one does not support.
compile armv7 armv7-apple-ios9
ld64.lld.darwinold-13 -arch armv7 -ios_version_min 9.0 -sdk_version 9.0 -undefined dynamic_lookup -o armv7.program armv7.*.o
ladder armv7 armv7.program
compile i386 i386-apple-macos10.10 -fno-asynchronous-unwind-tables
ld64.lld.darwinold-13 -arch i386 -macosx_version_min 10.10 -sdk_version 10.10 -o i386.program i386.*.o libraries.tbd
ladder i386 i386.program

# Stripped message stubs, in each form that lld writes: with chained fixups, with rebases, the short ones.
for name in arm64 arm64-old arm64-small; do
  llvm-strip-19 -o "$name.messages" "$name.program"
  for stub in "objc_msgSend\$first" "objc_msgSend\$bar:baz:"; do
    address=$(llvm-nm-19 "$name.program" | grep -F " _$stub" | cut -d' ' -f 1)
    echo "$address" | "$names" "$name.messages" arm64 | grep -cF " $stub" >/dev/null ||
      fail "$name.messages: the message stub $stub has no name"
  done
done

# One file with all of them, with 32-bit and with 64-bit offsets; each slice is found by its processor.
llvm-lipo-19 -create -output fat {arm64,arm64_32,x86_64,armv7,i386}.program
llvm-lipo-19 -create -fat64 -output fat64 {arm64,arm64_32,x86_64,armv7,i386}.program
for arch in arm64 arm64_32 x86_64 armv7 i386; do
  "$names" --starts "$arch.program" "$arch" >starts
  "$names" "$arch.program" "$arch" <starts >expected
  [[ -s expected ]] || fail "$arch.program: no function starts"
  for file in fat fat64; do
    "$names" "$file" "$arch" <starts | cmp -s - expected || fail "$file: other names than in $arch.program"
  done
done

# The debug map gives a function's source file.
"$names" --starts arm64.program arm64 | "$names" arm64.program arm64 >given
grep -q " local_10	.*/macho_fixture.c\$" given || fail "arm64.program: local_10 has no source file"
grep -q " cxx_main	.*/macho_fixture.cc\$" given || fail "arm64.program: cxx_main has another source file"
verdict
