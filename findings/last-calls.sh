#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# perf 6.1 names a function that was never called as the caller, if a call is the last instruction of a function, as
# a call of abort, exit or another function that does not return is. The return address is then the first address of
# the next function in the file, or behind the last one. With stacks by frame pointers (perf record -g), perf script and
# perf report look this address up. With stack dumps (--call-graph dwarf), they look up the byte before it and answer
# right. If there is no next function, the frame is "[unknown]". There is no warning.
# An expert expects both kinds of stacks to have the same names, as the kernel and perf's unwinder deliver the same
# return addresses, and the call to be looked up, as in gdb.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  linux-perf=6.1.192-3 binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2
  libctf0=2.40-2 libctf-nobfd0=2.40-2
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

cat >spin.s <<'END'
.globl _start
.macro function name
  .type \name, @function
\name:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register rbp
.endm
.macro end name
  .cfi_endproc
  .size \name, . - \name
.endm
function spin
  mov $1000000000, %rax
1:
  dec %rax
  jnz 1b
  mov $60, %eax; xor %edi, %edi; syscall  # exit(0)
end spin
function caller
  call spin
end caller
function never_called
  pop %rbp
  ret
end never_called
  .type _start, @function
_start:
  .cfi_startproc
  .cfi_undefined rip
  xor %ebp, %ebp
  call caller
end _start
END
as spin.s -o spin.o
ld --eh-frame-hdr spin.o -o spin
# stacks KIND: the functions of the most frequent stack that perf script prints, from the innermost to the outermost.
stacks() {
  perf record -q -e cpu-clock -F 500 --call-graph "$1" -o "$1.data" ./spin >/dev/null 2>&1
  perf script -i "$1.data" -F ip,sym 2>/dev/null | awk 'NF == 0 { if (s) print s; s = "" } NF { s = s " " $2 }' |
    sort | uniq -c | sort -rn | sed -n '1s/^ *[0-9]* *//p'
}
expect 'stack dumps' 'spin caller _start' "$(stacks dwarf)"
expect 'frame pointers' 'spin never_called [unknown]' "$(stacks fp)"
