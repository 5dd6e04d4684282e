#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A local function inside a global one, as hand-written assembler has it: three symbolizers give three different answers
# for the same ELF symbol table, and each of them is wrong somewhere.
#   LLVM 19.1.7 llvm-symbolizer: no name after the end of the inner function, although the outer one still lasts.
#   binutils 2.40 addr2line: the inner function's name after its end, and even after the end of the outer one.
#   elfutils 0.188 eu-addr2line: the outer name inside the inner function, because it prefers global symbols.
# An expert expects the innermost symbol whose range holds the address: outer, inner, outer, none.
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

cat >nested.s <<'END'
.globl outer
.type outer, @function
outer: .fill 16, 1, 0x90
.type inner, @function
inner: .fill 16, 1, 0x90
.size inner, 16
.fill 16, 1, 0x90
.size outer, 48
.fill 16, 1, 0xcc
.globl last
.type last, @function
last: ret
.size last, 1
END
llvm-mc-19 -triple x86_64-linux -filetype=obj nested.s -o nested.o
ld.lld-19 -shared -Ttext 0x1000 nested.o -o nested.so

# names COMMAND...: the first line, the function, for an address in each part.
names() {
  local address line answer=
  for address in 0x1008 0x1018 0x1028 0x1038; do
    line=$("$@" "$address" | head -n 1)
    answer+="$line "
  done
  echo "${answer% }"
}
echo "parts: outer, inner, outer again, padding"
expect llvm-symbolizer 'outer inner ?? ??' "$(names llvm-symbolizer-19 -e nested.so)"
expect addr2line 'outer inner inner inner' "$(names x86_64-linux-gnu-addr2line -f -e nested.so)"
expect eu-addr2line 'outer outer outer ??' "$(names eu-addr2line -f -e nested.so)"
