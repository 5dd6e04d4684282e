#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lines and inlined calls of programs that gcc and clang make in many ways: each instruction is compared with what the compiler
# has said of it in its assembly (lines_truth.py), and its chain of inlined calls with llvm-symbolizer's. Runs in the folder of
# the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools llvm-symbolizer-19 llvm-nm-19 llvm-ar-19 llvm-lipo-19 llvm-objdump-19 llvm-objcopy-19 clang-19 clang++-19 \
  ld.lld-19 ld64.lld-19 dsymutil-19 gcc g++ objcopy python3
dump=$PWD/tests/symbolize/lines_dump
[[ -x $dump ]] || skip "tests/symbolize/lines_dump was not built"
make_work
dump=$(runnable "$dump" "$work")
fixtures=$top/tests/symbolize
truth=(python3 "$fixtures/lines_truth.py")
built=$PWD
has() { grep -q "define HAVE_$1 1" "$built/config.h"; }
cd "$work"
# all_of PROGRAM: what is said of every byte of its code.
all_of() {
  llvm-readelf-19 -SW "$1" | awk '$2 == "]" { $1 = $1 $2; $2 = "" } / \.text/ { for (i = 1; i <= NF; i++) if ($i ~ /^\.text/) print $(i + 2), $(i + 4) }' |
    while read -r start size; do
      for ((i = 0; i < 16#$size; i++)); do printf '%x\n' $((16#$start + i)); done
    done >"$1.addresses"
  [[ -s $1.addresses ]] || fail "$1: no code"
  "$dump" "$1" <"$1.addresses" 2>/dev/null
}

# check PROGRAM TABLE ARGUMENT...: each instruction of the program.
check() {
  local program=$1 table=$2
  shift 2
  "${truth[@]}" check --dump "$dump" "$@" "$program" "$table" || fail "$program"
}

# build_elf NAME SOURCE COMPILER FLAG...: NAME.s with labels, NAME.table, NAME.o and the library NAME of it. $link goes to the
# linker alone.
link=()
build_object() {
  local name=$1 source=$2 compiler=$3
  shift 3
  "$compiler" "$@" -S -o "$name.plain.s" "$fixtures/$source"
  "${truth[@]}" label "$name.plain.s" "$name.s" "$name.table"
  "$compiler" "$@" -Wno-unused-command-line-argument -Wa,--no-warn -c -o "$name.o" "$name.s"
}
build_elf() {
  build_object "$@" -fPIC
  local name=$1 compiler=$3
  shift 3
  "$compiler" "$@" -shared -nostdlib "${link[@]}" -o "$name" "$name.o"
}

# ---- ELF: compilers, levels, versions
for source in lines_fixture.c lines_fixture.cc; do
  compilers=(gcc clang-19)
  [[ $source == *.c ]] || compilers=(g++ clang++-19)
  for compiler in "${compilers[@]}"; do
    for level in 0 1 2 3 s; do
      for version in 4 5; do
        name=${source//./-}-$compiler-O$level-v$version
        build_elf "$name" "$source" "$compiler" "-O$level" "-gdwarf-$version"
        check "$name" "$name.table" --llvm "$name"
      done
    done
  done
done
for version in 2 3; do
  build_elf "version-$version" lines_fixture.c gcc -O2 "-gdwarf-$version" -gstrict-dwarf
  # Before version 3 a function had one range, and inlined calls in its cold part lie outside of it: they are left out.
  check "version-$version" "version-$version.table"
done
build_elf wide lines_fixture.c clang-19 -O2 -gdwarf-5 -gdwarf64
check wide wide.table --llvm wide

# ---- the other processors, and objects that no linker has placed
for target in aarch64-linux-gnu arm-linux-gnueabihf armv7a-linux-gnueabihf i386-linux-gnu; do
  for source in lines_fixture.c lines_fixture.cc; do
    compiler=clang-19
    [[ $source == *.c ]] || compiler=clang++-19
    for version in 4 5; do
      name=${source//./-}-$target-v$version
      flags=("--target=$target" -O2 "-gdwarf-$version")
      [[ $target != armv7a-* ]] || flags+=(-mthumb)
      link=(-fuse-ld=lld-19)
      build_elf "$name" "$source" "$compiler" "${flags[@]}"
      link=()
      thumb=()
      [[ $target != armv7a-* ]] || thumb=(--clear-low-bit)
      check "$name" "$name.table" --llvm "$name" "${thumb[@]}"
    done
  done
done
# One section of code, whose addresses are the object's.
build_object object lines_fixture.c gcc -O2 -g -Dcold=used
check object.o object.table --llvm object.o
build_object object-arm lines_fixture.c clang-19 --target=arm-linux-gnueabihf -O2 -g -Dcold=used
check object-arm.o object-arm.table --llvm object-arm.o

# ---- split in hot and cold, folded, optimized by the linker
build_elf sections lines_fixture.c gcc -O2 -g -ffunction-sections -freorder-blocks-and-partition
check sections sections.table --llvm sections
link=(-fuse-ld=lld-19 '-Wl,--icf=all')
build_elf folded lines_fixture.cc clang++-19 -O2 -g -ffunction-sections
check folded folded.table
link=()
gcc -O2 -g -flto -fPIC -c -o lto.o "$fixtures/lines_fixture.c"
gcc -O2 -g -flto -fPIC -shared -nostdlib -save-temps -o lto lto.o
lto=$(find . -name '*ltrans*.s' | head -n 1)
"${truth[@]}" label "$lto" lto-labels.s lto.table
gcc -g -Wa,--no-warn -c -o lto-labels.o lto-labels.s
# The functions' names are in the debugging information that the compiler has made before.
early=$(find . -name '*debug*.o' | head -n 1)
gcc -shared -nostdlib -o lto-labels lto-labels.o ${early:+"$early"}
check lto-labels lto.table
clang-19 -O2 -g -flto -fPIC -c -o thin.o "$fixtures/lines_fixture.c"
ld.lld-19 -shared --lto-emit-asm -o thin.s thin.o
"${truth[@]}" label "$(find . -name 'thin*.s' | head -n 1)" thin-labels.s thin.table
clang-19 -g -Wno-unused-command-line-argument -Wa,--no-warn -c -o thin-labels.o thin-labels.s
clang-19 -shared -nostdlib -o thin-labels thin-labels.o
check thin-labels thin.table --llvm thin-labels

# ---- compressed sections, of today and of old
if has ZLIB; then
  build_elf plain lines_fixture.cc g++ -O2 -g
  for way in zlib zlib-gnu zstd; do
    has ZSTD || [[ $way != zstd ]] || continue
    objcopy "--compress-debug-sections=$way" plain "packed-$way" 2>/dev/null ||
      llvm-objcopy-19 "--compress-debug-sections=$way" plain "packed-$way"
    check "packed-$way" plain.table
  done
fi

# ---- split off: by build-id's link, by dwz, by -gsplit-dwarf, in a package
link=('-Wl,--build-id')
build_elf stripped lines_fixture.cc g++ -O2 -g
link=()
objcopy --only-keep-debug stripped stripped.debug
objcopy --strip-debug --add-gnu-debuglink=stripped.debug stripped
check stripped stripped.table
if have dwz; then
  link=('-Wl,--build-id')
  build_elf shared-1 lines_fixture.cc g++ -O2 -g
  build_elf shared-2 lines_fixture.cc g++ -O2 -g
  link=()
  all_of shared-1 >before
  dwz -m shared.common -r shared-1 shared-2
  check shared-1 shared-1.table
  check shared-2 shared-2.table
  all_of shared-1 >after
  cmp -s before after || fail "dwz changes what is said: $(diff before after | head -n 6)"
  rm shared.common
  "$dump" shared-1 </dev/null 2>explained
  grep -q 'shares debugging information that was not found' explained || fail "a shared file that is not there: $(cat explained)"
fi
for version in 4 5; do
  name=split-$version
  build_object "$name" lines_fixture.cc clang++-19 -O2 "-gdwarf-$version" -gsplit-dwarf=single -fPIC
  clang++-19 -shared -nostdlib -o "$name" "$name.o"
  check "$name" "$name.table" --llvm "$name"
  g++ -O2 "-gdwarf-$version" -gsplit-dwarf -fPIC -S -o "$name-gcc.plain.s" "$fixtures/lines_fixture.cc"
  "${truth[@]}" label "$name-gcc.plain.s" "$name-gcc.s" "$name-gcc.table"
  g++ "-gdwarf-$version" -Wa,--no-warn -c -o "$name-gcc.o" "$name-gcc.s"
  dwo=$(llvm-dwarfdump-19 --debug-info "$name-gcc.o" 2>/dev/null |
    sed -n 's/.*DW_AT_\(GNU_\)\?dwo_name.*"\(.*\)".*/\2/p' | head -n 1)
  objcopy --extract-dwo "$name-gcc.o" "${dwo##*/}"
  objcopy --strip-dwo "$name-gcc.o"
  g++ -shared -nostdlib -o "$name-gcc" "$name-gcc.o"
  check "$name-gcc" "$name-gcc.table" --llvm "$name-gcc"
  # A package in place of the files.
  clang++-19 -O2 "-gdwarf-$version" -gsplit-dwarf -fPIC -c -o "$name-packed.o" "$fixtures/lines_fixture.cc"
  clang++-19 -shared -nostdlib -o "$name-packed" "$name-packed.o"
  all_of "$name-packed" >before
  (ulimit -f 100000 && timeout 60 llvm-dwp-19 -e "$name-packed" -o "$name-packed.dwp")
  rm "$name-packed.dwo"
  all_of "$name-packed" >after
  cmp -s before after || fail "a package says something else: $(diff before after | head -n 6)"
  rm "$name-packed.dwp"
  all_of "$name-packed" >/dev/null
  "$dump" "$name-packed" <"$name-packed.addresses" 2>&1 >/dev/null | grep -c 'split off, and was not found' >/dev/null ||
    fail "a split unit that is not there is not reported"
done

# ---- Mach-O, by dsymutil, and by the object files themselves

# Every byte of a Mach-O file's code.
macho_code() {
  llvm-objdump-19 --macho --section-headers "$1" | awk '$2 == "__text" { print $3, $4 }' | while read -r size start; do
    for ((i = 0; i < 16#$size; i++)); do printf '%x\n' $((16#$start + i)); done
  done
}

# compare_debug_map NAME: without its dSYM the same is said of each byte, out of the object file. Of the filling behind a function,
# which runs never reach, an object has the line, and dsymutil keeps none.
compare_debug_map() {
  macho_code "$1" >"$1.addresses"
  [[ -s $1.addresses ]] || fail "$1: no code"
  "$dump" "$1" <"$1.addresses" >"$1.by-dsym" 2>explained
  grep -q 'dSYM.* (success)$' explained || fail "$1: the dSYM was not used: $(cat explained)"
  mv "$1.dSYM" "$1.put-aside"
  "$dump" "$1" <"$1.addresses" >"$1.by-map" 2>explained
  mv "$1.put-aside" "$1.dSYM"
  grep -q 'the object files of .* (success)$' explained || fail "$1: the debug map was not used: $(cat explained)"
  if diff "$1.by-dsym" "$1.by-map" | grep '^<' | grep -v 'none$'; then fail "$1: by its debug map"; fi
}
for target in arm64-apple-ios14 armv7-apple-ios9 x86_64-apple-macos13 i386-apple-macos10.13 arm64_32-apple-watchos7; do
  case $target in
  *ios14) arch=arm64 platform=(ios 14.0 14.0) ;;
  *ios9) arch=armv7 platform=(ios 9.0 9.0) ;;
  *macos13) arch=x86_64 platform=(macos 13.0 13.0) ;;
  *macos10*) arch=i386 platform=(macos 10.13 10.13) ;;
  *) arch=arm64_32 platform=(watchos 7.0 7.0) ;;
  esac
  for source in lines_fixture.c lines_fixture.cc; do
    compiler=clang-19
    [[ $source == *.c ]] || compiler=clang++-19
    for version in 4 5; do
      name=${source//./-}-$arch-v$version
      "$compiler" -target "$target" -O2 "-gdwarf-$version" -fno-exceptions -S -o "$name.plain.s" "$fixtures/$source"
      # To a linker each symbol is a function of its own.
      pointers=8
      [[ $arch == arm64 || $arch == x86_64 ]] || pointers=4
      "${truth[@]}" label --prefix L_usp_at_ --pointers $pointers "$name.plain.s" "$name.s" "$name.table"
      "$compiler" -target "$target" "-gdwarf-$version" -Wa,--no-warn -c -o "$name.o" "$name.s"
      ld64.lld-19 -arch "$arch" -platform_version "${platform[@]}" -dylib -undefined dynamic_lookup -no_fixup_chains \
        -o "$name" "$name.o" 2>linked || { echo "$name: cannot be linked: $(head -n 1 linked)"; continue; }
      llvm-objcopy-19 --dump-section "__DATA,__usp_places=$name.places" "$name"
      dsymutil-19 "$name" 2>/dev/null
      thumb=()
      [[ $arch != armv7 ]] || thumb=(--clear-low-bit)
      check "$name" "$name.table" --llvm "$name.dSYM/Contents/Resources/DWARF/$name" \
        --places "$name.places" --pointers $pointers "${thumb[@]}"
      compare_debug_map "$name"
    done
  done
done

# ---- object files: members of archives, thin and fat; files that are no longer those that were linked

mkdir objects && cd objects
cat >one.c <<'END'
int two(int);
int one(int x) { return two(x) + 1; }
END
cat >two.c <<'END'
int three(int);
int two(int x) { return three(x) + 2; }
END
cat >three.c <<'END'
__attribute__((noinline)) int three(int x) { return x * 3; }
END
for arch in arm64 x86_64; do
  for source in one two three; do
    clang-19 -target $arch-apple-macos13 -g -O1 -c -o $source-$arch.o $source.c
  done
  cp two-$arch.o member.o
  llvm-ar-19 --format=darwin rc thin-$arch.a member.o
  cp three-$arch.o member.o
  llvm-ar-19 --format=darwin rc fat-$arch.a member.o
done
llvm-lipo-19 -create fat-arm64.a fat-x86_64.a -output fat.a
for arch in arm64 x86_64; do
  ld64.lld-19 -arch $arch -platform_version macos 13.0 13.0 -dylib -o lib-$arch one-$arch.o thin-$arch.a fat.a
done

# lines_of FILE: the lines of its three functions, by their names. What is said of all is in `explained`.
lines_of() {
  llvm-nm-19 --defined-only "$1" | sed -n 's/ T .*//p' >addresses
  "$dump" "$1" <addresses 2>explained | awk -F '\t' 'NF > 1 { print $1, $3, $4 }' | sort | tr '\n' ';'
}
# set_time FILE OBJECT SECONDS: in its debug map.
set_time() {
  python3 - "$@" <<'END'
import struct
import sys
path, object_name, seconds = sys.argv[1:]
with open(path, "r+b") as file:
    data = file.read()
    at = 32
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size = struct.unpack_from("<II", data, at)
        if command == 2:  # LC_SYMTAB
            entries, count, strings, _ = struct.unpack_from("<IIII", data, at + 8)
        at += size
    for i in range(count):
        name, kind, _, _, _ = struct.unpack_from("<IBBHQ", data, entries + 16 * i)
        text = data[strings + name:data.index(b"\0", strings + name)].decode()
        if kind == 0x66 and object_name in text:  # N_OSO
            file.seek(entries + 16 * i + 8)
            file.write(struct.pack("<Q", int(seconds)))
END
}
expect() {
  local got
  got=$(lines_of "$1")
  [[ $got == "$2" ]] || fail "$1: $got, not $2: $(cat explained)"
}
all='one one.c 2;three three.c 1;two two.c 2;'
for arch in arm64 x86_64; do expect lib-$arch "$all"; done

set_time lib-arm64 one-arm64.o "$(stat -c %Y one-arm64.o)"
expect lib-arm64 "$all"
# An object that was compiled again is not the one that was linked: no line rather than a wrong one.
set_time lib-arm64 one-arm64.o 1000000000
expect lib-arm64 'one - 0;three three.c 1;two two.c 2;'
grep -q 'one-arm64.o: .*written at .* the one of 1000000000' explained || fail "another time is not said: $(cat explained)"
set_time lib-arm64 one-arm64.o 0
set_time lib-arm64 'thin-arm64.a(member.o)' 1000000000
expect lib-arm64 'one one.c 2;three three.c 1;two - 0;'
grep -q 'thin-arm64.a: .*written at ' explained || fail "another time of a member is not said: $(cat explained)"
# An index of it holds names, and says what is missing.
unspool=$built/tools/unspool
if [[ -x $unspool ]]; then
  "$unspool" index -o store lib-arm64 >said 2>&1 || true
  grep -q 'its lines are in object files; dsymutil makes a dSYM' said || fail "an index of a debug map: $(cat said)"
fi
rm one-x86_64.o fat.a
expect lib-x86_64 'one - 0;three - 0;two two.c 2;'
grep -q 'one-x86_64.o' explained || fail "a missing object is not said: $(cat explained)"
rm thin-x86_64.a
expect lib-x86_64 'one - 0;three - 0;two - 0;'
grep -q 'has no dSYM, and its object files cannot be used: .* (not found)$' explained ||
  fail "that no object is there is not said: $(cat explained)"
cd ..
verdict
