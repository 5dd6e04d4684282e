#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Firmware whose code begins at address 0 gets wrong functions and lines there after --gc-sections. The linkers (lld
# 19.1.7 and GNU ld 2.40) keep the debug information of a removed function, with 0 for its address, and in firmware 0 is
# the address of the reset code. For its first instruction,
#   addr2line 2.40 answers name and line of the removed function,
#   llvm-symbolizer 19.1.7 answers the right name with file and line of the removed function: a mixture.
# Both are right if lld writes another value (-z dead-reloc-in-nonalloc). An expert expects the default to be an address
# that no code can have, since 0 is a valid address on microcontrollers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2
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

cat >helpers.c <<'SOURCE'
int removed(int x) { return x * 7; }
int kept(int x) { return x + 1; }
SOURCE
cat >reset.c <<'SOURCE'
int kept(int);

__attribute__((section(".vectors"))) int reset(int x) { return kept(x); }
SOURCE
cat >memory.ld <<'SCRIPT'
SECTIONS {
  . = 0;
  .text : { KEEP(*(.vectors)) *(.text*) }
  /DISCARD/ : { *(.comment) *(.note*) *(.eh_frame) }
}
SCRIPT
for name in helpers reset; do
  clang-19 --target=x86_64-linux-gnu -O1 -g -ffreestanding -ffunction-sections -c "$name.c" -o "$name.o"
done
objects=(--gc-sections -e reset -T memory.ld helpers.o reset.o)
ld.lld-19 "${objects[@]}" -o lld.elf
ld.bfd "${objects[@]}" -o bfd.elf
ld.lld-19 -z 'dead-reloc-in-nonalloc=.debug_*=0xffffffffffffffff' "${objects[@]}" -o marked.elf

# answer TOOL FILE: function, file and line of address 0.
answer() { "$1" -fs -e "$2" 0 2>&1 | paste -sd ' ' | sed 's/ *$//'; }
expect 'symbol at 0' 'reset' "$(nm lld.elf | sed -n 's/^0* T //p')"
for linker in lld bfd; do
  expect "addr2line, program of $linker" 'removed helpers.c:1' "$(answer addr2line "$linker.elf")"
  expect "llvm-symbolizer, program of $linker" 'reset helpers.c:1:31' "$(answer llvm-symbolizer-19 "$linker.elf")"
done
expect 'addr2line, other value' 'reset reset.c:3' "$(answer addr2line marked.elf)"
expect 'llvm-symbolizer, other value' 'reset reset.c:3:64' "$(answer llvm-symbolizer-19 marked.elf)"
