#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The reader of minidump 0.0.24 (PyPI) cuts pointers of arm64 to 32 bits. Its read_uint and get_ptr are documented to
# read 8 bytes on 64-bit processors, but they do so for x86-64 only, although the same class notes a pointer's size of 8
# for arm64. So a frame record on a stack, 0x7fc0001020 and 0x55000002f4, is read as 0xc0001020 and 0x7f: the caller's
# frame is lost, and the upper half of one pointer is the return address. It raises no error.
# This is so for minidumps of Breakpad, whose number for arm64 is 0x8003. One with the number of Windows and Crashpad,
# 12, raises ValueError. An expert expects the reader to use its own sizeof_ptr.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check minidump==0.0.24
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

# write FILE PROCESSOR CPU: a minidump with a frame record at 0x7fc0001000.
write() {
  yaml2obj-19 -o "$1" - <<END
--- !minidump
Streams:
  - Type: SystemInfo
    Processor Arch: $2
    Platform ID: Linux
    CPU: { $3 }
  - Type: ModuleList
    Modules:
      - { Base of Image: 0x5500000000, Size of Image: 0x1000, Module Name: program, CodeView Record: '' }
  - Type: MemoryList
    Memory Ranges:
      - { Start of Memory Range: 0x7fc0001000, Content: 201000c07f000000f402000055000000 }
...
END
}
write amd64.dmp AMD64 'Vendor ID: GenuineIntel, Version Info: 0, Feature Info: 0'
write breakpad.dmp BP_ARM64 'CPUID: 0'
write windows.dmp ARM64 'CPUID: 0'
cat >record.py <<'END'
import sys
from minidump.minidumpfile import MinidumpFile
try:
    memory = MinidumpFile.parse(sys.argv[1]).get_reader()
    reader = memory.get_buffered_reader()
    reader.move(0x7FC0001000)
    print(memory.sizeof_ptr, hex(reader.read_uint()), hex(reader.read_uint()))
except ValueError as error:
    print(error)
END
record() { LD_LIBRARY_PATH='' venv/bin/python record.py "$1.dmp"; }
expect 'pointer size and record of x86-64' '8 0x7fc0001020 0x55000002f4' "$(record amd64)"
expect "pointer size and record of Breakpad's arm64" '8 0xc0001020 0x7f' "$(record breakpad)"
expect "record of Windows' arm64" '12 is not a valid PROCESSOR_ARCHITECTURE' "$(record windows)"
