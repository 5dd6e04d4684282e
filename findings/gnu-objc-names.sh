#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gdb 13.1 prints C functions as Objective-C methods where it has only the symbol table: the function
# _i_list__insert_after becomes "-[list insert:after]", and _c_hash_Table_add_ becomes "+[hash(Table) add:]". It takes
# symbols of this form for methods of the GNU runtime, in programs without any Objective-C too.
# For real methods of this runtime the guess is wrong as well: the symbol writes ":" as "_", so -[List set_value:] comes
# back as "-[List set:value:]", another selector. nm of binutils 2.40 prints the symbol.
# An expert expects the name in the symbol table, since it cannot be turned back.
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

functions=(_i_list__insert_after _c_hash_Table_add_ _i_List__set_value_ _i_list)
for function in "${functions[@]}"; do
  printf '.globl %s\n.type %s, @function\n%s: nop\n.size %s, 1\n' "$function" "$function" "$function" "$function"
done >functions.s
as functions.s -o functions.o
ld -shared functions.o -o functions.so

# names TOOL: the name that gdb or nm has for the address of each function.
names() {
  local address name
  nm functions.so | sort | while read -r address _ name; do
    [[ $name == _[ic]_* ]] || continue
    case $1 in
      nm) nm -C functions.so | sed -n "s/^$address T //p" ;;
      gdb) gdb -nx -batch -ex "info symbol 0x$address" functions.so 2>gdb.log | sed 's/ in section.*//' ;;
    esac
  done | paste -sd ' '
}
expect 'nm' '_i_list__insert_after _c_hash_Table_add_ _i_List__set_value_ _i_list' "$(names nm)"
expect 'gdb' '-[list insert:after] +[hash(Table) add:] -[List set:value:] _i_list' "$(names gdb)"
