#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llvm-objdump -l and llvm-symbolizer 19.1.7 name wrong functions in relocatable objects with several sections of code,
# as BPF programs always are. Each section begins at address 0. LLVM takes the line from the debug information of the
# right section, and the name from the symbol table without regard to the section: the last function at this address.
# So the code of helper has the name second and the line of helper, and llvm-objdump prints no name at all for the
# sections behind it, since the name has not changed. DWARF has the right name beside the line.
# An expert expects the name and the line of one function, since llvm-objdump knows the section that it disassembles
# and prints the right name from the symbol table above the code.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1
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

cat >program.c <<'SOURCE'
int helper(int);
__attribute__((section("tracepoint/a"))) int first(void *context) { return helper(1) + 2; }
__attribute__((section("tracepoint/b"))) int second(void *context) { return helper(5) * 7; }
__attribute__((noinline)) int helper(int a) { return a * 13 + 1; }
SOURCE
clang-19 --target=bpf -g -O1 -c program.c -o program.o

# The symbol above the code, and the names and lines that -l adds, of each section.
llvm-objdump-19 -dl program.o >listing
sed -nE 's/^[0-9a-f]{16} <(.*)>:/symbol \1/p; s/^; (.*)\(\):/name \1/p; s|^; /.*:|line |p' listing | uniq >answers
expect .text 'symbol helper, name second, line 4' "$(sed -n 1,3p answers | paste -sd, | sed 's/,/, /g')"
expect 'tracepoint/a' 'symbol first, line 2' "$(sed -n 4,5p answers | paste -sd, | sed 's/,/, /g')"
expect 'tracepoint/b' 'symbol second, line 3' "$(sed -n 6,7p answers | paste -sd, | sed 's/,/, /g')"
expect 'llvm-symbolizer, 0x0' 'second program.c:4' \
  "$(llvm-symbolizer-19 --obj=program.o --basenames 0x0 | sed -n '1p; 2s/:[0-9]*$//p' | paste -sd' ')"
