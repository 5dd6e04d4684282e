#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares lines with llvm-symbolizer, eu-addr2line, llvm-gsymutil, llvm-nm, and with symbolic's symcache if Python has
# the package. Prints processor time and memory of whole processes, as medians of rounds in turn, and the ratios of one
# run.
# usage: lines.sh FILE, in the build folder. FILE is an ELF file with a build id, a symbol table and uncompressed debug
# sections. Its default is USP_BENCH_LINES (for example libjvm's of openjdk-17-dbg after llvm-objcopy
# --decompress-debug-sections). With USP_BENCH_SLOW, eu-addr2line gets all addresses.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools llvm-symbolizer-19 llvm-gsymutil-19 llvm-readelf-19 llvm-nm-19 llvm-objcopy-19 eu-addr2line gcc python3
file=${1-${USP_BENCH_LINES-}}
[[ -f $file ]] || skip "no file: USP_BENCH_LINES names a large one with debug information"
make_work
# Use the programs themselves, because Libtool's scripts around them take a tenth of the time.
unspool=$PWD/tools/unspool
if [[ -x tools/.libs/unspool ]]; then
  unspool=$PWD/tools/.libs/unspool
  export LD_LIBRARY_PATH=$PWD/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
python3 -B "$top/tests/bench/lines.py" "$file" "$work" "$PWD/tests/symbolize/lines_dump" "$unspool" "$PWD/tests/bench/lines"
