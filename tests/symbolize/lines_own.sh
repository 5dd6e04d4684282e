#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares lines and inlined calls of the library as it was built, at each function's start and at random addresses,
# with llvm-symbolizer and eu-addr2line (lines_oracle.py). Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools llvm-symbolizer-19 llvm-nm-19 llvm-readelf-19 llvm-dwarfdump-19 eu-addr2line python3
dump=$PWD/tests/symbolize/lines_dump
[[ -x $dump ]] || skip "tests/symbolize/lines_dump was not built"
# A program that contains the library: with --disable-shared no other file does.
[[ $(llvm-readelf-19 -SW "$dump") == *.debug_line* ]] || skip "the library was built without -g"
make_work
dump=$(runnable "$dump" "$work")
python3 -B "$top/tests/symbolize/lines_oracle.py" --dump "$dump" --elfutils 3000 --least 10000 \
  "$PWD/tests/symbolize/lines_dump" || fail "lines of our own build differ"
verdict
