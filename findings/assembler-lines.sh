#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LLVM's assembler (19.1.7) describes the functions of a file assembled with -g by DW_TAG_label, where GNU as 2.40
# writes DW_TAG_subprogram. Readers of the line table give file and line for both. But LLVM's own tools, which keep
# lines only within subprograms, lose the lines of LLVM's own assembler:
#   llvm-gsymutil keeps the name from the symbol table without file and line,
#   dsymutil writes a dSYM whose line table has no row with an address of the code.
# An expert expects that the dSYM and the GSYM file answer as the object does.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1 binutils=2.40-2
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

cat >elf.s <<'END'
.text
.globl function
.type function, @function
function:
 nop
.size function, 1
END
printf '.text\n.globl _function\n_function:\n nop\n' >macho.s
llvm-mc-19 -g -triple x86_64-linux -filetype=obj elf.s -o llvm.o
x86_64-linux-gnu-as -g elf.s -o gnu.o
for maker in llvm gnu; do
  ld.lld-19 -shared -Ttext 0x1000 "$maker.o" -o "$maker.so"
  llvm-gsymutil-19 --convert "$maker.so" -o "$maker.gsym" >/dev/null 2>&1
  tag=$(llvm-dwarfdump-19 --debug-info "$maker.so" | grep -oE 'DW_TAG_(label|subprogram)')
  symbolizer=$(llvm-symbolizer-19 -e "$maker.so" 0x1000 | sed -n '2s,.*/,,p')
  gsym=$(llvm-gsymutil-19 "$maker.gsym" --address=0x1000 | sed -n 's/^0x0*1000: //p' | sed 's,@ /.*/,@ ,')
  case $maker in
    llvm) expect 'llvm-mc, symbolizer, gsym' 'DW_TAG_label; elf.s:5:0; function' "$tag; $symbolizer; $gsym" ;;
    gnu)
      expect 'GNU as, symbolizer, gsym' 'DW_TAG_subprogram; elf.s:5:0; function @ elf.s:5' "$tag; $symbolizer; $gsym"
      ;;
  esac
done

llvm-mc-19 -g -triple arm64-apple-macos13 -filetype=obj macho.s -o macho.o
ld64.lld-19 -arch arm64 -platform_version macos 13 13 -dylib macho.o -o macho.dylib
dsymutil-19 macho.dylib -o macho.dSYM >/dev/null 2>&1
# rows FILE: the number of rows in the line table before the end of the sequence.
rows() { llvm-dwarfdump-19 --debug-line "$1" | grep -E '^0x' | grep -vc end_sequence || true; }
in_dsym=macho.dSYM/Contents/Resources/DWARF/macho.dylib
expect 'line rows in the object and in the dSYM' '1 0' "$(rows macho.o) $(rows "$in_dsym")"
