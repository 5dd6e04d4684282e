#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lld 19.1.7 folds functions with equal code into one (--icf=all). For their common address, symbolizers answer the name
# of one function with the line of another one:
#   llvm-symbolizer 19.1.7 has the name second, the last symbol at the address, and the line of first.
#   addr2line of binutils 2.40 and llvm-gsymutil 19.1.7 have the name first, and the line of second.
# The symbols of both functions are there. The line table has the rows of both sequences at the same addresses, and an
# entry of debug information only for first. Each tool takes name and line from different ones of these.
# An expert does not expect to learn which function was called, but expects a line that is in the named function.
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

cat >folded.c <<'SOURCE'
__attribute__((noinline)) int first(int a) { return a * 7 + 1; }
__attribute__((noinline)) int second(int a) { return a * 7 + 1; }
int main(int count, char **arguments) { return first(count) + second(count + 1); }
SOURCE
clang-19 --target=x86_64-linux-gnu -ffunction-sections -fno-addrsig -g -O1 -c folded.c -o folded.o
ld.lld-19 -e main folded.o -o whole
ld.lld-19 -e main --icf=all folded.o -o folded

# address PROGRAM FUNCTION
address() { nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1 }'; }
llvm() { llvm-symbolizer-19 --obj="$1" --basenames "$2" | sed -n '1p; 2s/:[0-9]*$//p' | paste -sd' '; }
gnu() { addr2line -sfe "$1" "$2" | paste -sd' '; }
gsym() {
  llvm-gsymutil-19 --convert "$1" -o "$1.gsym" >/dev/null
  llvm-gsymutil-19 --address="$2" "$1.gsym" | sed -n 's|^0x0*.*: \(.*\) @ .*/|\1 |p'
}
folded=$(address folded first)
expect 'the functions have one address' "$folded" "$(address folded second)"
for tool in llvm gnu gsym; do
  expect "$tool, not folded" 'first folded.c:1, second folded.c:2' \
    "$($tool whole "$(address whole first)"), $($tool whole "$(address whole second)")"
done
expect 'llvm-symbolizer, folded' 'second folded.c:1' "$(llvm folded "$folded")"
expect 'addr2line, folded' 'first folded.c:2' "$(gnu folded "$folded")"
expect 'llvm-gsymutil, folded' 'first folded.c:2' "$(gsym folded "$folded")"
