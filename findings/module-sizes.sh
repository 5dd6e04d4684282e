#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LLDB 19.1.7 writes too small modules into a minidump of an ELF process (process save-core): the size of a module is
# that of its first segment alone, which in programs of today's linkers holds headers and no code. So the instruction
# pointer of the thread is in no module of the list, and a reader that looks for the module of an address, such as
# minidump 0.0.24 (PyPI), finds none for any frame. With a program of one segment (ld -N), it is found.
# An expert expects the size of the image as it is mapped, as the field is called SizeOfImage and crash reporters of
# Linux fill it so.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  lldb-19=1:19.1.7-3~deb12u1 liblldb-19=1:19.1.7-3~deb12u1 python3-lldb-19=1:19.1.7-3~deb12u1
  libclang-cpp19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 binutils=2.40-2
  binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
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

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check minidump==0.0.24
export LLDB_DEBUGSERVER_PATH=$work/root/usr/lib/llvm-19/bin/lldb-server

cat >stop.s <<'END'
.globl _start
_start:
  nop
  int3
  nop
END
as stop.s -o stop.o
cat >modules.py <<'END'
# Prints whether the instruction pointer of the first thread is in a module.
import logging
import struct
import sys
from minidump.minidumpfile import MinidumpFile

logging.disable(logging.CRITICAL)
dump = MinidumpFile.parse(sys.argv[1])
with open(sys.argv[1], "rb") as file:
    file.seek(dump.threads.threads[0].ThreadContext.Rva + 0xf8)  # Rip of CONTEXT for x86-64
    pc, = struct.unpack("<Q", file.read(8))
sizes = [(m.baseaddress, m.size) for m in dump.modules.modules if m.name.endswith("/stop")]
print("inside" if any(base <= pc < base + size for base, size in sizes) else "outside", len(sizes))
END
# module OPTION...: where the instruction pointer is, and the number of modules for a program linked so.
module() {
  ld "$@" --no-warn-rwx-segments stop.o -o stop
  rm -f stop.dmp
  lldb-19 --no-lldbinit -b -o run -k 'process save-core --plugin-name=minidump --style=stack stop.dmp' -k kill ./stop \
    >lldb.log 2>&1 || { cat lldb.log; return 1; }
  venv/bin/python modules.py stop.dmp
}
expect 'program of one segment' 'inside 1' "$(module -N)"
expect 'program with a segment for headers' 'outside 1' "$(module -z separate-code)"
