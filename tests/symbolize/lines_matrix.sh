#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests lines and inlined calls of programs of each language, compiler, level of optimization, version of DWARF and
# processor, as compilers and linkers shape them: plain, split in hot and cold parts, optimized by the linker, folded,
# with split, shared or compressed debug information. Each instruction is compared with what the compiler's assembly
# states about it (lines_truth.py), and its chain of inlined calls with llvm-symbolizer's (lines_oracle.py). Runs in the
# folder of the build.
#     tests/symbolize/lines_matrix.sh                        a sample: the shapes that lines.sh has not, once each
#     USP_TEST_SCALE=1 tests/symbolize/lines_matrix.sh       most plain programs, one of each shape for each processor
#     USP_TEST_SCALE=10 tests/symbolize/lines_matrix.sh      all of them
# USP_LINES_ONLY is a pattern of the programs' names.
# shellcheck disable=SC2317 # functions are called by `beside`
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/lines_build.sh
. "$(dirname "$0")/../support/lines_build.sh"
note_sample
is_whole=$([[ ${USP_TEST_SCALE:-1} -le 1 ]] || echo yes)

# gcc_of PROCESSOR: prints the gcc that compiles for it.
gcc_of() {
  case $1 in
  x86_64) echo gcc ;;
  i386) echo i686-linux-gnu-gcc ;;
  aarch64) echo aarch64-linux-gnu-gcc ;;
  arm | thumb) echo arm-linux-gnueabihf-gcc ;;
  esac
}

# exists SHAPE PROCESSOR LANGUAGE COMPILER LEVEL VERSION: whether these tools can make such a program.
exists() {
  local gcc front=cc1
  case $2 in
  macho-*)
    # GCC has no Mach-O. Split, shared and compressed debug information is ELF's.
    [[ $4 == clang && $1 =~ ^(plain|hotcold|lto|icf|object)$ ]] || return 1
    # The old linker supports neither Objective-C nor version 5, and does not fold. Object files show these.
    if [[ $2 =~ armv7|i386 ]]; then
      [[ $1 == object || $3 != m && $6 == 4 && $1 != icf ]] || return 1
    elif [[ $1 == object ]]; then
      return 1
    fi
    ;;
  esac
  if [[ $4 == gcc ]]; then
    [[ $3 == c ]] || front=$([[ $3 == cc ]] && echo cc1plus || echo cc1obj)
    gcc=$(gcc_of "$2")
    [[ " ${fronts[*]} " == *" $gcc-$front "* ]] || return 1
  fi
  case $1 in
  # Without optimization there is no cold part. GCC makes none for size, nor for 32-bit ARM.
  hotcold) [[ $5 != 0 && ($4 == clang || $5 != s && ! $2 =~ arm$|thumb) ]] ;;
  blocks) [[ $2$4 == x86_64clang ]] ;;
  # GCC has none. Without optimization no function is imported.
  thinlto) [[ $4 == clang && $5 != 0 ]] ;;
  object) [[ $2 == macho-* ]] ;;
  # dwz refuses .debug_addr, which clang's version 5 has.
  dwz) [[ $4 == gcc || $6 == 4 ]] ;;
  esac
}

# fronts: the parts of GCC that are installed, each as COMPILER-PART. In CI those of other processors are C alone.
fronts=()
for gcc in gcc i686-linux-gnu-gcc aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc; do
  for front in cc1 cc1plus cc1obj; do
    [[ $gcc == gcc || $front == cc1 || -n $is_whole ]] || continue
    if part_needs "$gcc" && part_needs "$("$gcc" "-print-prog-name=$front")"; then fronts+=("$gcc-$front"); fi
  done
done

# is_sampled PROCESSOR LANGUAGE COMPILER LEVEL VERSION: whether the full size has this plain program. For most processors levels
# but 2 have one version: those of x86-64 show what differs between versions.
is_sampled() {
  case $1 in
  macho-*) [[ $4 == 2 || $5 == 4 ]] ;;
  x86_64) [[ $2 != m || $5 == 5 ]] ;;
  *) [[ $2 != m && $4 == 2 || $5 == 5 && ($2 != m || $4 == 2) ]] ;;
  esac
}

# each SHAPE PROCESSOR: runs all programs of the shape for the processor, or one of them, each time of another language,
# compiler or version.
each() {
  local i count=${#programs[@]}
  [[ -n $is_whole || $1 == plain ]] || count=$of_level_2
  for ((i = 0; i < count; i++)); do
    # shellcheck disable=SC2086 # words on purpose
    set -- "$1" "$2" ${programs[(i + turn) % count]}
    exists "$@" || continue
    if [[ -z $is_whole && $1 == plain ]]; then is_sampled "${@:2}" || continue; fi
    # shellcheck disable=SC2053 # a pattern
    [[ $1-$2-$3-$4-O$5-v$6 != ${USP_LINES_ONLY:-*} ]] || beside run "$@"
    [[ -n $is_whole || $1 == plain ]] || break
  done
  turn=$((turn + 1))
}
turn=0
programs=()
for level in 2 0 1 3 s; do
  for program in 'c gcc 5' 'cc clang 4' 'm clang 5' 'c clang 4' 'cc gcc 5' 'm gcc 4' 'c gcc 4' 'cc clang 5' 'm clang 4' 'c clang 5' 'cc gcc 4' 'm gcc 5'; do
    programs+=("${program% *} $level ${program##* }")
  done
  : "${of_level_2:=${#programs[@]}}"
done

# run SHAPE PROCESSOR LANGUAGE COMPILER LEVEL VERSION: makes the program in a folder of its own, and compares it.
run() {
  local shape=$1 processor=$2 language=$3 compiler=$4 level=$5 version=$6
  local name=$1-$2-$3-$4-O$5-v$6 source=lines_fixture.$3 flags=("-O$5" "-gdwarf-$6") for_c target
  mkdir "$name"
  ln -s ../sources "$name/sources"
  cd "$name"
  case $processor in
  macho-*) ;;
  i386) target=i386-linux-gnu ;;
  arm) target=arm-linux-gnueabihf ;;
  thumb) target=armv7a-linux-gnueabihf ;;
  *) target=$processor-linux-gnu ;;
  esac
  if [[ $compiler == clang ]]; then
    for_c=clang-19
    compiler=$([[ $language == cc ]] && echo clang++-19 || echo clang-19)
    if [[ $processor != macho-* ]]; then flags+=("--target=$target"); fi
    if [[ $language == m && $processor != macho-* ]]; then flags+=(-fobjc-runtime=gcc -fblocks); fi
    # The linker of this machine links for this machine.
    if [[ $processor != x86_64 && $processor != macho-* ]]; then link+=(-fuse-ld=lld-19); fi
  else
    for_c=$(gcc_of "$processor")
    compiler=$([[ $language == cc ]] && echo "${for_c%gcc}g++" || echo "$for_c")
    if [[ $language == m ]]; then flags+=(-std=gnu11 -w); fi
  fi
  if [[ $processor == arm ]]; then flags+=(-marm); fi
  if [[ $processor == thumb ]]; then flags+=(-mthumb) checked+=(--clear-low-bit); fi
  if [[ $processor == macho-* ]]; then "macho_$shape"; else "elf_$shape"; fi
  cd ..
  if [[ $failures -eq 0 ]]; then rm -r "$name"; fi
}

# The shapes. They have the variables of `run`.

compile() { build_object "$name" "$source" "$compiler" "${flags[@]}" -fPIC "$@"; }
link_compiled() { link_elf "$name" "$compiler" "${flags[@]}"; }
compare() { check "$name" "$name.table" --llvm "$name" "${checked[@]}" "$@"; }

elf_plain() {
  compile
  link_compiled
  compare
}
macho_plain() { build_macho "$name" "${processor#macho-}" "$source" "${flags[@]}"; }

# 32-bit objects, whose debug information needs no relocation. llvm-symbolizer's answers about them are wrong.
macho_object() {
  local arch=${processor#macho-} target pointers linker
  compile_macho "$name" "$arch" "$source" "${flags[@]}"
  macho_target "$arch"
  assemble_macho "$name"
  macho_places "$name.o" "$name.places"
  [[ $arch != armv7 ]] || checked+=(--clear-low-bit)
  check "$name.o" "$name.table" --places "$name.places" --pointers "$pointers" "${checked[@]}"
}

# split_flags: sets $split to what makes the compiler put cold code apart.
split_flags() {
  if [[ $compiler == clang* ]]; then
    split=(-mllvm -hot-cold-split=true -mllvm -hotcoldsplit-threshold=-1)
  else
    split=(-ffunction-sections -freorder-blocks-and-partition)
  fi
}
has_cold_part() { grep -qE '^\w*header_cold_part\w*\.cold' "$name.s" || fail "$name: no cold part"; }
elf_hotcold() {
  local split
  split_flags
  compile "${split[@]}"
  has_cold_part
  link_compiled
  compare
}
macho_hotcold() {
  local split
  split_flags
  build_macho "$name" "${processor#macho-}" "$source" "${flags[@]}" "${split[@]}"
  has_cold_part
}

# Each basic block lies in a section of its own.
elf_blocks() {
  compile -fbasic-block-sections=all
  grep -q '\.__part\.' "$name.s" || fail "$name: no parts"
  link_compiled
  compare
}

# Functions are folded by a linker: their instructions have several truths.
elf_icf() {
  local apart=(-ffunction-sections)
  [[ $compiler == clang* ]] || apart+=(-fno-ipa-icf)
  compile "${apart[@]}"
  ld.lld-19 -shared --icf=all -o "$name" "$name.o"
  compare --folded
}
macho_icf() {
  link=(--icf=all)
  checked+=(--folded)
  build_macho "$name" "${processor#macho-}" "$source" "${flags[@]}"
}

# The linker's assembly is assembled again with labels: that adds labels to the code that the linker has compiled, which
# the program that it writes does not have.
elf_lto() {
  local early=() two=(-DLINES_TWO_UNITS -flto -fPIC)
  "$compiler" "${flags[@]}" "${two[@]}" -c -o one.o "sources/$source"
  "$for_c" "${flags[@]}" "${two[@]}" -w -c -o two.o sources/lines_fixture_other.c
  if [[ $compiler == clang* ]]; then
    ld.lld-19 -shared "--lto-O${level/s/2}" --lto-emit-asm -o lto one.o two.o
    mv lto.lto.s "$name.plain.s"
  else
    "$compiler" "${flags[@]}" -flto -flto-partition=one -fPIC -shared -nostdlib -save-temps -o lto one.o two.o
    mv ./*ltrans0.ltrans.s "$name.plain.s"
    # The functions' names are in debug information that the compiler made earlier.
    early=(./*.debug.temp.o)
  fi
  assemble "$name" "$PWD" "$compiler" "${flags[@]}"
  is_inlined_across_units
  link+=("${early[@]}")
  link_compiled
  compare
}
# Units stay apart, and each gets copies of functions of the other one.
elf_thinlto() {
  local two=(-DLINES_TWO_UNITS -flto=thin -fPIC)
  "$compiler" "${flags[@]}" "${two[@]}" -c -o one.o "sources/$source"
  "$for_c" "${flags[@]}" "${two[@]}" -w -c -o two.o sources/lines_fixture_other.c
  ld.lld-19 -shared "--lto-O${level/s/2}" --lto-emit-asm -o lto one.o two.o
  mv lto.lto.one.s "$name.plain.s"
  assemble "$name" "$PWD" "$compiler" "${flags[@]}"
  is_inlined_across_units
  "$for_c" "${flags[@]}" -Wno-unused-command-line-argument -c -o other.o lto.lto.two.s
  link+=(other.o)
  link_compiled
  compare
}
macho_lto() {
  local target pointers linker
  macho_target "${processor#macho-}"
  [[ ${linker[0]} == ld64.lld-19 ]] || flags+=(-fno-asynchronous-unwind-tables)
  flags+=(-target "$target" -DLINES_TWO_UNITS -flto -fblocks -fno-exceptions)
  "$compiler" "${flags[@]}" -c -o one.o "sources/$source"
  "$for_c" "${flags[@]}" -w -c -o two.o sources/lines_fixture_other.c
  llvm-lto-19 "-O${level/s/2}" --filetype=asm --exported-symbol=_entry -o "$name.plain.s" one.o two.o
  link_macho "$name" "${processor#macho-}"
  is_inlined_across_units
}
is_inlined_across_units() {
  grep -q 'lines_fixture_other\.c' "$name.table" || fail "$name: no code of the second unit"
  if [[ $level == 2 ]] && grep -q '"other_unit"' "$name.table"; then fail "$name: the second unit is not inlined"; fi
}

# Split units: their debug information lies in the object file, in a file .dwo, in a package.
elf_split() {
  local dwo
  if [[ $compiler == clang* ]]; then
    compile -gsplit-dwarf=single
    link_compiled
    compare
  fi
  compile -gsplit-dwarf
  dwo=$(llvm-dwarfdump-19 --debug-info "$name.o" 2>/dev/null |
    sed -n 's/.*DW_AT_\(GNU_\)\?dwo_name.*"\(.*\)".*/\2/p' | head -n 1)
  llvm-objcopy-19 --extract-dwo "$name.o" "$dwo"
  llvm-objcopy-19 --strip-dwo "$name.o"
  link_compiled
  compare
  (ulimit -f 100000 && timeout 300 llvm-dwp-19 -e "$name" -o "$name.dwp")
  rm "$dwo"
  compare
}

# Names and whole entries lie in a file that two programs share.
elf_dwz() {
  link+=('-Wl,--build-id')
  compile
  link_compiled
  cp "$name" other
  dwz -m common -r "$name" other
  [[ $(llvm-readelf-19 -SW "$name") == *.gnu_debugaltlink* ]] || fail "$name: nothing is shared"
  compare
}

# Compressed sections, by the compiler's assembler and by the linker.
elf_gz() {
  local way ways=() only=("${link[@]}")
  ! has ZLIB || ways+=(zlib)
  ! has ZSTD || ways+=(zstd)
  for way in "${ways[@]}"; do
    # GCC 12 has no -gz=zstd, though its assembler and linker have it.
    link=("${only[@]}" "-Wl,--compress-debug-sections=$way")
    compile "-Wa,--compress-debug-sections=$way"
    link_compiled
    llvm-readelf-19 -SW "$name" | grep -c '\.debug_info .* C ' >/dev/null || fail "$name: nothing is compressed"
    compare
  done
}

# Each shape with another processor, language, compiler and version.
sample() {
  local program
  while read -r program; do
    # shellcheck disable=SC2086 # words on purpose
    if exists $program; then beside run $program; else echo "left out: $program"; fi
  done <<'END'
hotcold macho-arm64 cc clang 2 4
blocks x86_64 c clang 1 5
icf aarch64 c clang 2 5
lto x86_64 cc gcc 2 5
thinlto i386 c clang s 4
object macho-i386 c clang 2 4
plain thumb c clang 3 4
plain arm c gcc 0 5
plain macho-arm64_32 m clang 2 5
split aarch64 c gcc 2 5
gz i386 c clang 1 4
END
  beside_ended || fail "not all programs are right"
  verdict
}

is_full_size || sample
shapes=(plain object hotcold blocks icf lto thinlto split gz)
! part_needs dwz || shapes+=(dwz)
processors=(x86_64 i386 aarch64 arm thumb macho-arm64 macho-x86_64 macho-arm64_32)
! part_needs ld64.lld.darwinold-13 || processors+=(macho-armv7 macho-i386)
for processor in "${processors[@]}"; do
  for shape in "${shapes[@]}"; do each "$shape" "$processor"; done
done
beside_ended || fail "not all programs are right"
verdict
