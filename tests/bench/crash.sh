#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the crash kit in a program with 500 libraries, of which 100 are loaded after the kit was installed, and 200
# threads: its installation, beside that of backward-cpp and of Python's faulthandler; how long after the fault the
# crashed thread, and all threads, are in the file, beside the first usp_snapshot_create_self of such a program; memory;
# a caught C++ throw. Medians of rounds in turn. Debian: libbackward-cpp-dev, or USP_BACKWARD names a folder with
# backward.hpp. What a static link adds is in size.sh. Run in the build folder.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools python3 "${CC:-cc}" "${CXX:-c++}"
make_work
library=$PWD/lib/.libs
link=(-I"$top/include" "-L$library" -lunspool "-Wl,-rpath,$library" -pthread -ldl)
mkdir "$work/libraries"
echo 'int value(int x) { return x * 3; }' >"$work/value.c"
"${CC:-cc}" -O2 -shared -fPIC -o "$work/libraries/0.so" "$work/value.c"
for ((i = 1; i < 500; i++)); do cp "$work/libraries/0.so" "$work/libraries/$i.so"; done
# A tail call would leave out frames.
"${CC:-cc}" -O2 -fno-optimize-sibling-calls -o "$work/crash" "$top/tests/bench/crash.c" "${link[@]}"
backward=()
if [[ -e ${USP_BACKWARD:-/usr/include}/backward.hpp ]]; then backward=(-DBENCH_BACKWARD "-I${USP_BACKWARD:-/usr/include}"); fi
"${CXX:-c++}" -O2 "${backward[@]}" -o "$work/crash_cxx" "$top/tests/bench/crash.cc" "${link[@]}"
ulimit -c 0
python3 "$top/tests/bench/crash.py" "$work" "${USP_BENCH_ROUNDS:-9}"
