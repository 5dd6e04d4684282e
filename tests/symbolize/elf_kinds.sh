#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests names of ELF symbols that are unusual: with an "@" that begins no version, and of code under data symbols.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools "${CC:-gcc}" nm objcopy
[[ $(${CC:-gcc} -dumpmachine) == x86_64-* ]] || skip "the assembly is for x86_64"
names=$PWD/tests/symbolize/elf_names
[[ -x $names ]] || skip "tests/symbolize/elf_names was not built"
make_work
names=$(runnable "$names" "$work")
cd "$work"

# expect FILE OFFSET WANTED: checks the start and the name at the beginning of the code plus OFFSET (in hexadecimal).
expect() {
  local got
  got=$(printf '%x\n' $((0x$(nm "$1" | awk '$3 == "code" { print $1 }') + 0x$2)) | "$names" "$1" | cut -d' ' -f3-)
  [[ $got == "$3" ]] || fail "$1 + 0x$2: \"$got\", not \"$3\""
}

# Versions are cut, also where they are local names. Other parts after an "@" belong to the name, as in Crystal and Ruby.
cat >versions.s <<'END'
  .text
  .type code, @function
code:
  .skip 16, 0x90
  .size code, 16
  .macro function name
  .type "\name", @function
"\name":
  .skip 16, 0x90
  .size "\name", 16
  .endm
  function "*File@IO::Buffered#write<Slice(UInt8)>:Nil"
  function "*Dog@V_1@Animal"
  .globl old, new
  function old
  .symver old, cut@V_1
  function new
  .symver new, cut_too@@V_2
  .section .note.GNU-stack,"",@progbits
END
echo 'V_1 { global: cut; local: *; }; V_2 { global: cut_too; } V_1;' >map
${CC:-gcc} -shared -nostdlib -Wl,--version-script=map -Wl,--build-id=none -o versions versions.s
nm versions >table
grep -q ' cut_too@@V_2$' table || fail "the linker writes no versions: $(cat table)"
expect versions 10 '*File@IO::Buffered#write<Slice(UInt8)>:Nil'
expect versions 25 '*Dog@V_1@Animal'
expect versions 30 cut
expect versions 4f cut_too
# The sections of versions stay in the program when its symbols are in a separate file.
objcopy --only-keep-debug versions versions.debug
cp versions stripped
objcopy --strip-all stripped
objcopy --add-gnu-debuglink=versions.debug stripped
address=$(printf '%x' $((0x$(nm versions | awk '$3 == "code" { print $1 }') + 0x4f)))
[[ $(echo "$address" | "$names" stripped) == *' cut_too' ]] || fail "separate: $(echo "$address" | "$names" stripped)"
# Without versions, an "@" is part of each name.
${CC:-gcc} -shared -nostdlib -Wl,--build-id=none -Wl,--defsym=old=0 -o unversioned -x assembler - <<'END'
  .text
  .type code, @function
code:
  ret
  .size code, 1
  .type "f@V_1", @function
"f@V_1":
  ret
  .size "f@V_1", 1
END
expect unversioned 1 'f@V_1'

# Data symbols name the code that no function holds. They end functions without a size, and no others.
cat >data.s <<'END'
  .text
  .type code, @function
code:
  .skip 16, 0x90
  .type unsized_data, @object
unsized_data:
  .skip 16, 0x90
  .type sized_data, @object
sized_data:
  .skip 8, 0x90
  .type inside_data, @function
inside_data:
  .skip 4, 0x90
  .size inside_data, 4
  .skip 4, 0x90
  .size sized_data, 16
  .type sized, @function
sized:
  .skip 4, 0x90
  .type inside_function, @object
inside_function:
  .skip 4, 0x90
  .size inside_function, 4
  .type label_inside, @object
label_inside:
  .skip 8, 0x90
  .size sized, 16
  .type same_place, @object
same_place:
  .type also_here, @function
also_here:
  .skip 16, 0x90
  .size also_here, 16
  .size same_place, 16
  .type unsized_inside, @object
unsized_inside:
  .skip 4, 0x90
  .type unsized, @function
unsized:
  .skip 12, 0x90
  .size unsized_inside, 16
  .section .note.GNU-stack,"",@progbits
END
${CC:-gcc} -shared -nostdlib -Wl,--build-id=none -o data data.s
expect data 8 code
expect data 10 unsized_data
expect data 1f unsized_data
expect data 20 sized_data
expect data 28 inside_data
expect data 2c sized_data
expect data 30 sized
expect data 35 sized
expect data 39 sized
expect data 3f sized
expect data 41 also_here
expect data 52 unsized_inside
expect data 55 unsized
verdict
