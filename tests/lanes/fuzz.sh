# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: each fuzzer in tests/fuzz, the same inputs each time; with USP_FUZZ_SECONDS for so long, and others each time
need_build clang-19 libclang-rt-19-dev llvm-19 lld-19
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19

# How many inputs take some ten seconds.
declare -A inputs=(
  [fuzz_archive]=60000
  [fuzz_cfi]=120000
  [fuzz_compact]=50000
  [fuzz_core]=6000
  [fuzz_demangle]=300000
  [fuzz_ehabi]=60000
  [fuzz_elf]=100000
  [fuzz_elf_symbols]=7000
  [fuzz_fixups]=12000
  [fuzz_log]=8000
  [fuzz_macho]=100000
  [fuzz_macho_exports]=200000
  [fuzz_macho_symbols]=50000
  [fuzz_objc]=50000
  [fuzz_raw]=20000
  [fuzz_unwind]=7000
)
sanitizers=address,undefined
configure_in fuzz CC=clang-19 --disable-shared \
  "CFLAGS=-O1 -g -fsanitize=fuzzer-no-link,$sanitizers -fno-sanitize-recover=all"
make_in fuzz all

# The libraries that configure found.
read -ra libraries <<<"$(sed -n 's/^LIBS = //p' "$top/build/fuzz/Makefile")"

# link PROGRAM SOURCE FLAG...: here and not by make, libFuzzer is clang's alone. What fuzz_log looks at is the command's.
link() {
  local program=$1 source=$2 others=()
  shift 2
  [[ $source != */fuzz_log.c ]] || others=("$top"/tools/log*.c "$top/tools/text.c")
  clang-19 -std=gnu11 -O1 -g "$@" -fno-sanitize-recover=all -I"$top" -I"$top/include" -o "$program" "$source" "${others[@]}" \
    "$top/build/fuzz/lib/.libs/libunspool.a" "${libraries[@]}"
}

# Programs that write what to begin with: a folder for each fuzzer. Files of that kind are not kept in the repository.
seeds=$top/build/fuzz/seeds
rm -rf "$seeds"
mkdir -p "$seeds"
for source in "$top"/tests/fuzz/*_seeds.c; do
  link "$seeds/program" "$source" "-fsanitize=$sanitizers"
  "$seeds/program" "$seeds"
done

# Files with a linkage table, for each processor.
mkdir -p "$seeds/fuzz_elf_symbols"
for target in x86_64-linux-gnu i386-linux-gnu aarch64-linux-gnu arm-linux-gnueabihf; do
  clang-19 "--target=$target" -Os -shared -nostdlib -fPIC -fuse-ld=lld-19 -o "$seeds/fuzz_elf_symbols/$target" \
    "$top/tests/names/elf_fixture.c"
done

# Libraries of objects that no linker has placed, as GNU's, BSD's and Apple's tools write them.
objects=$seeds/objects
mkdir -p "$objects" "$seeds/fuzz_archive"
for target in x86_64-linux-gnu arm-linux-gnueabihf arm64-apple-ios14 x86_64-apple-macos13; do
  echo 'int f(int a) { return a * 3; } int g(int a) { return f(a) + 1; }' |
    clang-19 "--target=$target" -Os -ffunction-sections -x c -c - -o "$objects/a-rather-long-name-$target.o"
done
llvm-ar-19 rcD "$seeds/fuzz_archive/gnu" "$objects"/*-linux-*.o
llvm-ar-19 --format=bsd rcD "$seeds/fuzz_archive/bsd" "$objects"/*-linux-*.o
for target in arm64-apple-ios14 x86_64-apple-macos13; do
  llvm-libtool-darwin-19 -static -o "$objects/$target.a" "$objects"/*"-$target.o"
done
llvm-lipo-19 -create -output "$seeds/fuzz_archive/fat" "$objects"/*.a
cp "$objects"/*-linux-*.o "$seeds/fuzz_archive"

# run NAME: what it found interesting is kept for the next run, unless all runs are to be the same.
run() {
  local fuzzer=$1 executed limits
  local work=$top/build/fuzz/$fuzzer.run
  if [[ -n ${USP_FUZZ_SECONDS-} ]]; then
    limits="-max_total_time=$USP_FUZZ_SECONDS"
  else
    limits="-runs=${inputs[$fuzzer]:?how many inputs is not said} -seed=1"
    rm -rf "$work/corpus"
  fi
  mkdir -p "$work/corpus" "$work/artifacts" "$seeds/$fuzzer"
  link "$work/$fuzzer" "$top/tests/fuzz/$fuzzer.c" "-fsanitize=fuzzer,$sanitizers"
  # shellcheck disable=SC2086 # words on purpose
  if ! "$work/$fuzzer" $limits -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$work/artifacts/" "$work/corpus" "$seeds/$fuzzer" >"$work/log" 2>&1; then
    tail -n 60 "$work/log"
    echo "$fuzzer failed; its input is in $work/artifacts"
    return 1
  fi
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
  echo "$fuzzer: ${executed:-0} inputs, from $(find "$seeds/$fuzzer" -type f | wc -l) seeds on; $(sed -n 's/^Done .* in //p' "$work/log")"
  [[ ${executed:-0} -gt 0 ]]
}

# As many at a time as there are processors.
running=0
for source in "$top"/tests/fuzz/fuzz_*.c; do
  if [[ $running -ge $jobs ]]; then
    wait -n
    running=$((running - 1))
  fi
  run "$(basename "$source" .c)" &
  running=$((running + 1))
done
while [[ $running -gt 0 ]]; do
  wait -n
  running=$((running - 1))
done
