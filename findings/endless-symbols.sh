#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A function of assembler without a size is the last one of its file: two symbolizers answer it for every address above.
#   symbolic 13.9.0 (PyPI): a symcache names it for data, and for addresses far beyond the image.
#   llvm-symbolizer 19.1.7: it names it for data, and for an address beyond the image a variable, _DYNAMIC.
# addr2line of binutils 2.40 and eu-addr2line of elfutils 0.188 answer it up to the end of its section, and none beyond.
# _fini of the C library's start files is such a function, and the last one of nearly each C program. So a wild return
# address has this name in a report, instead of none.
# An expert expects a symbol to end at the end of its section at the latest, since st_shndx says in which one it is.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils=2.40-2
  binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
  elfutils=0.188-2.1 libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check symbolic==13.9.0

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >ends.s <<'END'
.globl first
.type first, @function
first: .fill 16, 1, 0x90
.size first, 16
.globl last
.type last, @function
last: ret
.data
.fill 16, 1, 0
END
cat >symcache.py <<'END'
import sys
from symbolic.debuginfo import Archive
symcache = next(Archive.open("ends.so").iter_objects()).make_symcache()
for address in sys.argv[1:]:
    found = [line.symbol for line in symcache.lookup(int(address, 16))]
    print(found[0] if found else "none")
END
# In first, at last, behind the end of the section, in data, beyond the image.
addresses=(0x1008 0x1010 0x1040 0x3008 0x7fffffff)
# names COMMAND...: the first line, the function, for each address.
names() {
  local address line answer=
  for address in "${addresses[@]}"; do
    line=$("$@" "$address" | head -n 1)
    answer+="$line "
  done
  echo "${answer% }"
}
(
  export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
  PATH=$work/root/usr/bin:$PATH
  llvm-mc-19 -triple x86_64-linux -filetype=obj ends.s -o ends.o
  ld.lld-19 -shared -Ttext 0x1000 -Tdata 0x3000 ends.o -o ends.so
  expect llvm-symbolizer 'first last last last _DYNAMIC' "$(names llvm-symbolizer-19 -e ends.so)"
  expect addr2line 'first last ?? ?? ??' "$(names x86_64-linux-gnu-addr2line -f -e ends.so)"
  expect eu-addr2line 'first last ?? ?? ??' "$(names eu-addr2line -f -e ends.so)"
)
expect symbolic 'first last last last last' "$(venv/bin/python symcache.py "${addresses[@]}" | xargs)"
