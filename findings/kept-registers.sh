#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libunwind 1.6.2 finds wrong callers where a function keeps its return address or rbp in another register
# (DW_CFA_register), if the register that holds it has a saved value of its own. libunwind restores the registers of a
# row one after the other, in the order of their numbers. So the return address, number 16, is taken from r12 after r12
# has its value in the caller already. "strace -k" (6.1), which uses libunwind, ends there. With rbp in rbx, it ends one
# frame later, and there is no message in both cases. gdb 13.1 reads the same tables and comes to _start.
# An expert expects the rules of a row to refer to the callee's registers only, as DWARF has it. The case is not odd:
# only a register that the function has saved can hold a value over a call.
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

cat >kept.s <<'END'
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
.macro save register
  push %\register
  .cfi_def_cfa_offset 16
  .cfi_offset \register, -16
.endm

function keep_return_address
  save r12
  mov 8(%rsp), %r12
  .cfi_register rip, r12
  movq $0, 8(%rsp)
  call stop
  mov %r12, 8(%rsp)
  .cfi_offset rip, -8
  pop %r12
  .cfi_def_cfa_offset 8
  ret
end keep_return_address

function keep_rbp
  save rbx
  mov %rbp, %rbx
  .cfi_register rbp, rbx
  xor %ebp, %ebp
  call stop
  mov %rbx, %rbp
  .cfi_same_value rbp
  pop %rbx
  .cfi_def_cfa_offset 8
  ret
end keep_rbp

function use_rbp
  save rbp
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
  call keep_rbp
  pop %rbp
  .cfi_def_cfa rsp, 8
  ret
end use_rbp

function stop
  mov $110, %eax; syscall  # getppid()
  ret
end stop

function _start
  .cfi_undefined rip
  call keep_return_address
  call use_rbp
  mov $60, %eax; xor %edi, %edi; syscall  # exit(0)
end _start
END
as kept.s -o kept.o
ld --eh-frame-hdr kept.o -o kept

# Print the functions of both stacks.
by_strace() {
  strace -k -e trace=getppid ./kept 2>&1 | sed -n 's/^getppid.*/|/p; s/^ > .*(\([a-z_]*\)+.*/\1/p' | xargs
}
by_gdb() {
  gdb -nx -batch -ex 'break stop' -ex run -ex bt -ex continue -ex bt kept 2>&1 |
    sed -n 's/^#0.* \([a-z_]*\) ()$/| \1/p; s/^#[1-9].* in \([a-z_]*\) ()$/\1/p' | xargs
}
expect gdb '| stop keep_return_address _start | stop keep_rbp use_rbp _start' "$(by_gdb)"
expect 'strace with libunwind' '| stop keep_return_address | stop keep_rbp use_rbp' "$(by_strace)"
