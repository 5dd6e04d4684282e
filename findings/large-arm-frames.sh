#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pyelftools 0.33 (PyPI) misreads the unwind table of ARM (.ARM.exidx) for functions with more than 64 KiB of local
# variables. The size is a ULEB128 number behind the opcode 0xb2, and pyelftools tests the bit of continuation the wrong
# way round. Before the usual opcodes, numbers of one and two bytes come out right, but one of three bytes ends after
# its first. So 0xb2 0xff 0xfe 0x01, 131,072 bytes, is read as 1024 bytes, a spare opcode and another 8 bytes. It raises
# no error, and its mark for corrupt entries is not set. llvm-readelf 19.1.7 prints the right size. An expert expects a
# ULEB128 number of any length to be read, as pyelftools does in DWARF.
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
venv/bin/pip install -q --disable-pip-version-check pyelftools==0.33

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >buffers.c <<'END'
void fill(char *);
void small(void) { char buffer[4096]; fill(buffer); }
void large(void) { char buffer[131072]; fill(buffer); }
END
cat >opcodes.py <<'END'
# Prints for each function whether its entry is corrupt, and what its opcodes do.
from elftools.elf.elffile import ELFFile
with open("buffers.so", "rb") as file:
    for table in ELFFile(file).get_ehabi_infos():
        for entry in map(table.get_entry, range(table.num_entry())):
            if entry.unwindable:
                print(entry.corrupt, [item.mnemonic for item in entry.mnmemonic_array()], sep=", ")
END
(
  export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
  PATH=$work/root/usr/bin:$PATH
  clang-19 --target=armv7-linux-gnueabihf -O1 -funwind-tables -c buffers.c -o buffers.o
  ld.lld-19 -shared buffers.o -o buffers.so
  llvm-readelf-19 -u buffers.so >llvm.txt
)
venv/bin/python opcodes.py >pyelftools.txt
llvm() {
  grep -A 12 "FunctionName: $1" llvm.txt | awk -F' ; ' '/ ; / && !/finish/ { print $2 }' | head -n 2 | xargs -d'\n'
}
line() { sed -n "$1p" pyelftools.txt | sed 's/, .finish.//'; }
expect 'llvm-readelf, 4 KiB' 'vsp = vsp + 4096 pop {fp, lr}' "$(llvm small)"
expect 'llvm-readelf, 128 KiB' 'vsp = vsp + 131072 pop {fp, lr}' "$(llvm large)"
expect 'pyelftools, 4 KiB' "False, ['vsp = vsp + 4096', 'pop {fp, lr}']" "$(line 1)"
expect 'pyelftools, 128 KiB' "False, ['vsp = vsp + 1024', 'spare', 'vsp = vsp + 8', 'pop {fp, lr}']" "$(line 2)"
