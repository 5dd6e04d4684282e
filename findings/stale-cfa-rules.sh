#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbolic 13.9.0 (PyPI) leaves out unwind rules that are DWARF expressions when it converts .eh_frame to Breakpad's
# STACK CFI, and writes no end of the rules before them. So the earlier rule goes on to the function's end, without an
# error. GNU ld describes a linkage table (PLT) by three rules, the third of which is an expression for all entries but
# the first. In symbolic's output, the stack pointer of each entry is 24 bytes below the CFA, the rule for the first
# entry's second half, where 8 or 16 are right: a sample in an entry gets its caller from a wrong word of the stack.
# GCC describes functions that align the stack by expressions, too.
# An expert expects a range without a rule where the format has none, since an unwinder then uses other means.
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
venv/bin/pip install -q --disable-pip-version-check symbolic==13.9.0
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >calls.s <<'END'
.globl calls
.type calls, @function
calls:
 .cfi_startproc
 call first@plt
 call second@plt
 ret
 .cfi_endproc
.size calls, . - calls
END
as calls.s -o calls.o
ld -shared -z lazy calls.o -o calls.so
cat >rules.py <<'END'
import symbolic
image = next(symbolic.Archive.open("calls.so").iter_objects())
print(image.make_cficache().open_stream().read().decode())
END
# The table has 16 bytes an entry: one for the dynamic linker, then those of first and second, from 0x1010 on.
expect 'table of linkage' '0000000000001000 000030' "$(readelf -SW calls.so | awk '$2 == ".plt" || $3 == ".plt"' |
  sed -E 's/.* \.plt +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) .*/\1 \2/')"
readelf --debug-dump=frames-interp calls.so | sed '1,/FDE.*pc=0*1000/d; /^$/,$d' >table
expect 'CFA of each row, readelf' '1000:rsp+16 1006:rsp+24 1010:exp' \
  "$(awk '/^0000/ { print substr($1, 13) ":" $2 }' table | paste -sd' ')"
LD_LIBRARY_PATH='' venv/bin/python rules.py | sed -n '/INIT 1000/,/^$/p' | tr -d '$' >rules
expect 'rules of symbolic' 'INIT 1000 30 .cfa: rsp 16 + .ra: .cfa -8 + ^, 1006 .cfa: rsp 24 +' \
  "$(sed -n 's/^STACK CFI //p' rules | grep -v 'INIT 1030' | paste -sd, | sed 's/,/, /g')"
