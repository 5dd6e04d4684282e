#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GNU addr2line 2.40 for RISC-V answers ".L0 " as the name of the function in a relocatable object, and so in a kernel
# module: the assembler keeps its local labels, because the linker may change distances between them, and addr2line
# takes the nearest one, although debug information names the function and gives the right line. All of these labels
# have the same name, which ends in a blank. llvm-symbolizer 19.1.7 answers the function. An expert expects the name of
# the function, since nm of the same package hides these labels.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils-riscv64-linux-gnu=2.40-2
  binutils-common=2.40-2
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

cat >module.s <<'END'
.text
.globl probe
.type probe, @function
probe:
.file 1 "/src" "module.c"
.loc 1 10
 call printk
.loc 1 11
 ret
.size probe, . - probe
.Lend:
.section .debug_abbrev
.byte 1, 0x11, 1, 0x10, 0x17, 0x11, 1, 0x12, 6, 0, 0
.byte 2, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 6, 0, 0, 0
.section .debug_info
.4byte .Lunit_end - .Lunit
.Lunit: .2byte 4
.4byte .debug_abbrev
.byte 8, 1
.4byte .Lline
.8byte probe
.4byte .Lend - probe
.byte 2
.asciz "probe"
.8byte probe
.4byte .Lend - probe
.byte 0
.Lunit_end:
.section .debug_line
.Lline:
END
llvm-mc-19 -triple riscv64-linux -mattr=+c,+relax -filetype=obj module.s -o module.o

expect llvm-symbolizer 'probe;/src/module.c:11:0;;' "$(llvm-symbolizer-19 -e module.o 0x8 | tr '\n' ';')"
expect addr2line '.L0 ;/src/module.c:11;' "$(riscv64-linux-gnu-addr2line -f -e module.o 0x8 | tr '\n' ';')"
