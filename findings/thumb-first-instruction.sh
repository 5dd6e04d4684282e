#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# eu-addr2line of elfutils 0.188 compares addresses with the symbol values of Thumb code as they are, with bit 0 set. So
# without debug information, the first instruction of a Thumb function gets the name of the function before it, or "$t",
# a mapping symbol, if there is none. The halfword after a function gets the name of this function. llvm-symbolizer
# 19.1.7 answers right. An expert expects that elfutils, which has a backend for ARM, knows that bit 0 is not part of
# the address. A crash at the first instruction of a function is then reported in another function.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 elfutils=0.188-2.1
  libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1
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

cat >thumb.s <<'END'
.syntax unified
.thumb
.globl before
.type before, %function
before: nop
 bx lr
.size before, 4
.globl after
.type after, %function
after: nop
 bx lr
.size after, 4
END
llvm-mc-19 -triple thumbv7-linux-gnueabihf -filetype=obj thumb.s -o thumb.o
ld.lld-19 -shared -Ttext 0x1000 thumb.o -o thumb.so

# names COMMAND...: the function at both instructions of "before", at both of "after", and after the end.
names() {
  local address line answer=
  for address in 0x1000 0x1002 0x1004 0x1006 0x1008; do
    line=$("$@" "$address" | head -n 1)
    answer+="$line "
  done
  echo "${answer% }"
}
expect llvm-symbolizer 'before before after after ??' "$(names llvm-symbolizer-19 -e thumb.so)"
expect eu-addr2line "\$t before before after after" "$(names eu-addr2line -f -e thumb.so)"
