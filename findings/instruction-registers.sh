#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Capstone 5.0.9 (PyPI) lists wrong registers and groups for instructions by which stacks are analysed: which of them
# change the stack pointer, use the return address or leave the function (regs_access and groups).
#   x86-64: enter reads and writes no register, while leave reads and writes rsp and rbp.
#   arm64: ret does not read lr, while retaa does. cbz reads the flags, of which it is independent.
#   arm64: blr, which calls the address in a register, is in the group of relative branches.
#   armv7: bx lr is a jump and does not read lr (in Thumb code it does). The returns pop {r4, pc} and mov pc, lr are in
#   no group of jumps, calls or returns, so that an analysis by groups goes on behind them.
# An expert expects the lists of one release to agree about such pairs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check capstone==5.0.9

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >instructions.py <<'END'
# Prints for the bytes of one instruction: registers read, registers written, groups.
import sys
import capstone
modes = {
    "x86-64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
    "arm64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    "arm": (capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM),
    "thumb": (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB),
}
capstone_of = capstone.Cs(*modes[sys.argv[1]])
capstone_of.detail = True
instruction = next(capstone_of.disasm(bytes.fromhex(sys.argv[2]), 0x1000))
read, written = (",".join(sorted(map(instruction.reg_name, registers))) for registers in instruction.regs_access())
kinds = {"jump", "call", "return", "ret", "branch_relative"}
groups = ",".join(sorted(kinds & {instruction.group_name(group) for group in instruction.groups}))
name = f"{instruction.mnemonic} {instruction.op_str}".strip()
print(f"{name}: reads {read or 'none'}, writes {written or 'none'}, {groups or 'no group'}")
END
# instruction PROCESSOR BYTES EXPECTED
instruction() { expect "$1" "$3" "$(venv/bin/python instructions.py "$1" "$2")"; }

instruction x86-64 c8100000 'enter 0x10, 0: reads none, writes none, no group'
instruction x86-64 c9 'leave: reads rbp,rsp, writes rbp,rsp, no group'
instruction arm64 c0035fd6 'ret: reads none, writes none, return'
instruction arm64 ff0b5fd6 'retaa: reads lr,sp, writes none, return'
instruction arm64 400000b4 'cbz x0, #0x1008: reads nzcv,x0, writes none, branch_relative,jump'
instruction arm64 00003fd6 'blr x0: reads x0, writes lr, branch_relative,call,jump'
instruction arm 1eff2fe1 'bx lr: reads none, writes pc, jump'
instruction thumb 7047 'bx lr: reads lr, writes pc, jump'
instruction arm 1080bde8 'pop {r4, pc}: reads sp, writes pc,r4,sp, no group'
instruction arm 0ef0a0e1 'mov pc, lr: reads lr, writes pc, no group'
instruction thumb 80bd 'pop {r7, pc}: reads sp, writes pc,r7,sp, no group'
