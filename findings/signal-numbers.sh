#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# find_best_instruction of symbolic 13.9.0 (PyPI) decides whether the address of the first frame is a return address. It
# knows SIGBUS by its number on Darwin, 10. On Linux, SIGBUS is 7, and 10 is SIGUSR1. So with the same registers, a
# SIGBUS of Linux keeps the return address, which can be the next line or function, while SIGUSR1 counts as a crash.
# An expert expects the numbers of the platform that the report is from, but no parameter says which platform it is.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check symbolic==13.9.0

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

# The crashing frame's address is 0x1010, and the instruction pointer differs from it: a crash makes 0x100f the address.
answer=$(venv/bin/python - <<'END'
from symbolic import find_best_instruction
for name, signal in (("SIGSEGV", 11), ("Darwin SIGBUS, Linux SIGUSR1", 10), ("Linux SIGBUS", 7)):
    address = find_best_instruction(0x1010, "x86_64", crashing_frame=True, signal=signal, ip_reg=0x2000)
    print(f"{name}: {address:#x}", end="; ")
END
)
expect 'looked-up address' 'SIGSEGV: 0x100f; Darwin SIGBUS, Linux SIGUSR1: 0x100f; Linux SIGBUS: 0x1010; ' "$answer"
