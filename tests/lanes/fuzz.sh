# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: each fuzzer in tests/fuzz for a short time (USP_FUZZ_SECONDS, 20)
need_build clang-19 libclang-rt-19-dev llvm-19
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
seconds=${USP_FUZZ_SECONDS:-20}
sanitizers=address,undefined
configure_in fuzz CC=clang-19 --disable-shared \
  "CFLAGS=-O1 -g -fsanitize=fuzzer-no-link,$sanitizers -fno-sanitize-recover=all"
make_in fuzz all

# Each is linked here and not by make: libFuzzer is clang's alone. What it found interesting is kept for the next run.
for source in "$top"/tests/fuzz/fuzz_*.c; do
  fuzzer=$(basename "$source" .c)
  work=$top/build/fuzz/$fuzzer.run
  mkdir -p "$work/corpus" "$work/seeds" "$work/artifacts"
  clang-19 -std=gnu11 -O1 -g "-fsanitize=fuzzer,$sanitizers" -fno-sanitize-recover=all -I"$top" -I"$top/include" \
    -o "$work/$fuzzer" "$source" "$top/build/fuzz/lib/.libs/libunspool.a"
  echo "$fuzzer: $seconds s"
  if ! "$work/$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$work/artifacts/" "$work/corpus" >"$work/log" 2>&1; then
    tail -n 60 "$work/log"
    echo "$fuzzer failed; its input is in $work/artifacts"
    exit 1
  fi
  grep -E '^stat::number_of_executed_units|^Done' "$work/log" || :
done
