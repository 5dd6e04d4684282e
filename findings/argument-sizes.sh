#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pyelftools 0.33 (PyPI) answers no unwind rules for C++ functions of 32-bit x86 with DW_CFA_GNU_args_size, which says
# how many bytes of arguments are on the stack at a call. g++ and clang write it where a call with pushed arguments can
# throw. The library reads the operation, but get_decoded does not know it and raises an error, even a wrong one
# (ValueError: its own message about the operation cannot be formatted). So the function has no rows at all.
# Version 0.32 ignores the operation and answers the rows, as readelf and unwinders do.
# An expert expects that an operation with no effect on the CFA and the registers costs no row.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
for version in 0.32 0.33; do
  python3 -m venv "venv$version"
  "venv$version/bin/pip" install -q --disable-pip-version-check "pyelftools==$version"
done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >calls.cpp <<'SOURCE'
struct Guard { Guard(int, int, int); ~Guard(); };
void callee(int, int, Guard const &);
void caller(int a) { Guard guard(a, 2, 3); callee(1, 2, guard); }
SOURCE
cat >rows.py <<'END'
import sys
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
with open(sys.argv[1], "rb") as file:
    for entry in ELFFile(file).get_dwarf_info().EH_CFI_entries():
        if isinstance(entry, FDE):
            try:
                print("rows:", len({row["pc"] for row in entry.get_decoded().table}) > 10)
            except ValueError as error:
                print("ValueError:", error)
END
clang++-19 --target=i686-linux-gnu -O2 -fomit-frame-pointer -c calls.cpp -o calls.o
rows() { LD_LIBRARY_PATH='' "venv$1/bin/python" rows.py calls.o; }
expect 'more than ten rows in 0.32' 'rows: True' "$(rows 0.32)"
expect 'more than ten rows in 0.33' "ValueError: Unknown format code 'x' for object of type 'str'" "$(rows 0.33)"
