#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `eu-strip -f FILE.debug` of elfutils 0.188 writes a debug file that keeps the program headers of the program, although
# the sections they describe have moved: at the file offset of the note segment there are other bytes than the note.
# A reader that finds the build id through PT_NOTE, as in a loaded image or a core, does not find it in this file, or
# reads other bytes as notes. llvm-objcopy --only-keep-debug 19.1.7 writes equal offsets in both headers.
# An expert expects the offsets of segments and sections to agree, as in the files of other tools.
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

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >start.s <<'END'
.globl _start
.type _start, @function
_start: nop
.size _start, 1
END
llvm-mc-19 -g -triple x86_64-linux -filetype=obj start.s -o start.o
ld.lld-19 --build-id=sha1 -pie -dynamic-linker /lib64/ld-linux-x86-64.so.2 start.o -o program
llvm-objcopy-19 --only-keep-debug program llvm.debug
eu-strip -f elfutils.debug program

# note_offset FILE: whether program header and section header have the same offset, and whether a note is at the first.
note_offset() {
  local segment section
  segment=$((16#$(llvm-readelf-19 -lW "$1" 2>/dev/null | awk '$1 == "NOTE" { sub("0x", "", $2); print $2 }')))
  section=$((16#$(llvm-readelf-19 -SW "$1" 2>/dev/null |
    sed -n 's/.*\.note\.gnu\.build-id *NOTE *[0-9a-f]* \([0-9a-f]*\).*/\1/p')))
  if [[ $segment == "$section" ]]; then echo -n "same offset, "; else echo -n "other offset, "; fi
  case $(dd if="$1" bs=1 skip=$((segment + 12)) count=3 status=none | tr '\0' .) in
    GNU) echo "a note" ;;
    *) echo "no note" ;;
  esac
}
expect 'stripped program' 'same offset, a note' "$(note_offset program)"
expect 'debug file of llvm-objcopy' 'same offset, a note' "$(note_offset llvm.debug)"
expect 'debug file of eu-strip' 'other offset, no note' "$(note_offset elfutils.debug)"
