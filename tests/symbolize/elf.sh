#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares names from real ELF files, from files with all symbols to files without any, with llvm-symbolizer and with
# the symbol tables; and the linkage tables (PLT) of four processors with disassemblers. Runs in the folder of the
# build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools llvm-symbolizer-19 llvm-objdump-19 llvm-objcopy-19 clang-19 clang++-19 ld.lld-19 readelf objcopy strip nm \
  python3
# A sample looks up fewer addresses between functions' starts (elf_oracle.py).
note_sample
names=$PWD/tests/symbolize/elf_names
[[ -x $names ]] || skip "tests/symbolize/elf_names was not built"
make_work
names=$(runnable "$names" "$work")
oracle=(python3 "$top/tests/symbolize/elf_oracle.py" "$names" llvm-symbolizer-19)
fixtures=$top/tests/symbolize

compare() { "${oracle[@]}" "$@" || fail "$1"; }
has() { grep -q "define HAVE_$1 1" config.h; }

# lookup FILE NAME…: checks that FILE names the address of each NAME in $work/full (or, after a "!", that it does not).
lookup() {
  local file=$1 name address want
  shift
  for name; do
    want=yes
    [[ $name == !* ]] && want=no && name=${name#!}
    address=$(nm "$work/full" | awk -v n="$name" '$3 == n { print $1 }')
    [[ -n $address ]] || fail "the fixture lacks $name"
    if "$names" "$file" <<<"$address" | grep " $name\$" >/dev/null; then
      [[ $want == yes ]] || fail "$file: names $name, which it cannot know"
    else
      [[ $want == no ]] || fail "$file: does not name $name"
    fi
  done
}

# ---- the system's libraries, with a changed build id, so that installed debugging symbols are not found
for library in libc.so.6 libstdc++.so.6; do
  path=$(${CC:-cc} -print-file-name=$library)
  [[ -f $path ]] || continue
  python3 - "$path" "$work/$library" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
at = data.find(b'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0')
if at >= 0:
    data[at + 16] ^= 0xff
open(sys.argv[2], 'wb').write(data)
END
  compare "$work/$library"
done

# ---- a program in C and one in C++, stripped step by step
link=(-shared -fPIC -O2 '-Wl,--build-id=none')
clang-19 "${link[@]}" -DUSP_TEST_IFUNC -o "$work/full" "$fixtures/elf_fixture.c"
clang++-19 "${link[@]}" -nostdlib++ -o "$work/full-c++" "$fixtures/elf_fixture.cc"
for full in "$work/full" "$work/full-c++"; do
  compare "$full"
  strip --strip-debug -o "$full.debugless" "$full"
  compare "$full.debugless"
  strip --strip-unneeded -o "$full.unneeded" "$full"
  compare "$full.unneeded" --whole "$full"
  strip -o "$full.stripped" "$full"
  compare "$full.stripped" --whole "$full"
  # Without section headers, only the loader's way to the symbols is left. Those symbols have no sections.
  llvm-objcopy-19 --strip-sections "$full" "$full.headerless"
done
lookup "$work/full.stripped" visible_10 weak_10 aliased '!hidden_10' '!local_10'
lookup "$work/full.headerless" visible_10 weak_10 '!hidden_10'

# A separate debug file that is found by its checksum: beside the file and in .debug.
objcopy --only-keep-debug "$work/full" "$work/linked.debug"
strip -o "$work/linked" "$work/full"
(cd "$work" && objcopy --add-gnu-debuglink=linked.debug linked)
compare "$work/linked" --tables "$work/full"
lookup "$work/linked" local_10 hidden_10
mkdir "$work/.debug"
mv "$work/linked.debug" "$work/.debug/"
lookup "$work/linked" local_10 visible_10
printf x >>"$work/.debug/linked.debug"
lookup "$work/linked" '!local_10' visible_10

# MiniDebugInfo, made as gdb's manual describes.
if has LZMA && have xz; then
  nm -D "$work/full" --format=posix --defined-only | awk '{ print $1 }' | sort >"$work/dynamic"
  nm "$work/full" --format=posix --defined-only | awk '$2 ~ /^[TtWi]$/ { print $1 }' | sort >"$work/functions"
  comm -13 "$work/dynamic" "$work/functions" >"$work/keep"
  objcopy --only-keep-debug "$work/full" "$work/mini"
  objcopy -S --remove-section .comment --keep-symbols="$work/keep" "$work/mini"
  xz "$work/mini"
  strip -o "$work/with-mini" "$work/full"
  objcopy --add-section ".gnu_debugdata=$work/mini.xz" "$work/with-mini"
  lookup "$work/with-mini" local_10 hidden_10 visible_10 chosen_fast
  compare "$work/with-mini" --tables "$work/full"
  # Damaged MiniDebugInfo: only the file's own symbols are left.
  head -c 200 "$work/mini.xz" >"$work/cut.xz"
  objcopy --update-section ".gnu_debugdata=$work/cut.xz" "$work/with-mini"
  lookup "$work/with-mini" '!local_10' visible_10
fi

for way in zlib zstd; do
  has "${way^^}" || continue
  have zstd || [[ $way == zlib ]] || continue
  python3 "$fixtures/elf_compress.py" "$way" "$work/full" "$work/$way"
  readelf -SW "$work/$way" | grep -c '\.symtab.* C ' >/dev/null || fail "$way: not compressed"
  compare "$work/$way" --tables "$work/full"
  lookup "$work/$way" local_10 visible_10
done

# ---- linkage tables
# use_fixture TARGET ARGUMENT…: compiles the fixture, whose object each later check_plt links.
use_fixture() {
  target=$1
  fixture=$work/plt-${*//[^a-z0-9]/_}.o
  clang-19 -fPIC -O2 "$@" -c -o "$fixture" "$fixtures/elf_fixture.c"
}

# check_plt DISASSEMBLER FILE ARGUMENT…: links FILE from the fixture with these arguments, and checks its linkage table.
check_plt() {
  local objdump=$1 file=$2
  shift 2
  clang-19 -shared -nostdlib "$target" "$@" -o "$file" "$fixture"
  compare "$file" --plt "$objdump"
}
lld=-fuse-ld=lld-19
for bits in 64 32; do
  triple=x86_64-linux-gnu
  [[ $bits == 32 ]] && triple=i386-linux-gnu
  use_fixture --target=$triple
  for linker in "$lld" -fuse-ld=bfd; do
    check_plt objdump "$work/plt-x86-$bits$linker" "$linker"
    check_plt objdump "$work/plt-x86-$bits$linker-now" "$linker" -Wl,-z,now
  done
  use_fixture --target=$triple -fcf-protection=full
  check_plt objdump "$work/plt-x86-$bits-lld-ibt" "$lld" -Wl,-z,force-ibt
  check_plt objdump "$work/plt-x86-$bits-bfd-ibt" -fuse-ld=bfd -Wl,-z,ibtplt
  compare "$work/plt-x86-$bits$lld"
done
use_fixture --target=aarch64-linux-gnu
check_plt llvm-objdump-19 "$work/plt-aarch64-lld" "$lld"
compare "$work/plt-aarch64-lld"
if have aarch64-linux-gnu-ld; then
  check_plt llvm-objdump-19 "$work/plt-aarch64-bfd" --ld-path="$(command -v aarch64-linux-gnu-ld)"
fi
use_fixture --target=aarch64-linux-gnu -mbranch-protection=standard
check_plt llvm-objdump-19 "$work/plt-aarch64-bti" "$lld" -Wl,-z,force-bti
use_fixture --target=arm-linux-gnueabihf
check_plt lld-arm "$work/plt-arm-lld" "$lld"
if have arm-linux-gnueabihf-objdump; then
  check_plt arm-linux-gnueabihf-objdump "$work/plt-arm-bfd" --ld-path="$(command -v arm-linux-gnueabihf-ld)"
fi
use_fixture --target=arm-linux-gnueabihf -mthumb
check_plt lld-arm "$work/plt-arm-thumb" "$lld"
compare "$work/plt-arm-thumb"
verdict
