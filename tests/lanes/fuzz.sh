# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: each fuzzer in tests/fuzz for a short time (USP_FUZZ_SECONDS, 20)
need_build clang-19 libclang-rt-19-dev llvm-19 lld-19
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
seconds=${USP_FUZZ_SECONDS:-20}
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

for source in "$top"/tests/fuzz/fuzz_*.c; do
  fuzzer=$(basename "$source" .c)
  # What it found interesting is kept for the next run.
  work=$top/build/fuzz/$fuzzer.run
  mkdir -p "$work/corpus" "$work/artifacts" "$seeds/$fuzzer"
  link "$work/$fuzzer" "$source" "-fsanitize=fuzzer,$sanitizers"
  echo "$fuzzer: $seconds s, $(find "$seeds/$fuzzer" -type f | wc -l) seeds"
  if ! "$work/$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$work/artifacts/" "$work/corpus" "$seeds/$fuzzer" >"$work/log" 2>&1; then
    tail -n 60 "$work/log"
    echo "$fuzzer failed; its input is in $work/artifacts"
    exit 1
  fi
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
  echo "$fuzzer: ${executed:-0} inputs"
  [[ ${executed:-0} -gt 0 ]]
done
