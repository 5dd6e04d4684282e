#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests names from GCC's real Objective-C runtime: the methods of a loaded library, with and without its symbols. Runs
# in the folder of the build, where tests/symbolize/objc_loaded was made.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

loaded=$PWD/tests/symbolize/objc_loaded
[[ -x $loaded ]] || skip "tests/symbolize/objc_loaded was not built"
need_tools gcc
[[ $(gcc -print-prog-name=cc1obj) == /* ]] || skip "gcc has no Objective-C (gobjc)"

make_work
gcc -std=gnu11 -O1 -fno-inline -fPIC -shared "$top/tests/symbolize/objc_gcc.m" -o "$work/methods.so" -lobjc
"$loaded" "$work/methods.so" || fail "with symbols"
strip "$work/methods.so"
"$loaded" "$work/methods.so" || fail "without symbols"
verdict
