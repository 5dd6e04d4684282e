#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pyelftools 0.33 (PyPI) computes a wrong CFA for DW_CFA_def_cfa_sf: it multiplies the operand by the code alignment
# factor, where DWARF asks for the data alignment factor (DWARF 5, 6.4.2.2). On x86-64, the factors are 1 and -8, so a
# CFA at rsp-16 comes out as rsp+2. It raises no error. DW_CFA_def_cfa_offset_sf of the same value is right.
# Assemblers write these operations where the CFA is below its register, as in code that
# has removed more of the stack than the return address. GNU as writes the first when the register changes as well.
# readelf of binutils 2.40 prints the right rows. An expert expects both operations to have the same factor.
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
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check pyelftools==0.33
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >below.s <<'END'
.globl below
.type below, @function
below:
 .cfi_startproc
 mov %rsp, %rcx
 .cfi_def_cfa %rcx, 8
 add $24, %rcx
 .cfi_def_cfa_offset -16
 mov %rcx, %rsp
 .cfi_def_cfa %rsp, -16
 jmp *-24(%rsp)
 .cfi_endproc
.size below, . - below
END
as below.s -o below.o
cat >rows.py <<'END'
import sys
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
with open(sys.argv[1], "rb") as file:
    for entry in ELFFile(file).get_dwarf_info().EH_CFI_entries():
        if isinstance(entry, FDE):
            names = {2: "rcx", 7: "rsp"}
            print(*(f"{names[row['cfa'].reg]}{row['cfa'].offset:+d}" for row in entry.get_decoded().table))
END
expect readelf 'rsp+8 rcx+8 rcx-16 rsp-16 ' \
  "$(readelf --debug-dump=frames-interp below.o | sed -n '/FDE/,$p' | grep -oE '\br(sp|cx)[+-][0-9]+' | tr '\n' ' ')"
expect pyelftools 'rsp+8 rcx+8 rcx-16 rsp+2' "$(LD_LIBRARY_PATH='' venv/bin/python rows.py below.o)"
