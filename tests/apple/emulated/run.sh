#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Links the library's slices for Apple systems and runs each in the emulator, in a process whose kernel, loader and
# thread library are scripted (scenario.c). Each result of a slice is compared with what this system's build makes of
# the same memory.
#
#    tests/apple/emulated/run.sh [--scenario PROGRAM] [--keep FOLDER] [SLICE...]
# shellcheck disable=SC2317 # functions are called by `beside`
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../../support/script.sh"

here=$top/tests/apple/emulated sdk=$top/tests/apple/sdk
scenario=$started_in/tests/apple/emulated/scenario
jobs=${USP_JOBS:-2}
# Each line: name, compiler's target, processor's files, linker's platform (or, for the linker of LLVM 13, its option)
# and version, addressable bits of signed pointers. The slices that run longest come first.
slices=(
  'arm64e arm64e-apple-ios14 arm64 ios 14.0 39,47'
  'arm64 arm64-apple-ios14 arm64 ios 14.0 0'
  'arm64_32 arm64_32-apple-watchos7 arm64 watchos 7.0 0'
  'x86_64 x86_64-apple-macos11 x86_64 macos 11.0 0'
  'armv7 armv7-apple-ios9 armv7 -ios_version_min 9.0 0'
  'i386 i386-apple-ios9-simulator i386 -ios_simulator_version_min 9.0 0'
)

work='' only=()
while [[ $# -gt 0 ]]; do
  case $1 in
  --scenario) scenario=$(realpath "${2:?--scenario needs a program}") && shift ;;
  --keep) work=$(mkdir -p "${2:?--keep needs a folder}" && cd "$2" && pwd) && shift ;;
  -*) echo "usage: ${0##*/} [--scenario PROGRAM] [--keep FOLDER] [SLICE...]" && exit 2 ;;
  *) only+=("$1") ;;
  esac
  shift
done
need_tools clang-19 ld64.lld-19 ld64.lld.darwinold-13
[[ -x $scenario ]] || skip "$scenario is not built (it needs Unicorn)"
if [[ -z $work ]]; then
  make_work
fi

# loop_source.c needs Objective-C, which does not run here.
mapfile -t sources < <(code arch lib | grep '\.c$' | grep -vE '^lib/(os/(linux/.*|none)|objc/loop_source)\.c$')
# An empty configuration, as configure makes it on an Apple system without further libraries.
mkdir -p "$work/config"
: >"$work/config/config.h"
# The project's own flags (m4/usp_flags.m4), and enough optimisation to make the emulated code short.
common=(-isysroot "$sdk" -std=gnu11 -O2 -fno-omit-frame-pointer -I"$top" -I"$top/include" -I"$work/config")
strict=(-Wall -Wextra -Wshadow -Wconversion -Werror)

# Prints the system functions for programs that are linked statically, one after the other.
system_functions() {
  # 16 bytes each (GUEST_TRAP), so that the linker inserts nothing between them.
  local name before='.text' code='nop; ret; .space 14'
  if [[ $1 == armv7 ]]; then
    # Thumb code like the rest: what that linker inserts between Thumb and ARM code jumps to a wrong address (add pc, pc
    # for add ip, pc).
    before='.text; .code 16' code='nop; bx lr; .space 12'
  fi
  echo "$before; .p2align 4; .globl _guest_traps; _guest_traps:"
  "$scenario" --functions | while read -r name; do
    [[ $1 != armv7 ]] || echo ".thumb_func $name"
    echo ".p2align 4; .globl $name; $name: $code"
  done
  # The port of the process's own task, and the stack guard's value. The linker asks for the stub binder although there
  # are not stubs.
  echo '.data; .p2align 2; .globl dyld_stub_binder; dyld_stub_binder: .long 0'
  echo '.globl _mach_task_self_, ___stack_chk_guard; _mach_task_self_: .long 0x103'
  echo '___stack_chk_guard: .long 0xc0ffee; .subsections_via_symbols'
}

# compile FOLDER PROCESSOR FLAG...: compiles the library's files and the program's.
compile() {
  local folder=$1 processor=$2
  shift 2
  mkdir -p "$folder/library" "$folder/program"
  # shellcheck disable=SC2016 # for the inner shell
  (cd "$top" && printf '%s\n' "${sources[@]}" | xargs -P "$at_once" -n 8 sh -c '
    folder=$1 && shift
    while [ "$1" != -- ]; do flags="$flags $1"; shift; done; shift
    for file; do
      clang-19 $flags -fvisibility=hidden -c -o "$folder/library/$(echo "$file" | tr / _).o" "$file" || exit 255
    done' compile "$folder" "$@" "${common[@]}" --)
  local program=(clang-19 "$@" "${common[@]}" "${strict[@]}" -I"$here" -c)
  "${program[@]}" -ffreestanding -fno-builtin -o "$folder/program/libc.o" "$here/guest_libc.c"
  "${program[@]}" -o "$folder/program/main.o" "$here/guest_main.c"
  "${program[@]}" -o "$folder/program/text.o" "$here/stack_text.c"
  "${program[@]}" -o "$folder/program/objc.o" "$here/guest_objc.c"
  "${program[@]}" -DSCRIPTED_APPLE=1 -o "$folder/program/objc_runtime.o" "$top/tests/symbolize/objc_scripted_runtime.c"
  "${program[@]}" -o "$folder/program/cases.o" "$here/guest_cases_$processor.S"
  case $processor in
  arm64 | x86_64) "${program[@]}" -fswift-async-fp=always -o "$folder/program/async.o" "$here/guest_async.c" ;;
  esac
}

link() {
  local name=$1 platform=$2 version=$3 folder=$work/$1 first=()
  if [[ $name == arm64_32 ]]; then
    # The linker stores pointers to lazily bound functions with 8 bytes (lld/MachO/SyntheticSections.cpp,
    # LazyPointerSection::writeTo). The upper half of the last one overwrites what follows, so an unused word follows.
    first=("$folder/first.o")
    printf '.data\nunused: .quad 0\n' | clang-19 -target "$4" -x assembler -c -o "${first[0]}" -
  fi
  local linker=(ld64.lld-19 -arch "$name" -platform_version "$platform" "$version" "$version" -syslibroot "$sdk" -lSystem)
  "${linker[@]}" -dylib -fatal_warnings -install_name @rpath/libunspool.dylib -o "$folder/libunspool.dylib" \
    "${first[@]}" "$folder"/library/*.o
  "${linker[@]}" -undefined dynamic_lookup -export_dynamic -e _main -o "$folder/program.out" "${first[@]}" \
    "$folder"/program/*.o "$folder/libunspool.dylib"
  mv "$folder/program.out" "$folder/main"
}

# Links for one address: the linker of LLVM 13 reads no .tbd, and loses pointers to other files' variables when it makes
# relocatable files.
link_static() {
  local name=$1 option=$2 version=$3 folder=$work/$1
  system_functions "$name" >"$folder/system.s"
  clang-19 -target "$4" -c -o "$folder/program/system.o" "$folder/system.s"
  ld64.lld.darwinold-13 -arch "$name" "$option" "$version" -sdk_version "$version" -static \
    -function_starts -e _main -o "$folder/main" "$folder"/program/*.o "$folder"/library/*.o
}

run_slice() {
  local name=$1 target=$2 processor=$3 platform=$4 version=$5 bits=$6 flags=(-target "$2") files
  case $name in
  arm64e) flags+=(-fptrauth-returns) ;;
  # No unwind tables, which the linker cannot link, and only plain addresses.
  armv7 | i386) flags+=(-static -fno-asynchronous-unwind-tables -fno-exceptions -fno-stack-protector) ;;
  esac
  compile "$work/$name" "$processor" "${flags[@]}"
  files=("$work/$name/main")
  case $platform in
  -*) link_static "$name" "$platform" "$version" "$target" ;;
  *)
    link "$name" "$platform" "$version" "$target"
    files+=("$work/$name/libunspool.dylib")
    ;;
  esac
  for n in ${bits//,/ }; do
    "$scenario" --bits "$n" --folder "$work/$name" "${files[@]}" || fail "$name: see above"
  done
}

[[ ${#only[@]} -gt 0 ]] || only=("${slices[@]%% *}")
for name in "${only[@]}"; do
  [[ " ${slices[*]%% *} " == *" $name "* ]] || fail "no slice \"$name\"; there are: ${slices[*]%% *}"
done
# A slice runs on one processor, so slices run side by side, and each is compiled by one compiler at a time.
at_once=1
[[ ${#only[@]} -gt 1 ]] || at_once=$jobs
for slice in "${slices[@]}"; do
  # shellcheck disable=SC2086 # words on purpose
  set -- $slice
  [[ " ${only[*]} " == *" $1 "* ]] || continue
  beside run_slice "$@"
done
beside_ended || fail "see above"
verdict
