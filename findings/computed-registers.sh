#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libunwind 1.6.2 loses the callers of a function whose table says DW_CFA_val_offset: a register of the caller is the
# CFA plus a number. "strace -k" (6.1), which uses libunwind, prints this function and its caller, and the stack ends
# there without a message, since the caller's frame is found from that register. gdb 13.1 comes to _start. The same
# value written as an expression (DW_CFA_val_expression) is right in both.
# An expert expects both forms to be equal: both are of DWARF 3, assemblers have a directive for the shorter one, and
# tools that list the table show it as any other rule.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  strace=6.1-0.1 libunwind8=1.6.2-3 gdb=13.1-3 binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2
  libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
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

cat >computed.s <<'END'
.globl _start
.macro function name
  .type \name, @function
\name:
  .cfi_startproc
.endm
.macro end name
  .cfi_endproc
  .size \name, . - \name
.endm
function inner
  sub $8, %rsp
  .cfi_def_cfa_offset 16
  .cfi_val_offset rbx, 64
  mov $5, %ebx
  call stop
  add $8, %rsp
  .cfi_def_cfa_offset 8
  lea 72(%rsp), %rbx
  ret
end inner
function outer
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset rbx, -16
  mov %rsp, %rbx
  .cfi_def_cfa rbx, 16
  sub $64, %rsp
  call inner
  mov %rbx, %rsp
  .cfi_def_cfa rsp, 16
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end outer
function stop
  mov $110, %eax; syscall  # getppid()
  ret
end stop
function _start
  .cfi_undefined rip
  call outer
  mov $60, %eax; xor %edi, %edi; syscall  # exit(0)
end _start
END
# stacks RULE: the functions that gdb and strace print, innermost first, with this rule for the caller's rbx.
stacks() {
  sed "s/.cfi_val_offset rbx, 64/$1/" computed.s >rule.s
  as rule.s -o rule.o
  ld --eh-frame-hdr rule.o -o rule
  gdb -nx -batch -ex 'break stop' -ex run -ex bt rule 2>&1 | sed -n 's/^#[0-9].* \([a-z_]*\) ()$/\1/p' | xargs
  strace -k -e trace=getppid ./rule 2>&1 | sed -n 's/^ > .*(\([a-z_]*\)+.*/\1/p' | xargs
}
expect 'value by expression, gdb and strace' 'stop inner outer _start | stop inner outer _start' \
  "$(stacks '.cfi_escape 0x16, 3, 3, 0x23, 0xc0, 0' | paste -sd'|' | sed 's/|/ | /')"
expect 'value by offset, gdb and strace' 'stop inner outer _start | stop inner outer' \
  "$(stacks '.cfi_val_offset rbx, 64' | paste -sd'|' | sed 's/|/ | /')"
