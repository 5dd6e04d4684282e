#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds all fuzzers in the form that OSS-Fuzz takes, into the folder $OUT: NAME, NAME_seed_corpus.zip and, where there
# is one, NAME.dict. The compilers, their flags and the engine are those of the environment, by OSS-Fuzz's names: CC, CXX,
# CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE. The library is built in build/fuzz. The lane fuzz runs this.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tools/build.sh
. "$top/tools/build.sh"
: "${CC:?}" "${CXX:?}" "${CFLAGS?}" "${CXXFLAGS?}" "${LIB_FUZZING_ENGINE:?}" "${OUT:?}"
export CC CFLAGS
mkdir -p "$OUT"
configure_in fuzz --disable-shared
make_in fuzz all
build=$top/build/fuzz
read -ra libraries <<<"$(sed -n 's/^LIBS = //p' "$build/Makefile")"

# Checks how much memory the library takes, by an interface of the address sanitizer.
bound=()
if [[ $CFLAGS == *-fsanitize=*address* ]]; then
  # shellcheck disable=SC2086 # flags
  $CC $CFLAGS -std=gnu11 -c -o "$build/memory_bound.o" "$top/tests/fuzz/memory_bound.c"
  bound=("$build/memory_bound.o" '-Wl,--wrap=LLVMFuzzerTestOneInput')
fi

# As for the suites (tests/Makefile.inc): otherwise the fuzzers would link the host's backend alone.
backends=('-Wl,-u,uspi_backend_any')

"$top/tests/fuzz/seeds.sh" "$build" "$build/seeds"
# build_fuzzer SOURCE: builds a fuzzer, and puts its seeds and dictionary beside it.
# shellcheck disable=SC2317 # called by beside
build_fuzzer() {
  local name dictionary
  name=$(basename "$1" .c)
  # shellcheck disable=SC2086 # flags
  $CC $CFLAGS -std=gnu11 -I"$top" -I"$top/include" -c -o "$build/$name.o" "$1"
  # The engine is C++.
  # shellcheck disable=SC2086 # flags
  $CXX $CXXFLAGS -o "$OUT/$name" "$build/$name.o" "${bound[@]}" "${backends[@]}" "$build/lib/.libs/libunspool.a" $LIB_FUZZING_ENGINE "${libraries[@]}"
  rm -f "$OUT/${name}_seed_corpus.zip" "$OUT/$name.dict"
  [[ ! -d $build/seeds/$name ]] || (cd "$build/seeds/$name" && zip -q -r -X "$OUT/${name}_seed_corpus.zip" .)
  dictionary=$top/tests/fuzz/${name#fuzz_}.dict
  [[ ! -f $dictionary ]] || cp "$dictionary" "$OUT/$name.dict"
}
work=$(mktemp -d)
# shellcheck source=tests/support/beside.sh
. "$top/tests/support/beside.sh"
trap 'rm -rf "$work"' EXIT
for source in "$top"/tests/fuzz/fuzz_*.c; do beside build_fuzzer "$source"; done
beside_ended
