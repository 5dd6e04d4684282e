#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# eu-addr2line -i of elfutils 0.188 finds no inlined function in programs that GCC 12.2 has optimized at link time
# (-flto), as distributions build theirs. It prints the outer function with the line in the inlined one, once, and
# no warning. Without -flto, it prints both functions for the same source. After -flto, the abstract instance, to which
# the inlined function's entry refers, is in another unit, one without code (DW_FORM_ref_addr), which DWARF allows.
# addr2line of binutils 2.40 prints both functions in both cases.
# An expert expects the same answers with and without -flto, or at least the line of the call for the outer function.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  gcc-12=12.2.0-14+deb12u1 cpp-12=12.2.0-14+deb12u1 elfutils=0.188-2.1 libdw1=0.188-2.1 libelf1=0.188-2.1
  libasm1=0.188-2.1 binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2
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

cat >area.c <<'SOURCE'
static inline __attribute__((always_inline)) int square(int x) { return x * x; }
int area(int side) {
  return square(side) + 1;
}
SOURCE
gcc-12 -gdwarf-4 -O2 -fPIC -shared -nostdlib area.c -o plain.so
gcc-12 -gdwarf-4 -O2 -flto -fPIC -shared -nostdlib area.c -o optimized.so

address() { nm "$1" | awk '$3 == "area" { print "0x" $1 }'; }
# Functions with their lines, the inlined one first.
elfutils() {
  eu-addr2line -sif -e "$1" "$(address "$1")" | sed -E 's/ inlined at .*//; s/(:[0-9]+):[0-9]+$/\1/' | paste -sd' '
}
binutils() { addr2line -sife "$1" "$(address "$1")" | paste -sd' '; }
expect 'elfutils, plain' 'square area.c:1 area area.c:3' "$(elfutils plain.so)"
expect 'binutils, plain' 'square area.c:1 area area.c:3' "$(binutils plain.so)"
expect 'binutils, -flto' 'square area.c:1 area area.c:3' "$(binutils optimized.so)"
expect 'elfutils, -flto' 'area area.c:1' "$(elfutils optimized.so)"
