# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Builds programs, with what their compiler's assembly states about each instruction, and compares. Shared by lines.sh
# and lines_matrix.sh, which source it after script.sh, in the folder of the build.

need_tools llvm-symbolizer-19 llvm-nm-19 llvm-ar-19 llvm-lipo-19 llvm-objdump-19 llvm-objcopy-19 clang-19 clang++-19 \
  ld.lld-19 ld64.lld-19 dsymutil-19 gcc g++ objcopy python3
dump=$PWD/tests/symbolize/lines_dump
[[ -x $dump ]] || skip "tests/symbolize/lines_dump was not built"
make_work
dump=$(runnable "$dump" "$work")
fixtures=$top/tests/symbolize
# Without site packages Python starts faster.
truth=(python3 -S -B "$fixtures/lines_truth.py")
built=$PWD
has() { grep -q "define HAVE_$1 1" "$built/config.h"; }
cd "$work" || exit
# By a relative path, so that paths consist of all their parts.
mkdir sources
cp "$fixtures"/lines_fixture* sources

# check PROGRAM TABLE ARGUMENT...: compares each instruction of the program.
check() {
  local program=$1 table=$2
  shift 2
  "${truth[@]}" check --dump "$dump" "$@" "$program" "$table" || fail "$program"
}

# build_object NAME SOURCE COMPILER FLAG...: makes NAME.s with labels, NAME.table, NAME.o.
build_object() {
  local name=$1 source=sources/$2 compiler=$3 folder=$PWD flag
  shift 3
  for flag; do [[ $flag != -ffile-prefix-map=* ]] || folder=${flag##*=}; done
  "$compiler" "$@" -S -o "$name.plain.s" "$source"
  assemble "$name" "$folder" "$compiler" "$@"
}

# assemble NAME FOLDER COMPILER FLAG...: makes NAME.s, NAME.table and NAME.o of NAME.plain.s, of a compiler that was
# called in this folder.
assemble() {
  local name=$1 folder=$2 compiler=$3
  shift 3
  "${truth[@]}" label --folder "$folder" "$name.plain.s" "$name.s" "$name.table"
  "$compiler" "$@" -Wno-unused-command-line-argument -Wa,--no-warn -c -o "$name.o" "$name.s"
}

# build_elf NAME SOURCE COMPILER FLAG...: makes the library NAME. Only the linker gets $link.
link=()
build_elf() {
  build_object "$@" -fPIC
  link_elf "$1" "${@:3}"
}

# link_elf NAME COMPILER FLAG...: links NAME.o, and what $link adds.
link_elf() { "$2" "${@:3}" -shared -nostdlib -o "$1" "$1.o" "${link[@]}"; }

# macho_target ARCH: sets the compiler's target, the linker's command and the size of pointers for Mach-O files.
macho_target() {
  pointers=8
  # With several threads it sometimes writes 0 for a pointer of arm64_32.
  linker=(ld64.lld-19 --threads=1 -arch "$1" -no_fixup_chains -platform_version)
  case $1 in
  arm64) target=arm64-apple-ios14 linker+=(ios 14.0 14.0) ;;
  x86_64) target=x86_64-apple-macos13 linker+=(macos 13.0 13.0) ;;
  arm64_32) target=arm64_32-apple-watchos7 pointers=4 linker+=(watchos 7.0 7.0) ;;
  # LLVM's former linker, for processors that the new one does not support: without a UUID, and without compact unwind.
  armv7) target=armv7-apple-ios9 pointers=4 linker=(ld64.lld.darwinold-13 -arch armv7 -ios_version_min 9.0 -sdk_version 9.0) ;;
  i386) target=i386-apple-macos10.13 pointers=4 linker=(ld64.lld.darwinold-13 -arch i386 -macosx_version_min 10.13 -sdk_version 10.13) ;;
  esac
}

# build_macho NAME ARCH SOURCE FLAG...: builds a Mach-O library and its dSYM, and compares both.
build_macho() {
  compile_macho "$@"
  link_macho "$1" "$2"
}

# compile_macho NAME ARCH SOURCE FLAG...: makes NAME.plain.s.
compile_macho() {
  local name=$1 arch=$2 source=$3 compiler=clang-19 target pointers linker
  shift 3
  if [[ $source == *.cc ]]; then compiler=clang++-19; fi
  macho_target "$arch"
  [[ ${linker[0]} == ld64.lld-19 ]] || set -- "$@" -fno-asynchronous-unwind-tables
  "$compiler" -target "$target" "$@" -fblocks -fno-exceptions -S -o "$name.plain.s" "sources/$source"
}

# assemble_macho NAME: makes NAME.s, NAME.table and NAME.o of NAME.plain.s, for the target that macho_target has set.
assemble_macho() {
  # With an L prefix, because for a linker each other symbol begins a function.
  "${truth[@]}" label --prefix L_usp_at_ --pointers "$pointers" "$1.plain.s" "$1.s" "$1.table"
  clang-19 -target "$target" -Wa,--no-warn -c -o "$1.o" "$1.s"
}

# macho_places FILE TO: writes where the instructions of a Mach-O file lie.
macho_places() { llvm-objcopy-19 --dump-section "__DATA,__usp_places=$2" "$1" /dev/null; }

# link_macho NAME ARCH: makes the library NAME and its dSYM of NAME.plain.s, and compares both. Only the linker gets
# $link.
link_macho() {
  local name=$1 target pointers linker file how
  macho_target "$2"
  assemble_macho "$name"
  "${linker[@]}" "${link[@]}" -dylib -undefined dynamic_lookup -o "$name" "$name.o"
  macho_places "$name" "$name.places"
  dsymutil-19 "$name" 2>/dev/null
  file=$name.dSYM/Contents/Resources/DWARF/$name
  how=(--llvm "$file" --places "$name.places" --pointers "$pointers" "${checked[@]}")
  [[ $2 != armv7 ]] || how+=(--clear-low-bit)
  if [[ ${linker[0]} == ld64.lld-19 ]]; then
    "$dump" "$name" </dev/null 2>"$name.explained"
    grep -q 'dSYM.* (success)$' "$name.explained" || fail "$name: the dSYM was not used: $(cat "$name.explained")"
    check "$name" "$name.table" "${how[@]}"
  fi
  check "$file" "$name.table" "${how[@]}"
  compare_debug_map "$name" "$file"
}
# Further arguments of `check`.
checked=()

# macho_code FILE: prints the address of every byte of a Mach-O file's code.
macho_code() {
  llvm-objdump-19 --macho --section-headers "$1" | awk '$2 == "__text" { print $3, $4 }' | while read -r size start; do
    for ((i = 0; i < 16#$size; i++)); do printf '%x\n' $((16#$start + i)); done
  done
}

# compare_debug_map NAME DSYM: checks that without its dSYM the program gives the same answer for each byte, from the
# object file. In an object the line table goes on after a function, with padding and with functions of which the
# compiler says nothing. In a dSYM these have no line, or that of their declaration.
compare_debug_map() {
  macho_code "$1" >"$1.addresses"
  [[ -s $1.addresses ]] || fail "$1: no code"
  "$dump" "$2" <"$1.addresses" >"$1.by-dsym" 2>"$1.explained"
  mv "$1.dSYM" "$1.put-aside"
  "$dump" "$1" <"$1.addresses" >"$1.by-map" 2>"$1.explained"
  mv "$1.put-aside" "$1.dSYM"
  grep -q 'the object files of .* (success)$' "$1.explained" || fail "$1: the debug map was not used: $(cat "$1.explained")"
  diff "$1.by-dsym" "$1.by-map" >"$1.differences" || :
  if grep '^<' "$1.differences" | grep -vE '(none|declaration)$'; then fail "$1: by its debug map"; fi
}
