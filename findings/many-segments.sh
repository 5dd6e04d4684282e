#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A core with 65,535 or more segments has their number in the first section header (PN_XNUM). llvm-readelf and
# llvm-objdump 19.1.7 list the first 65,535 segments and report no error: those of the highest addresses, usually the
# stacks, are missing. LIEF 1.0.0 (PyPI) stops at 10,000. elfutils 0.188 and pyelftools 0.33 list all. Processes have
# so many mappings where the limit of the kernel was raised from its default of 65,530, as databases advise.
# An expert expects LLVM to read the field here, because it does so for the number of sections.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 elfutils=0.188-2.1
  libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check lief==1.0.0 pyelftools==0.33

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >write.py <<'END'
# Writes a core of one empty note segment and 69,999 segments of memory that was not dumped.
import struct
count = 70000
header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 128, 64, 0, 64, 56, 0xFFFF, 64, 1, 0)
section = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, count, 0, 0)
note = struct.pack("<IIQQQQQQ", 4, 4, 0, 0, 0, 0, 0, 4)
memory = [struct.pack("<IIQQQQQQ", 1, 4, 0, 0x10000 + i * 0x2000, 0, 0, 4096, 4096) for i in range(count - 1)]
open("core", "wb").write(header + section + note + b"".join(memory))
END
python3 write.py
cat >count.py <<'END'
import elftools.elf.elffile, lief
print(elftools.elf.elffile.ELFFile(open("core", "rb")).num_segments(), len(lief.parse("core").segments))
END
loads() { "$@" 2>&1 | grep -c 'LOAD'; }
expect 'segments of memory by eu-readelf' 69999 "$(loads eu-readelf -l core)"
expect 'segments of memory by llvm-readelf' 65534 "$(loads llvm-readelf-19 -lW core)"
expect 'segments of memory by llvm-objdump' 65534 "$(loads llvm-objdump-19 -p core)"
expect 'all segments by pyelftools, by LIEF' '70000 10000' "$(LD_LIBRARY_PATH='' venv/bin/python count.py 2>/dev/null)"
