#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# addr2line of binutils 2.40 names the wrong file for lines of DWARF 5 line tables that have the source file once, as
# clang and GCC's link-time optimization write them. DWARF 5 counts files from 0 (6.2.4), and addr2line counts them from
# 1. So a line in the first header gets the name of the source file, and after -flto the line of a source file gets
# "<artificial>", the name that GCC gives to the joined unit. Line and function are right.
# GCC without -flto repeats the source file as file 1 for readers that count from 1, and addr2line answers right for
# its tables. llvm-symbolizer 19.1.7 answers right for all. An expert expects the right file or none, since addr2line
# reads the version of the table and knows its new form.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  gcc-12=12.2.0-14+deb12u1 cpp-12=12.2.0-14+deb12u1 clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2
  binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
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

echo 'static inline __attribute__((always_inline)) int square(int x) { return x * x; }' >square.h
printf '#include "square.h"\nint area(int side) {\n  return square(side) + 1;\n}\n' >area.c
options=(-gdwarf-5 -O2 -ffreestanding -fPIC)
clang-19 --target=x86_64-linux-gnu "${options[@]}" -c area.c -o clang.o
ld -shared clang.o -o clang.so
gcc-12 "${options[@]}" -shared -nostdlib area.c -o gcc.so
cat square.h <(sed 1d area.c) >joined.c
gcc-12 "${options[@]}" -flto -shared -nostdlib joined.c -o optimized.so

address() { nm "$1" | awk '$3 == "area" { print "0x" $1 }'; }
llvm() { llvm-symbolizer-19 --obj="$1" --basenames "$(address "$1")" | sed -n '1p; 2s/:[0-9]*$//p' | paste -sd' '; }
gnu() { addr2line -sife "$1" "$(address "$1")" | sed -n 1,2p | paste -sd' '; }
expect 'llvm-symbolizer, clang' 'square square.h:1' "$(llvm clang.so)"
expect 'addr2line, clang' 'square area.c:1' "$(gnu clang.so)"
expect 'llvm-symbolizer, gcc' 'square square.h:1' "$(llvm gcc.so)"
expect 'addr2line, gcc' 'square square.h:1' "$(gnu gcc.so)"
expect 'llvm-symbolizer, gcc -flto' 'square joined.c:1' "$(llvm optimized.so)"
expect 'addr2line, gcc -flto' 'square <artificial>:1' "$(gnu optimized.so)"
