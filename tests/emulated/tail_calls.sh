#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles programs with tail calls for several processors, by clang and GCC, and runs them in the emulator, which logs
# each jump from one function to another. Each function that usp_symbolize_stack infers must be in the log. Counts the
# pairs of frames with tail calls between them, and the pairs of which all tail calls were inferred.
#
#     tests/emulated/tail_calls.sh --help
#     USP_TEST_SCALE=10 tests/emulated/tail_calls.sh     more programs and levels
exec python3 -B "$(dirname "$0")/tail_calls.py" "$@"
