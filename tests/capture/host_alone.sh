#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a program takes from the static library. With usp_backtrace alone: neither the unwinder nor the readers of unwind
# tables and files, which the fast walk reaches through a pointer that usp_prepare sets (lib/capture/by_rules.h). With
# captures in this process and of other processes: the host's backends alone (arch/any.h), and the unwind tables and files
# of this system's images alone (lib/unwind/readers/kinds.h). With cores, registers and names of processors: all.
# If something is linked that should not be, the linker's map says which file of the library needs it.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
libraries=("$PWD/lib/.libs/libunspool-core.a" "$PWD/arch/.libs/libunspool-arch.a")
[[ -f ${libraries[0]} ]] || skip "lib/libunspool-core.la was not built"
read -ra nm <<<"${NM:-nm}"
need_tools "${nm[0]}"
make_work
read -ra compiler <<<"${CC:-cc}"

# link NAME CALL: links a program that makes this call, and lists the library's names in it.
link() {
  printf '#include <unspool/unspool.h>\nint main(void) { void *buffer[8]; struct usp_registers registers;
    (void)buffer; (void)registers; return %s; }\n' "$2" >"$work/$1.c"
  "${compiler[@]}" -I"$top/include" "$work/$1.c" "${libraries[@]}" -lpthread -ldl -Wl,-Map="$work/$1.map" -o "$work/$1"
  "${nm[@]}" "$work/$1" | awk '{ print $NF }' | grep -E '^usp' | sort -u >"$work/$1.names"
}
# lacks NAME PATTERN: checks that the program has no name of the library that matches.
lacks() {
  if grep -E "$2" "$work/$1.names" >"$work/found"; then
    fail "$1 links $(head -n 5 "$work/found" | tr '\n' ' ')"
    # Each member of the archives, and the one that needed it.
    awk '/^Archive member included/ { inside = 1 } /^(Discarded|Allocating|Memory)/ { inside = 0 } inside' "$work/$1.map" |
      sed -E 's/[^ ]*\(([^)]*\.o)\)/\1/g' | paste - - | head -n 100
  fi
}
# has NAME PATTERN...: checks that names of the library match, each.
has() {
  local name=$1 pattern
  shift
  for pattern; do grep -qE "$pattern" "$work/$name.names" || fail "$name links no name like $pattern"; done
}

unwinder=(find_caller read_table evidence_init walker_ rank_ image_tables_ copied_tables_ dwarf_ go_ elf_ file_)
others_tables=(compact_ ehabi_ macho_)
link fast 'usp_backtrace(buffer, 8)'
link prepared 'usp_prepare(NULL)'
link all_threads 'usp_snapshot_create_self(NULL, (void *)buffer) + usp_snapshot_create_process(1, NULL, (void *)buffer, NULL, 0)'
link itself 'usp_snapshot_create_self(NULL, (void *)buffer)'
has fast '^usp_backtrace$'
for part in "${unwinder[@]}"; do
  lacks fast "^uspi_$part"
  has prepared "^uspi_$part"
done
for part in "${others_tables[@]}"; do lacks fast "^uspi_$part"; done

# Goroutines are those of other processes. They need debug information.
goroutines='^uspi_(goroutines|struct_members|debug_section)'
lacks itself "$goroutines"
has all_threads "$goroutines"

# The backends of the other kind of processor.
arm='^uspi_(arm64|armv7)$'
x86='^uspi_(x86_64|i386)$'
case $("${compiler[@]}" -dumpmachine) in
x86_64* | i?86*) others="$arm|^uspi_ehabi_" ;;
aarch64* | arm*) others=$x86 ;;
*) others="$arm|$x86" ;;
esac
for name in fast prepared itself all_threads; do lacks "$name" "$others"; done
# What unspool reads on this system only for stacks and files of other systems, and for symbols. usp_prepare and captures
# need files of this system's format, for unwind tables that are not loaded.
tables='^uspi_(describe_by_compact|compact_find|unwind_info|locate_macho_tables)$'
files='^uspi_(macho_file_open|search_bundles|macho_debug_open|dyld_image_open|archive_open|fat_pick|part_open|gsym_open|breakpad_open)$'
case $("${compiler[@]}" -dumpmachine) in
*linux*) for name in prepared all_threads; do lacks "$name" "$tables|$files"; done ;;
esac
link core 'usp_snapshot_open_core("", NULL, (void *)buffer, NULL, 0)'
link raw 'usp_snapshot_open_raw("", NULL, (void *)buffer, NULL, 0)'
link target 'usp_unwind((void *)buffer, &registers, NULL, NULL)'
link registers 'usp_registers_init(&registers, USP_ARCH_ARM64) + usp_registers_init(&registers, USP_ARCH_X86_64)'
link symbolizer 'usp_symbolizer_create(NULL, NULL, (void *)buffer)'
link names 'usp_arch_from_string("armv7") != USP_ARCH_ARMV7 || usp_arch_pointer_size(USP_ARCH_X86_64) != 8'
for name in core raw registers symbolizer names; do has "$name" "$arm" "$x86"; done
for name in core target; do has "$name" '^uspi_describe_by_compact$' '^uspi_ehabi_find$' '^uspi_locate_macho_tables$' '^uspi_locate_elf_tables$'; done
if [[ -z ${USP_TEST_UNDER-} ]]; then
  for name in registers names; do "$work/$name" || fail "$name does not know a processor"; done
fi
verdict
