# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: each fuzzer in tests/fuzz, built in the form of OSS-Fuzz, with the same inputs each time; with USP_FUZZ_SECONDS for that long, with new inputs each time
need_build clang-19 libclang-rt-19-dev llvm-19 lld-19 zip unzip
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19

# Number of inputs for each fuzzer, which take about seven seconds.
declare -A inputs=(
  [fuzz_archive]=40000
  [fuzz_cfi]=80000
  [fuzz_compact]=33000
  [fuzz_compact_stacks]=60000
  [fuzz_core]=4000
  [fuzz_demangle]=200000
  [fuzz_dwarf]=4000
  [fuzz_dyld_cache]=5000
  [fuzz_ehabi]=40000
  [fuzz_elf]=67000
  [fuzz_elf_symbols]=5000
  [fuzz_fixups]=8000
  [fuzz_go]=19000
  [fuzz_index]=30000
  [fuzz_jit]=30000
  [fuzz_log]=5000
  [fuzz_macho]=67000
  [fuzz_macho_exports]=133000
  [fuzz_macho_symbols]=33000
  [fuzz_objc]=33000
  [fuzz_profile_file]=20000
  [fuzz_raw]=13000
  [fuzz_recording]=2000
  [fuzz_swift]=100000
  [fuzz_symfile]=40000
  [fuzz_unwind]=5000
)
sanitizers=address,undefined
flags="-O1 -g -fsanitize=fuzzer-no-link,$sanitizers -fno-sanitize-recover=all"
out=$top/build/fuzz-out
rm -rf "$out"
CC=clang-19 CXX=clang++-19 CFLAGS=$flags CXXFLAGS=$flags LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=$out "$top/tests/fuzz/build.sh"
# The fuzzers' seeds are those of the archives.
seeds=$out/seeds
for zip in "$out"/*_seed_corpus.zip; do
  name=$(basename "$zip" _seed_corpus.zip)
  mkdir -p "$seeds/$name"
  unzip -q "$zip" -d "$seeds/$name"
done

# A raw capture that a program wrote of itself, and the same in the styles of logs. A byte before each selects the mode
# of fuzz_log. Its addresses differ each time.
add_captures() {
  local style mode
  make_in fuzz tests/tool/captures_itself >/dev/null
  "$top/build/fuzz/tests/tool/captures_itself" "$seeds/fuzz_raw/program" >/dev/null
  for style in call-stack-symbols backtrace-symbols bs-backtrace crash-report ips sentry portable; do
    for mode in '\1' '\4'; do
      {
        # shellcheck disable=SC2059 # an escape on purpose
        printf "$mode"
        "$top/build/fuzz/tools/unspool" stack --no-symbols --style "$style" "$seeds/fuzz_raw/program"
      } >"$seeds/fuzz_log/$style${mode#?}"
    done
  done
}
[[ -z ${USP_FUZZ_SECONDS-} ]] || add_captures

# run NAME: runs a fuzzer. The inputs that it found interesting are kept for the next run, unless all runs are to be the
# same.
run() {
  local fuzzer=$1 executed limits
  local own=$top/build/fuzz/$fuzzer.run
  if [[ -n ${USP_FUZZ_SECONDS-} ]]; then
    limits="-max_total_time=$USP_FUZZ_SECONDS"
  else
    limits="-runs=${inputs[$fuzzer]:?how many inputs is not said} -seed=1"
    rm -rf "$own/corpus"
  fi
  mkdir -p "$own/corpus" "$own/artifacts" "$seeds/$fuzzer"
  [[ ! -f $out/$fuzzer.dict ]] || limits+=" -dict=$out/$fuzzer.dict"
  # shellcheck disable=SC2086 # words on purpose
  if ! "$out/$fuzzer" $limits -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$own/artifacts/" "$own/corpus" "$seeds/$fuzzer" >"$own/log" 2>&1; then
    tail -n 60 "$own/log"
    echo "$fuzzer failed; its input is in $own/artifacts, in base64:"
    base64 "$own"/artifacts/*
    return 1
  fi
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$own/log")
  echo "$fuzzer: ${executed:-0} inputs, from $(find "$seeds/$fuzzer" -type f | wc -l) seeds on; $(sed -n 's/^Done .* in //p' "$own/log")"
  [[ ${executed:-0} -gt 0 ]]
}

for source in "$top"/tests/fuzz/fuzz_*.c; do beside run "$(basename "$source" .c)"; done
beside_ended
