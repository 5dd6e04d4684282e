#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llvm-dwarfutil 19.1.7 drops the debug information of every function that is in several parts. GCC 12.2 makes such
# functions at -O2 by default: code that leads to a cold function goes to a part of its own, and DWARF describes the
# function by DW_AT_ranges instead of DW_AT_low_pc. The tool's default action removes debug information of code that the
# linker left out, and it takes a function without DW_AT_low_pc for one of these. All lines of the function, those of
# its main part too, are lost, and there is no message. Functions in one part keep their lines.
# An expert expects the tool to keep what the program has, since DWARF offers both attributes for a function's code.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  gcc-12=12.2.0-14+deb12u1 cpp-12=12.2.0-14+deb12u1 llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1
  binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2
  libctf-nobfd0=2.40-2
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

cat >parts.c <<'SOURCE'
int whole(int x) { return x + 1; }
__attribute__((cold, noinline)) void report(int *p) { *p = 7; }
int split(int *p, int n) {
  if (n > 1000) report(p);
  for (int i = 0; i < n; i++) p[i] += n;
  return *p;
}
SOURCE
gcc-12 -gdwarf-4 -O2 -fPIC -S parts.c -o parts.s
as parts.s -o parts.o
ld -shared parts.o -o parts.so
llvm-dwarfutil-19 parts.so linked.so >messages 2>&1
llvm-dwarfutil-19 --no-garbage-collection parts.so copied.so

# line FILE FUNCTION: the line of the function's first instruction.
line() {
  local address
  address=0x$(nm parts.so | awk -v name="$2" '$3 == name { print $1 }')
  llvm-symbolizer-19 --obj="$1" --basenames "$address" | sed -n '2s/:[0-9]*$//p'
}
for file in parts.so copied.so linked.so; do
  expect "whole in $file" parts.c:1 "$(line "$file" whole)"
done
expect 'split in parts.so' parts.c:4 "$(line parts.so split)"
expect 'split in copied.so' parts.c:4 "$(line copied.so split)"
expect 'split in linked.so' '??:0' "$(line linked.so split)"
expect 'bytes of messages' 0 "$(wc -c <messages)"
