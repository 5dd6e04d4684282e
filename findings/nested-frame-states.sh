#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GNU as 2.40 writes a wrong SFrame table (--gsframe) for nested .cfi_remember_state. The states are a stack, but for
# SFrame the assembler keeps one only: the second .cfi_restore_state gives back the inner state again. The rules behind
# it have the CFA at sp+24 where .eh_frame of the same object has rsp+16, and there is no warning.
# An expert expects both tables to describe the same stack, as the assembler makes both from the same directives, or the
# function to be absent in SFrame, since this format may leave functions out.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
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

# The outer state has one saved register, the inner one two.
cat >nested.s <<'END'
.globl nested
.type nested, @function
nested:
  .cfi_startproc
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  jz 2f
  .cfi_remember_state
  pushq %r12
  .cfi_adjust_cfa_offset 8
  js 1f
  .cfi_remember_state
  pushq %r13
  .cfi_adjust_cfa_offset 8
  call work
  addq $24, %rsp
  .cfi_adjust_cfa_offset -24
  ret
  .cfi_restore_state
1:
  call work
  addq $16, %rsp
  .cfi_adjust_cfa_offset -16
  ret
  .cfi_restore_state
2:
  popq %rbx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
.size nested, . - nested
END
x86_64-linux-gnu-as --gsframe nested.s -o nested.o >as.log 2>&1
expect 'warnings' '' "$(cat as.log)"

# rows TABLE: address and CFA of each row.
rows() {
  case $1 in
    eh_frame) x86_64-linux-gnu-readelf -wF nested.o ;;
    sframe) x86_64-linux-gnu-readelf --sframe nested.o ;;
  esac | awk '$1 ~ /^0000000000[0-9a-f]+$/ && $2 ~ /sp\+/ { print $1, $2 }'
}
# at TABLE ADDRESS: the CFA of the last row with this address.
at() { rows "$1" | awk -v address="$2" '$1 == address { cfa = $2 } END { print cfa }'; }
# last INSTRUCTION: the address of the last instruction of this name: "call" is at the label 1, "pop" at the label 2.
last() {
  x86_64-linux-gnu-objdump -d nested.o | awk -v what="$1" '$0 ~ what { sub(":", "", $1); last = $1 } END { print last }'
}
first=$(printf '%016x' "0x$(last 'call')")
second=$(printf '%016x' "0x$(last 'pop ')")
expect '.eh_frame behind the inner state' rsp+24 "$(at eh_frame "$first")"
expect 'SFrame behind the inner state' sp+24 "$(at sframe "$first")"
expect '.eh_frame behind the outer state' rsp+16 "$(at eh_frame "$second")"
expect 'SFrame behind the outer state' sp+24 "$(at sframe "$second")"
