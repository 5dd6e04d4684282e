#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# eu-addr2line of elfutils 0.188 answers wrong functions and lines for a program that patchelf 0.14.3 gave a longer run
# path, if the debug information is in a file of its own. patchelf puts a segment before the program, because addresses
# are fixed there (not PIE). The code stays at its addresses, and the build id and the debug link stay the same. But
# elfutils takes the difference of the ends of the first segments, here of unlike segments, for a shift between program
# and debug file. It prints no warning. llvm-symbolizer 19.1.7 and addr2line of binutils 2.40 answer right.
# An expert expects that a change of the run path has no effect on the lines, and that a program that is not
# position-independent needs no shift, since the code of both files is at the same addresses.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2
  binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2 elfutils=0.188-2.1
  libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1 patchelf=0.14.3-1+b1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

# A program that calls a shared library and has 400 functions of 32 bytes: function N is on the lines 2N-1 and 2N.
for number in {1..400}; do
  printf '.globl f%d; .type f%d, @function; f%d: nop; .fill 30, 1, 0x90\nret; .size f%d, . - f%d\n' \
    "$number" "$number" "$number" "$number" "$number"
done >program.s
echo '.globl _start; .type _start, @function; _start: call other; ret; .size _start, . - _start' >>program.s
echo '.globl other; .type other, @function; other: ret; .size other, . - other' >library.s
x86_64-linux-gnu-as -g program.s -o program.o
x86_64-linux-gnu-as library.s -o library.o
x86_64-linux-gnu-ld -shared library.o -soname library.so -o library.so
x86_64-linux-gnu-ld --build-id -dynamic-linker /lib64/ld-linux-x86-64.so.2 program.o library.so -o program
x86_64-linux-gnu-objcopy --only-keep-debug program program.debug
x86_64-linux-gnu-strip --strip-all program
x86_64-linux-gnu-objcopy --add-gnu-debuglink=program.debug program
cp program patched
# shellcheck disable=SC2016 # $ORIGIN is for the dynamic linker.
patchelf --set-rpath '$ORIGIN/../lib/a/longer/path/than/the/room/that/there/is' patched

address=0x$(x86_64-linux-gnu-nm program.debug | awk '$3 == "f200" { print $1 }')
identity() { x86_64-linux-gnu-readelf -n "$1" | grep 'Build ID'; }
code() { x86_64-linux-gnu-readelf -SW "$1" | grep -o ' \.text .*' | awk '{ print $3 }'; }
answer() { xargs | sed 's/ [^ ]*program\.s/ program.s/'; }
expect 'build id after patchelf' same "$([[ $(identity program) == "$(identity patched)" ]] && echo same || echo other)"
expect 'address of the code after patchelf' "$(code program)" "$(code patched)"
for file in program patched; do
  expect "$file, llvm-symbolizer" 'f200 program.s:399:0' "$(llvm-symbolizer-19 -e "$file" "$address" | answer)"
  expect "$file, addr2line" 'f200 program.s:399' "$(x86_64-linux-gnu-addr2line -fe "$file" "$address" | answer)"
done
expect 'program, eu-addr2line' 'f200 program.s:399' "$(eu-addr2line -fe program "$address" | answer)"
expect 'patched, eu-addr2line' 'f224 program.s:447' "$(eu-addr2line -fe patched "$address" | answer)"
