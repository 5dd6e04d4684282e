#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests lines and inlined calls where the debug information is of an unusual kind, lies elsewhere or is missing; of
# object files and debug maps; and the comparison itself. Each instruction is compared with what the compiler's assembly
# states about it (lines_truth.py), and its chain of inlined calls with llvm-symbolizer's (lines_oracle.py).
# lines_matrix.sh compares programs of each language, compiler, level and processor. Runs in the folder of the build. A
# sample has each kind of program once, where the full size has it with several versions of DWARF or for more processors.
# shellcheck disable=SC2317 # functions are called by `beside`
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/lines_build.sh
. "$(dirname "$0")/../support/lines_build.sh"
need_tools eu-addr2line
note_sample

# all_of PROGRAM: prints the answers for every byte of its code.
all_of() {
  llvm-readelf-19 -SW "$1" | awk '$2 == "]" { $1 = $1 $2; $2 = "" } / \.text/ { for (i = 1; i <= NF; i++) if ($i ~ /^\.text/) print $(i + 2), $(i + 4) }' |
    while read -r start size; do
      for ((i = 0; i < 16#$size; i++)); do printf '%x\n' $((16#$start + i)); done
    done >"$1.addresses"
  [[ -s $1.addresses ]] || fail "$1: no code"
  "$dump" "$1" <"$1.addresses" 2>/dev/null
}

# elf NAME SOURCE COMPILER FLAG...: builds the library and compares it with both.
elf() {
  build_elf "$@"
  check "$1" "$1.table" --llvm "$1"
}

# ---- ELF
# Before version 3 a function had one range. Inlined calls in its cold part lie outside of it and are left out.
early_version() {
  build_elf "version-$1" lines_fixture.c gcc -O2 "-gdwarf-$1" -gstrict-dwarf
  check "version-$1" "version-$1.table" --llvm "version-$1" --stray
}
beside early_version 2
! is_full_size || beside early_version 3
beside elf wide lines_fixture.c clang-19 -O2 -gdwarf-5 -gdwarf64
# The build's folder is replaced by another path, or by none.
mapped() {
  if [[ $1 == gcc ]]; then
    elf "mapped-gcc-v$2" lines_fixture.c gcc -O1 "-gdwarf-$2" "-ffile-prefix-map=$work=/mapped"
  else
    elf "mapped-clang-v$2" lines_fixture.c clang-19 -O1 "-gdwarf-$2" "-ffile-prefix-map=$work=."
  fi
}
beside mapped gcc 4
beside mapped clang 5
if is_full_size; then
  beside mapped gcc 5
  beside mapped clang 4
fi

# ---- unlinked objects: one section of code, whose addresses are the object's
unlinked() {
  build_object "$@" -Dcold=used
  check "$1.o" "$1.table" --llvm "$1.o"
}
beside unlinked object lines_fixture.c gcc -O2 -g
! is_full_size || beside unlinked object-arm lines_fixture.c clang-19 --target=arm-linux-gnueabihf -O2 -g
# RISC-V leaves differences of addresses to pairs of relocations. LLVM's tools do not apply all of DWARF 5's.
! is_full_size || beside unlinked object-riscv lines_fixture.c clang-19 --target=riscv64-linux-gnu -O2 -gdwarf-4
unlinked_riscv_5() {
  build_object object-riscv-5 lines_fixture.c clang-19 --target=riscv64-linux-gnu -O2 -gdwarf-5 -Dcold=used
  check object-riscv-5.o object-riscv-5.table
}
beside unlinked_riscv_5

# All relocations are left in the linked file, where they are already applied.
relocations_left() {
  link=('-Wl,--emit-relocs')
  elf relocations lines_fixture.c gcc -O2 -g
  llvm-readelf-19 -SW relocations | grep -c 'rela.debug_info' >/dev/null || fail "relocations: none are left"
}
beside relocations_left
# The old format of compressed sections, which GNU's tools write.
compressed() {
  build_elf plain lines_fixture.cc g++ -O2 -g
  objcopy --compress-debug-sections=zlib-gnu plain packed
  check packed plain.table --llvm plain
}
! has ZLIB || beside compressed

# ---- separate debug information: by the link's name, by the build id; and missing parts of it
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
# Padding, too, has the same answers when dwz has moved names and whole entries to a file that two programs share.
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
# The files of split units, or their package, are gone.
split_units() {
  local name=split-$1
  clang++-19 -O2 "-gdwarf-$1" -gsplit-dwarf -fPIC -c -o "$name.o" sources/lines_fixture.cc
  clang++-19 -shared -nostdlib -o "$name" "$name.o"
  all_of "$name" >"$name-before"
  (ulimit -f 100000 && timeout 300 llvm-dwp-19 -e "$name" -o "$name.dwp")
  rm "$name.dwo"
  all_of "$name" >"$name-after"
  cmp -s "$name-before" "$name-after" || fail "a package says something else: $(diff "$name-before" "$name-after" | head -n 6)"
  rm "$name.dwp"
  "$dump" "$name" <"$name.addresses" 2>&1 >/dev/null | grep -c 'split off, and was not found' >/dev/null ||
    fail "a split unit that is not there is not reported"
}
beside split_units 5
! is_full_size || beside split_units 4

# ---- Mach-O
for arch in arm64 x86_64; do beside build_macho "macho-$arch-c-O2-v4" "$arch" lines_fixture.c -O2 -gdwarf-4; done
beside elf sabotaged lines_fixture.c clang-19 -O2 -gdwarf-5
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
one=sabotaged
for what in line column name path frame; do
  if DUMP=$dump WHAT=$what "${truth[@]}" check --dump "$work/sabotage" --llvm $one $one $one.table >/dev/null; then
    fail "a wrong $what is not found"
  fi
done
DUMP=$dump WHAT=line python3 -B "$fixtures/lines_oracle.py" --dump "$work/sabotage" --random 300 --least 100 $one >said || :
grep -q ' 1 addresses with an invented line' said || fail "an invented line of a frame is not found: $(cat said)"
if "${truth[@]}" check --dump "$dump" --folded $one $one.table >/dev/null 2>&1; then
  fail "that nothing is folded is not found"
fi

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
use_command
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
