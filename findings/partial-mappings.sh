#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# generate-core-file (gcore) of gdb 13.1 writes zeros for memory that it can read. It reads a mapping in large blocks,
# and if one page of a block has no memory behind it, the whole block stays empty. The core has the full size of the
# mapping in its header (FileSiz), so a reader takes the zeros for the memory. The only sign is gdb's warning at the
# time of writing.
# A mapping has such pages when its file has become shorter, as when a library is overwritten while it is in use, and
# the variables of the library that still exist are lost. Here, gdb prints the text of the first page from the process,
# and an empty one from its core.
# An expert expects what gdb shows of the process to be in the core, and only the missing page to be absent.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  gdb=13.1-3 binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2
  libctf-nobfd0=2.40-2
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

# program.s SIZE: a program that maps two pages of a file, writes to the first, sets the file to SIZE bytes, and stops.
program() {
  cat <<END
.globl _start, page
.bss
page: .skip 8
.section .rodata
name: .asciz "data"
.text
_start:
  mov \$2, %eax; mov \$name, %edi; mov \$2, %esi; syscall  # open(name, O_RDWR)
  mov %rax, %r8
  mov \$9, %eax; xor %edi, %edi; mov \$8192, %esi; mov \$3, %edx; mov \$2, %r10d; xor %r9d, %r9d; syscall  # mmap
  mov %rax, page
  movl \$0x74786574, (%rax)  # "text"
  mov \$77, %eax; mov %r8, %rdi; mov \$$1, %esi; syscall  # ftruncate(file, SIZE)
  int3
END
}

# first_page SIZE: what gdb prints for the first page, from the process and then from the core.
first_page() {
  program "$1" | as -o program.o
  ld program.o -o program
  truncate -s 8192 data
  gdb -nx -batch -ex run -ex 'x/s *(char **)&page' -ex 'generate-core-file core' program >process.txt 2>&1
  gdb -nx -batch -ex 'x/s *(char **)&page' program core >core.txt 2>&1
  sed -n 's/^0x[0-9a-f]*:[[:space:]]*/ /p' process.txt core.txt | xargs -d'\n' | sed 's/^ *//'
}
expect 'file of two pages, process and core' '"text"  "text"' "$(first_page 8192)"
expect 'file of one page, process and core' '"text"  ""' "$(first_page 4096)"
