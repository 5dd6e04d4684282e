#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Free Pascal 3.2.2 for x86-64 writes no .eh_frame, and a .debug_frame that readers misread: its entries have the length
# field of the 32-bit format, but a CIE pointer of 8 bytes. So readers take the second half of the pointer for the
# beginning of the address, and a function of 79 bytes at 0x0 has 0x4f00000000 bytes. This is so with and without -g.
# An expert expects the frame table of a compiler to be right or absent. Here a reader applies rules at wrong
# addresses, and stacks of Pascal programs need frame pointers or an analysis of the code.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  fp-compiler-3.2.2=3.2.2+dfsg-20 fp-units-rtl-3.2.2=3.2.2+dfsg-20 binutils=2.40-2 binutils-common=2.40-2
  binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
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

cat >square.pas <<'END'
program Square;
procedure Show(x: integer);
begin
  writeln(x * x);
end;
begin
  Show(3);
end.
END
units=root/usr/lib/x86_64-linux-gnu/fpc/3.2.2/units/x86_64-linux/rtl
ppcx64-3.2.2 -n -Cn "-Fu$units" square.pas >compile.log 2>&1 || { cat compile.log; exit 1; }
readelf=x86_64-linux-gnu-readelf

expect 'frame sections' '.debug_frame' "$($readelf -SW square.o | grep -oE ' \.(eh|debug)_frame' | xargs)"
size=$($readelf -sW square.o | awk '/ FUNC .*SHOW/ { print $3 }')
range=$($readelf --debug-dump=frames square.o 2>/dev/null | grep -oE -m 1 'pc=[0-9a-f]+\.\.[0-9a-f]+')
expect 'range in .debug_frame' "pc=0000000000000000..$(printf '%08x' "$size")00000000" "$range"
expect 'CIE pointer at offset 0x18' '0000000000000018 R_X86_64_64' \
  "$($readelf -rW square.o | awk '/rela.debug_frame/ { in_it = 1 } in_it && /^0/ { print $1, $3; exit }')"
