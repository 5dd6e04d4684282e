#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles programs with tail calls for several processors, by clang and GCC, and runs them in the emulator, whose log says which
# functions have jumped to which. Each function that usp_symbolize_stack infers must be in the log. Prints how many of the pairs of
# frames between which there were tail calls have all of them inferred.
#
#     tests/emulated/tail_calls.sh --help
#     USP_TEST_SCALE=10 tests/emulated/tail_calls.sh     more programs and levels
exec python3 -B "$(dirname "$0")/tail_calls.py" "$@"
