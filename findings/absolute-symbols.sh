#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# eu-addr2line of elfutils 0.188 answers the name of a constant for code. A symbol of a shared library whose section is
# SHN_ABS, as `ld --defsym` and linker scripts write it, holds a number, not an address in the library. Where this
# number is by chance an address of the code, eu-addr2line answers the constant there, even inside a local function with
# a size. In a function of assembler without a size, it answers no name from behind the constant to the function's end.
# llvm-symbolizer 19.1.7 and addr2line of binutils 2.40 answer the function everywhere. An expert expects this, because
# a symbol outside of all sections cannot be a part of the code.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils=2.40-2
  binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
  elfutils=0.188-2.1 libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1
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

cat >code.s <<'END'
.globl unsized, last
.type sized, @function
sized: .fill 16, 1, 0x90
.size sized, 16
unsized: .fill 16, 1, 0x90
.type last, @function
last: .fill 16, 1, 0x90
.size last, 16
END
llvm-mc-19 -triple x86_64-linux -filetype=obj code.s -o code.o
ld.lld-19 -shared -Ttext 0x1000 --defsym page_limit=0x1004 --defsym clock_rate=0x1014 code.o -o code.so
expect 'section of the constants' 'ABS ABS ' "$(llvm-readelf-19 -sW --dyn-syms code.so |
  awk '/^Symbol/ { table = $3 } /\.symtab/ { on = 1 } on && /page_limit|clock_rate/ { printf "%s ", $7 }')"

# names COMMAND...: the first line, the function, for two addresses of the first function and three of the second.
names() {
  local address line answer=
  for address in 0x1003 0x1004 0x1010 0x1014 0x1018; do
    line=$("$@" "$address" | head -n 1)
    answer+="$line "
  done
  echo "${answer% }"
}
expect eu-addr2line 'sized page_limit unsized clock_rate ??' "$(names eu-addr2line -f -e code.so)"
expect llvm-symbolizer 'sized sized unsized unsized unsized' "$(names llvm-symbolizer-19 -e code.so)"
expect addr2line 'sized sized unsized unsized unsized' "$(names x86_64-linux-gnu-addr2line -f -e code.so)"
