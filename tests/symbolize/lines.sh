#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests lines and inlined calls of programs that gcc and clang make in many ways. Each instruction is compared with what
# the compiler's assembly states about it (lines_truth.py), and its chain of inlined calls with llvm-symbolizer's
# (lines_oracle.py). Runs in the folder of the build.
# shellcheck disable=SC2317 # functions are called by `beside`
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
truth=(python3 -B "$fixtures/lines_truth.py")
built=$PWD
has() { grep -q "define HAVE_$1 1" "$built/config.h"; }
cd "$work"
# By a relative path, so that paths consist of all their parts.
mkdir sources
cp "$fixtures"/lines_fixture.* sources
levels=(0 1 2 3 s)

# all_of PROGRAM: prints the answers for every byte of its code.
all_of() {
  llvm-readelf-19 -SW "$1" | awk '$2 == "]" { $1 = $1 $2; $2 = "" } / \.text/ { for (i = 1; i <= NF; i++) if ($i ~ /^\.text/) print $(i + 2), $(i + 4) }' |
    while read -r start size; do
      for ((i = 0; i < 16#$size; i++)); do printf '%x\n' $((16#$start + i)); done
    done >"$1.addresses"
  [[ -s $1.addresses ]] || fail "$1: no code"
  "$dump" "$1" <"$1.addresses" 2>/dev/null
}

# check PROGRAM TABLE ARGUMENT...: compares each instruction of the program.
check() {
  local program=$1 table=$2
  shift 2
  "${truth[@]}" check --dump "$dump" "$@" "$program" "$table" || fail "$program"
}

# build_object NAME SOURCE COMPILER FLAG...: makes NAME.s with labels, NAME.table, NAME.o.
build_object() {
  local name=$1 source=sources/$2 compiler=$3 folder=$work flag
  shift 3
  for flag; do [[ $flag != -ffile-prefix-map=* ]] || folder=${flag##*=}; done
  "$compiler" "$@" -S -o "$name.plain.s" "$source"
  "${truth[@]}" label --folder "$folder" "$name.plain.s" "$name.s" "$name.table"
  "$compiler" "$@" -Wno-unused-command-line-argument -Wa,--no-warn -c -o "$name.o" "$name.s"
}

# build_elf NAME SOURCE COMPILER FLAG...: makes the library NAME. Only the linker gets $link.
link=()
build_elf() {
  build_object "$@" -fPIC
  local name=$1 compiler=$3
  shift 3
  "$compiler" "$@" -shared -nostdlib "${link[@]}" -o "$name" "$name.o"
}

# elf NAME SOURCE COMPILER FLAG...: builds the library and compares it with both.
elf() {
  build_elf "$@"
  check "$1" "$1.table" --llvm "$1"
}

# ---- ELF: compilers, levels, versions
for source in lines_fixture.c lines_fixture.cc; do
  compilers=(gcc clang-19)
  [[ $source == *.c ]] || compilers=(g++ clang++-19)
  for compiler in "${compilers[@]}"; do
    for level in "${levels[@]}"; do
      for version in 4 5; do
        beside elf "${source//./-}-$compiler-O$level-v$version" "$source" "$compiler" "-O$level" "-gdwarf-$version"
      done
    done
  done
done
if part_needs "$(gcc -print-prog-name=cc1obj)"; then
  for level in "${levels[@]}"; do
    beside elf "lines_fixture-m-gcc-O$level" lines_fixture.m gcc -std=gnu11 -Wno-objc-root-class "-O$level" -g
  done
fi
# Before version 3 a function had one range. Inlined calls in its cold part lie outside of it and are left out.
early_version() {
  build_elf "version-$1" lines_fixture.c gcc -O2 "-gdwarf-$1" -gstrict-dwarf
  check "version-$1" "version-$1.table" --llvm "version-$1" --stray
}
for version in 2 3; do beside early_version $version; done
beside elf wide lines_fixture.c clang-19 -O2 -gdwarf-5 -gdwarf64
# The build's folder is replaced by another path, or by none.
for version in 4 5; do
  beside elf "mapped-gcc-v$version" lines_fixture.c gcc -O1 "-gdwarf-$version" "-ffile-prefix-map=$work=/mapped"
  beside elf "mapped-clang-v$version" lines_fixture.c clang-19 -O1 "-gdwarf-$version" "-ffile-prefix-map=$work=."
done

# ---- the other processors

# other_processor NAME SOURCE COMPILER FLAG...: compiles with clang's --target, or with that processor's gcc.
other_processor() {
  local thumb=()
  if [[ $3 == clang* ]]; then link=(-fuse-ld=lld-19); fi
  build_elf "$@"
  [[ $1 != *-thumb-* ]] || thumb=(--clear-low-bit)
  check "$1" "$1.table" --llvm "$1" "${thumb[@]}"
}
for processor in aarch64 arm thumb i386; do
  flags=()
  case $processor in
  aarch64) target=aarch64-linux-gnu gcc=aarch64-linux-gnu-gcc ;;
  arm) target=arm-linux-gnueabihf gcc=arm-linux-gnueabihf-gcc flags=(-marm) ;;
  thumb) target=armv7a-linux-gnueabihf gcc=arm-linux-gnueabihf-gcc flags=(-mthumb) ;;
  i386) target=i386-linux-gnu gcc=i686-linux-gnu-gcc ;;
  esac
  part_needs "$gcc" || gcc=
  for level in "${levels[@]}"; do
    for version in 4 5; do
      # Most levels use one version: the tests above cover what differs between versions.
      [[ $level == 2 || $version == 5 ]] || continue
      how=("-O$level" "-gdwarf-$version" "${flags[@]}")
      beside other_processor "c-$processor-clang-O$level-v$version" lines_fixture.c clang-19 "--target=$target" "${how[@]}"
      beside other_processor "cc-$processor-clang-O$level-v$version" lines_fixture.cc clang++-19 "--target=$target" "${how[@]}"
      [[ -z $gcc ]] || beside other_processor "c-$processor-gcc-O$level-v$version" lines_fixture.c "$gcc" "${how[@]}"
    done
  done
done

# ---- unlinked objects: one section of code, whose addresses are the object's
unlinked() {
  build_object "$@" -Dcold=used
  check "$1.o" "$1.table" --llvm "$1.o"
}
beside unlinked object lines_fixture.c gcc -O2 -g
beside unlinked object-arm lines_fixture.c clang-19 --target=arm-linux-gnueabihf -O2 -g

# ---- split in hot and cold, folded, optimized by the linker
beside elf sections lines_fixture.c gcc -O2 -g -ffunction-sections -freorder-blocks-and-partition
# All relocations are left in the linked file, where they are already applied.
relocations_left() {
  link=('-Wl,--emit-relocs')
  elf relocations lines_fixture.c gcc -O2 -g
  llvm-readelf-19 -SW relocations | grep -c 'rela.debug_info' >/dev/null || fail "relocations: none are left"
}
beside relocations_left
folded() {
  link=(-fuse-ld=lld-19 '-Wl,--icf=all')
  elf folded lines_fixture.cc clang++-19 -O2 -g -ffunction-sections
}
beside folded
# The linker's assembly is assembled again with labels: that adds labels to the code that the linker has compiled, which
# the program that it writes does not have.
lto_by_gcc() {
  local made early
  mkdir lto
  gcc -O2 -g -flto -fPIC -c -o lto/lto.o sources/lines_fixture.c
  gcc -O2 -g -flto -fPIC -shared -nostdlib -save-temps -o lto/lto lto/lto.o
  made=$(find . -name '*lto*ltrans*.s' | head -n 1)
  "${truth[@]}" label "$made" lto-labels.s lto.table
  gcc -g -Wa,--no-warn -c -o lto-labels.o lto-labels.s
  # The functions' names are in debug information that the compiler made earlier.
  early=$(find . -name '*debug*.o' | head -n 1)
  gcc -shared -nostdlib -o lto-labels lto-labels.o ${early:+"$early"}
  check lto-labels lto.table --llvm lto-labels
}
beside lto_by_gcc
lto_by_clang() {
  clang-19 -O2 -g -flto -fPIC -c -o thin.o sources/lines_fixture.c
  ld.lld-19 -shared --lto-emit-asm -o thin.s thin.o
  "${truth[@]}" label "$(find . -name 'thin*.s' | head -n 1)" thin-labels.s thin.table
  clang-19 -g -Wno-unused-command-line-argument -Wa,--no-warn -c -o thin-labels.o thin-labels.s
  clang-19 -shared -nostdlib -o thin-labels thin-labels.o
  check thin-labels thin.table --llvm thin-labels
}
beside lto_by_clang

# ---- compressed sections, in today's and the old format
compressed() {
  local way
  build_elf plain lines_fixture.cc g++ -O2 -g
  for way in zlib zlib-gnu zstd; do
    has ZSTD || [[ $way != zstd ]] || continue
    objcopy "--compress-debug-sections=$way" plain "packed-$way" 2>/dev/null ||
      llvm-objcopy-19 "--compress-debug-sections=$way" plain "packed-$way"
    check "packed-$way" plain.table --llvm plain
  done
}
! has ZLIB || beside compressed

# ---- separate debug information: by the link's name, by the build id, by dwz, by -gsplit-dwarf, in a package
stripped() {
  local id
  link=('-Wl,--build-id')
  build_elf stripped lines_fixture.cc g++ -O2 -g
  objcopy --only-keep-debug stripped stripped.debug
  objcopy --strip-debug stripped by-id
  objcopy --strip-debug --add-gnu-debuglink=stripped.debug stripped
  check stripped stripped.table --llvm stripped.debug
  # Below a system root, in the layout of Debian's packages.
  id=$(llvm-readelf-19 -n by-id | sed -n 's/.*Build ID: //p')
  mkdir -p "root/usr/lib/debug/.build-id/${id:0:2}"
  cp stripped.debug "root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
  "$dump" by-id </dev/null 2>explained-by-id
  grep -q 'debug' explained-by-id || fail "the message names no place of debug information: $(cat explained-by-id)"
  "${truth[@]}" check --dump "$dump -r $work/root" by-id stripped.table || fail "by its build-id"
}
beside stripped
# Names and whole entries are moved to a file that two programs share (.gnu_debugaltlink).
shared_by_dwz() {
  link=('-Wl,--build-id')
  build_elf shared-1 lines_fixture.cc g++ -O2 -g
  build_elf shared-2 lines_fixture.cc g++ -O2 -g
  all_of shared-1 >before-dwz
  dwz -m shared.common -r shared-1 shared-2
  check shared-1 shared-1.table --llvm shared-1
  check shared-2 shared-2.table --llvm shared-2
  all_of shared-1 >after-dwz
  cmp -s before-dwz after-dwz || fail "dwz changes what is said: $(diff before-dwz after-dwz | head -n 6)"
  rm shared.common
  "$dump" shared-1 </dev/null 2>explained-dwz
  grep -q 'shares debugging information that was not found' explained-dwz ||
    fail "a shared file that is not there: $(cat explained-dwz)"
}
! part_needs dwz || beside shared_by_dwz
# In split units, lists of ranges and addresses count from bases that the skeleton gives (GNU_ranges_base,
# rnglists_base, addr_base).
split_units() {
  local version=$1 name=split-$1 dwo
  build_object "$name" lines_fixture.cc clang++-19 -O2 "-gdwarf-$version" -gsplit-dwarf=single -fPIC
  clang++-19 -shared -nostdlib -o "$name" "$name.o"
  check "$name" "$name.table" --llvm "$name"
  g++ -O2 "-gdwarf-$version" -gsplit-dwarf -fPIC -S -o "$name-gcc.plain.s" sources/lines_fixture.cc
  "${truth[@]}" label "$name-gcc.plain.s" "$name-gcc.s" "$name-gcc.table"
  g++ "-gdwarf-$version" -Wa,--no-warn -c -o "$name-gcc.o" "$name-gcc.s"
  dwo=$(llvm-dwarfdump-19 --debug-info "$name-gcc.o" 2>/dev/null |
    sed -n 's/.*DW_AT_\(GNU_\)\?dwo_name.*"\(.*\)".*/\2/p' | head -n 1)
  objcopy --extract-dwo "$name-gcc.o" "${dwo##*/}"
  objcopy --strip-dwo "$name-gcc.o"
  g++ -shared -nostdlib -o "$name-gcc" "$name-gcc.o"
  check "$name-gcc" "$name-gcc.table" --llvm "$name-gcc"
  # A package in place of the files.
  clang++-19 -O2 "-gdwarf-$version" -gsplit-dwarf -fPIC -c -o "$name-packed.o" sources/lines_fixture.cc
  clang++-19 -shared -nostdlib -o "$name-packed" "$name-packed.o"
  all_of "$name-packed" >"$name-before"
  (ulimit -f 100000 && timeout 60 llvm-dwp-19 -e "$name-packed" -o "$name-packed.dwp")
  rm "$name-packed.dwo"
  all_of "$name-packed" >"$name-after"
  cmp -s "$name-before" "$name-after" ||
    fail "a package says something else: $(diff "$name-before" "$name-after" | head -n 6)"
  rm "$name-packed.dwp"
  all_of "$name-packed" >/dev/null
  "$dump" "$name-packed" <"$name-packed.addresses" 2>&1 >/dev/null | grep -c 'split off, and was not found' >/dev/null ||
    fail "a split unit that is not there is not reported"
}
# In folders of their own: g++ names the .dwo after its source.
for version in 4 5; do
  mkdir "split-work-$version"
  cp -R sources "split-work-$version"
  # shellcheck disable=SC2164 # of a folder that was made just now
  split_in() { cd "split-work-$1" && work=$PWD split_units "$1"; }
  beside split_in $version
done

# ---- Mach-O, by dsymutil, and by the object files themselves

# macho_code FILE: prints the address of every byte of a Mach-O file's code.
macho_code() {
  llvm-objdump-19 --macho --section-headers "$1" | awk '$2 == "__text" { print $3, $4 }' | while read -r size start; do
    for ((i = 0; i < 16#$size; i++)); do printf '%x\n' $((16#$start + i)); done
  done
}

# compare_debug_map NAME DSYM: checks that without its dSYM the program gives the same answer for each byte, from the
# object file. Padding after a function, which is never executed, has a line in an object and none in a dSYM.
compare_debug_map() {
  macho_code "$1" >"$1.addresses"
  [[ -s $1.addresses ]] || fail "$1: no code"
  "$dump" "$2" <"$1.addresses" >"$1.by-dsym" 2>"$1.explained"
  mv "$1.dSYM" "$1.put-aside"
  "$dump" "$1" <"$1.addresses" >"$1.by-map" 2>"$1.explained"
  mv "$1.put-aside" "$1.dSYM"
  grep -q 'the object files of .* (success)$' "$1.explained" || fail "$1: the debug map was not used: $(cat "$1.explained")"
  if diff "$1.by-dsym" "$1.by-map" | grep '^<' | grep -v 'none$'; then fail "$1: by its debug map"; fi
}

# macho NAME ARCH SOURCE FLAG...: builds a Mach-O library and its dSYM, and compares both.
macho() {
  local name=$1 arch=$2 source=sources/$3 compiler=clang-19 target pointers=8 linker file thumb=()
  shift 3
  linker=(ld64.lld-19 -arch "$arch" -platform_version)
  case $arch in
  arm64) target=arm64-apple-ios14 linker+=(ios 14.0 14.0) ;;
  x86_64) target=x86_64-apple-macos13 linker+=(macos 13.0 13.0) ;;
  arm64_32) target=arm64_32-apple-watchos7 pointers=4 linker+=(watchos 7.0 7.0) ;;
  # LLVM's former linker, for processors that the new one does not support: without a UUID, and without compact unwind.
  armv7) target=armv7-apple-ios9 pointers=4 thumb=(--clear-low-bit) linker=(ld64.lld.darwinold-13 -arch armv7 -ios_version_min 9.0 -sdk_version 9.0) ;;
  i386) target=i386-apple-macos10.13 pointers=4 linker=(ld64.lld.darwinold-13 -arch i386 -macosx_version_min 10.13 -sdk_version 10.13) ;;
  esac
  if [[ $source == *.cc ]]; then compiler=clang++-19; fi
  if [[ ${linker[0]} == ld64.lld-19 ]]; then
    linker+=(-no_fixup_chains)
  else
    set -- "$@" -fno-asynchronous-unwind-tables
  fi
  "$compiler" -target "$target" "$@" -fblocks -fno-exceptions -S -o "$name.plain.s" "$source"
  # With an L prefix, because for a linker each other symbol begins a function.
  "${truth[@]}" label --prefix L_usp_at_ --pointers "$pointers" "$name.plain.s" "$name.s" "$name.table"
  "$compiler" -target "$target" -Wa,--no-warn -c -o "$name.o" "$name.s"
  "${linker[@]}" -dylib -undefined dynamic_lookup -o "$name" "$name.o"
  llvm-objcopy-19 --dump-section "__DATA,__usp_places=$name.places" "$name" /dev/null
  dsymutil-19 "$name" 2>/dev/null
  file=$name.dSYM/Contents/Resources/DWARF/$name
  if [[ ${linker[0]} == ld64.lld-19 ]]; then
    "$dump" "$name" </dev/null 2>"$name.explained"
    grep -q 'dSYM.* (success)$' "$name.explained" || fail "$name: the dSYM was not used: $(cat "$name.explained")"
    check "$name" "$name.table" --llvm "$file" --places "$name.places" --pointers "$pointers" "${thumb[@]}"
  fi
  check "$file" "$name.table" --llvm "$file" --places "$name.places" --pointers "$pointers" "${thumb[@]}"
  compare_debug_map "$name" "$file"
}
archs=(arm64 x86_64 arm64_32)
! part_needs ld64.lld.darwinold-13 || archs+=(armv7 i386)
for arch in "${archs[@]}"; do
  for source in lines_fixture.c lines_fixture.cc lines_fixture.m; do
    is_old=$([[ $arch != armv7 && $arch != i386 ]] || echo yes)
    # The old linker supports neither Objective-C nor version 5.
    [[ $source != *.m || -z $is_old ]] || continue
    for level in "${levels[@]}"; do
      for version in 4 5; do
        [[ $version == 4 || $level == 2 && -z $is_old ]] || continue
        beside macho "macho-$arch-${source##*.}-O$level-v$version" "$arch" "$source" "-O$level" "-gdwarf-$version"
      done
    done
  done
done
beside_ended || fail "not all programs are right"

# A dSYM of several processors: the slice is chosen by the UUID, or by its name if there is no UUID.
fat=fat.dSYM/Contents/Resources/DWARF
mkdir -p $fat
for arch in arm64 x86_64; do slices+=("macho-$arch-c-O2-v4.dSYM/Contents/Resources/DWARF/macho-$arch-c-O2-v4"); done
llvm-lipo-19 -create "${slices[@]}" -output $fat/fat
for arch in arm64 x86_64; do
  one=macho-$arch-c-O2-v4
  "$dump" -a $arch $fat/fat <$one.addresses 2>/dev/null | cmp -s $one.by-dsym - || fail "the slice $arch of a fat dSYM"
  mv $one.dSYM $one.put-aside
  cp -R fat.dSYM $one.dSYM
  "$dump" $one <$one.addresses 2>explained | cmp -s $one.by-dsym - || fail "$arch by a fat dSYM: $(cat explained)"
  rm -r $one.dSYM
  mv $one.put-aside $one.dSYM
done

# Checks the comparison itself: it must find one wrong number, one wrong name and one wrong frame.
cat >sabotage <<'END'
#!/bin/sh
"$DUMP" "$@" | awk -F '\t' -v OFS='\t' -v what="$WHAT" 'NF > 1 && !done && $4 > 0 && $6 ~ /inlined/ {
  done = 1
  if (what == "line") $4++
  if (what == "column") $5++
  if (what == "name") $1 = $1 "x"
  if (what == "path") $2 = $2 "/x"
  if (what == "frame") next
} { print }'
END
chmod +x sabotage
one=lines_fixture-c-clang-19-O2-v5
for what in line column name path frame; do
  if DUMP=$dump WHAT=$what "${truth[@]}" check --dump "$work/sabotage" --llvm $one $one $one.table >/dev/null; then
    fail "a wrong $what is not found"
  fi
done

# Folded functions of a Mach-O file each have an entry in the debug map (-keep_icf_stabs), so dsymutil describes each at
# the same address. The answer is one of them, marked as folded.
cat >folded.c <<'END'
volatile int sink;
__attribute__((noinline)) int first(int a) { sink = a; return a * 31 + sink; }
__attribute__((noinline)) int second(int a) { sink = a; return a * 31 + sink; }
int entry(int a) { return first(a) + second(a); }
END
clang-19 -target arm64-apple-macos13 -O1 -g -fno-common -c -o folded-macho.o folded.c
ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -dylib --icf=all --keep-icf-stabs -o folded-macho folded-macho.o
dsymutil-19 folded-macho
llvm-nm-19 folded-macho | sed -n 's/ T _\(first\|entry\)$//p' | "$dump" folded-macho 2>/dev/null >said
grep -cP '^(first|second)\t.*\tfolded.c\t[23]\t.*,folded' said >/dev/null || fail "folded functions of a Mach-O file: $(cat said)"
grep -cP '^entry\t.*\tfolded.c\t4\t\d+\tline-table$' said >/dev/null || fail "beside folded functions: $(cat said)"

# ---- object files: members of archives, thin and fat; files that have changed since they were linked

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

# lines_of FILE: prints the lines of its three functions, by their names. The library's explanation is in `explained`.
lines_of() {
  llvm-nm-19 --defined-only "$1" | sed -n 's/ T .*//p' >addresses
  "$dump" "$1" <addresses 2>explained | awk -F '\t' 'NF > 1 { print $1, $3, $4 }' | sort | tr '\n' ';'
}
# set_time FILE OBJECT SECONDS: changes the object's time in the debug map.
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
# An object that was compiled again is not the one that was linked: there must be no line rather than a wrong one.
set_time lib-arm64 one-arm64.o 1000000000
expect lib-arm64 'one - 0;three three.c 1;two two.c 2;'
grep -q 'one-arm64.o: .*written at .* the one of 1000000000' explained || fail "another time is not said: $(cat explained)"
set_time lib-arm64 one-arm64.o 0
set_time lib-arm64 'thin-arm64.a(member.o)' 1000000000
expect lib-arm64 'one one.c 2;three three.c 1;two - 0;'
grep -q 'thin-arm64.a: .*written at ' explained || fail "another time of a member is not said: $(cat explained)"
# An index of the file has names, and its making reports that lines are missing.
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
