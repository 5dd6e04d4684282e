#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# addr2line of binutils 2.40 loses all lines and inlined functions of a file whose DWARF 5 line table has a
# field of a vendor. The table describes its own fields, so that a reader can skip one that it does not know, and
# DWARF 5 asks for this (6.2.4.1). It prints "unknown format content type 8193" and answers no line. This is the field
# of clang -gembed-source, the text of the source file (DW_LNCT_LLVM_source). Without the field, the same code has its
# lines. llvm-symbolizer 19.1.7 answers in both cases.
# An expert expects that a field with no effect on addresses costs no line.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2
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

cat >square.c <<'SOURCE'
static int square(int x) { return x * x; }
int area(int x) { return square(x) + 1; }
SOURCE
compile=(clang-19 --target=x86_64-linux-gnu -gdwarf-5 -O1 -ffreestanding -c square.c)
"${compile[@]}" -o plain.o
"${compile[@]}" -gembed-source -o embedded.o
for kind in plain embedded; do ld.lld-19 -shared "$kind.o" -o "$kind.so"; done

# answer TOOL FILE: function, file and line of the first instruction of area(), with the function inlined there.
answer() {
  local address
  address=0x$(nm "$2" | sed -n 's/ T area$//p')
  "$1" -fis -e "$2" "$address" 2>errors.log | paste -sd ' ' | sed 's/ *$//'
}
expect 'llvm-symbolizer' 'square square.c:1:37 area square.c:2:26' "$(answer llvm-symbolizer-19 plain.so)"
expect 'llvm-symbolizer, with the field' 'square square.c:1:37 area square.c:2:26' \
  "$(answer llvm-symbolizer-19 embedded.so)"
expect 'addr2line' 'square square.c:1 area square.c:2' "$(answer addr2line plain.so)"
expect 'addr2line, with the field' 'area square.c:?' "$(answer addr2line embedded.so)"
expect 'its message' 'unknown format content type 8193' "$(sed 's/.*DWARF error: //' errors.log)"
