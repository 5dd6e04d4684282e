#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares every row of call frame information with readelf's: of this system's own programs and libraries, of those of
# other processors where they are installed, and of the .debug_frame of files that are compiled here. Runs in the folder
# of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools readelf python3
# A sample leaves out the largest files, whose rows are of the same kinds.
note_sample
rows=$PWD/tests/unwind/cfi_rows
[[ -x $rows ]] || skip "tests/unwind/cfi_rows was not built"
make_work
rows=$(runnable "$rows" "$work")
read -ra cc <<<"${CC:-cc}"

compare() { python3 "$top/tests/unwind/cfi_oracle.py" readelf "$rows" "$@" || fail "$1"; }
has_section() { readelf -SW "$1" 2>/dev/null | grep " $2 " >/dev/null; }

# Compares .eh_frame by the linker's sorted table and by the library's own.
compare_eh() {
  has_section "$1" .eh_frame_hdr || return 0
  is_full_size || [[ $(wc -c <"$1") -lt 800000 ]] || return 0
  compare "$1" eh
  compare "$1" eh-indexed
}

# Prints the path of a file of a compiler's own library, or nothing: without such a file, print-file-name gives the name
# back.
library_of() {
  local file
  file=$("$1" -print-file-name="$2" 2>/dev/null) || return 0
  [[ $file == /* && -f $file ]] && echo "$file"
}

for program in bash cat python3; do
  path=$(PATH=/usr/bin:/bin command -v "$program") || continue
  # Scripts, and files for other than the five processors, are left out.
  readelf -h "$path" >/dev/null 2>&1 || continue
  compare_eh "$(realpath "$path")"
done
# A compiler may be called by another program, such as ccache.
compilers=("${cc[-1]}")
for compiler in aarch64-linux-gnu-gcc i686-linux-gnu-gcc arm-linux-gnueabihf-gcc; do
  have "$compiler" && compilers+=("$compiler")
done
for compiler in "${compilers[@]}"; do
  for name in libc.so.6 libstdc++.so.6 libm.so.6; do
    library=$(library_of "$compiler" "$name") || continue
    compare_eh "$library"
  done
done

# build NAME COMPILER...: makes a library with .debug_frame as its only call frame information.
build() {
  local file=$work/$1.so
  shift
  "$@" -g -O2 -fPIC -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -shared -nostdlib \
    "$top/tests/symbolize/elf_fixture.c" -o "$file" || fail "$*"
  compare "$file" debug 400
}
for compiler in "${compilers[@]}"; do build "${compiler##*/}" "$compiler"; done
if have clang-19 && have ld.lld-19; then
  for target in x86_64-linux-gnu i386-linux-gnu armv7-linux-gnueabihf aarch64-linux-gnu; do
    build "clang-$target" clang-19 -target "$target" -fuse-ld=lld-19
  done
  # The signed return address changes no column, but the library must understand its instruction.
  build clang-signed clang-19 -target aarch64-linux-gnu -mbranch-protection=pac-ret -fuse-ld=lld-19
fi
verdict
