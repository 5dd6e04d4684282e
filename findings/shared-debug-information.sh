#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# After dwz -m (0.15), as Debian's packages of debug information are made, LLVM and GNU tools lose the names of inlined
# functions. dwz moves what two files share into a third one, and references to it remain (DW_FORM_GNU_ref_alt).
#   llvm-symbolizer 19.1.7 answers "??" for the inlined function, and a file name without its directory.
#   addr2line 2.40 answers the outer function a second time, with the line inside the inlined function.
# eu-addr2line 0.188 answers the right name, so the files are valid. Neither of the others warns, with the third file
# beside the first. An expert expects the same answers before and after dwz, or a message about the missing part.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2
  binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
  dwz=0.15-1 elfutils=0.188-2.1 libdw1=0.188-2.1 libelf1=0.188-2.1 libasm1=0.188-2.1
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

cat >list.h <<'SOURCE'
struct node { struct node *next; int value; };
struct list { struct node *head; long count; char name[32]; };
static inline __attribute__((always_inline)) int sum_of_list(struct list *list, int sum) {
  for (struct node *node = list->head; node; node = node->next) { sum += node->value; list->count++; }
  return sum;
}
SOURCE
for name in first second; do
  printf '#include "list.h"\nint %s(struct list *list) { return sum_of_list(list, 1); }\n' "$name" >"$name.c"
  clang-19 --target=x86_64-linux-gnu -O2 -gdwarf-4 -gdwarf-aranges -ffreestanding -c "$name.c" -o "$name.o"
  ld.lld-19 -shared "$name.o" -o "$name.so"
done
cp first.so before.so
dwz -m common.debug first.so second.so

# answer TOOL FILE: functions and lines of the first instruction of first(), the innermost first.
answer() {
  local address
  address=0x$(nm "$2" | sed -n 's/ T first$//p')
  "$1" -fi -e "$2" "$address" 2>&1 | sed "s|$work/\(\./\)*||" | paste -sd ' ' | sed 's/ *$//'
}
for file in before first; do
  expect "eu-addr2line, $file.so" 'sum_of_list inlined at first.c:2:39 in first list.h:4 first first.c:2:39' \
    "$(answer eu-addr2line "$file.so" | sed "s|$work/||g")"
done
expect 'llvm-symbolizer, before dwz' 'sum_of_list list.h:4:0 first first.c:2:39' \
  "$(answer llvm-symbolizer-19 before.so)"
expect 'llvm-symbolizer, after dwz' '?? ./list.h:4:0 first first.c:2:39' "$(answer llvm-symbolizer-19 first.so)"
expect 'addr2line, before dwz' 'sum_of_list list.h:4 first first.c:2' "$(answer addr2line before.so)"
expect 'addr2line, after dwz' 'first list.h:4 first first.c:2' "$(answer addr2line first.so)"
