#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llvm-symbolizer 19.1.7 uses two kinds of addresses for one WebAssembly module and mixes the answers. Names come from
# the name section, by the offset in the file, which engines print in stack traces. Lines come from DWARF, by the offset
# in the code section. So one address gets the name of one function and the line of another, here add with a line of
# twice. An address before the code section's offset has a wrong function with its line, and one behind the last line
# has a name without a line. No option says which kind is meant.
# symbolic 13.9.0 (PyPI) takes the offset in the file for both. An expert expects one kind of address for one module,
# or no name where both disagree.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1
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

cat >module.c <<'SOURCE'
static int counter;
__attribute__((noinline)) int add(int a) {
  counter += a * 3;
  counter ^= a;
  counter += a * 5;
  counter ^= a << 2;
  return counter;
}
__attribute__((noinline)) int twice(int a) {
  counter -= a * 3;
  counter ^= a + 1;
  counter -= a * 5;
  counter ^= a << 3;
  return counter + add(a);
}
__attribute__((export_name("run"))) int run(int a) { return twice(add(a)) + add(a + 1); }
SOURCE
clang-19 --target=wasm32 -g -O1 -c module.c -o module.o
wasm-ld-19 --no-entry module.o -o module.wasm
llvm-strip-19 -g module.wasm -o names.wasm

# llvm FILE ADDRESS: function and line.
llvm() { llvm-symbolizer-19 --obj="$1" --basenames "$2" | sed -n '1,2p' | paste -sd' '; }
cat >ask.py <<'END'
import sys, symbolic
image = next(symbolic.Archive.open("module.wasm").iter_objects())
frame = image.make_symcache().lookup(int(sys.argv[1], 16))[0]
print(frame.symbol, frame.line)
END
# The code section's contents begin at 0x41. The function add is at 0x42 to 0x70 of the file, and twice behind it.
expect 'section begins' 00000041 "$(llvm-objdump-19 -h module.wasm | awk '$2 == "CODE" { print $4 }')"
expect 'add begins' 00000042 "$(llvm-nm-19 module.wasm | awk '$3 == "add" { print $1 }')"
expect 'without DWARF, 0x60' 'add ??:0:0' "$(llvm names.wasm 0x60)"
expect 'symbolic, 0x60' 'add 5' "$(LD_LIBRARY_PATH='' venv/bin/python ask.py 0x60)"
expect 'with DWARF, 0x60' 'add module.c:14:20' "$(llvm module.wasm 0x60)"
expect 'with DWARF, 0x1f, which is 0x60 in the file' 'add module.c:5:11' "$(llvm module.wasm 0x1f)"
expect 'with DWARF, 0xa0, which is in twice' 'twice ??:0:0' "$(llvm module.wasm 0xa0)"
