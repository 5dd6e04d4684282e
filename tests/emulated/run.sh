#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles programs for every processor, runs them in the emulator and, before each instruction, compares the stack that
# usp_unwind finds with the true one, and the rule of compact unwind or EHABI with the true frame. Prints a table and
# the differences, instruction by instruction. Fails below 100 per cent exact on arm64, arm64_32 and with unwind tables,
# below 97 on i386 without tables, below 99.9 on the others, and if a table is wrong.
#
#     tests/emulated/run.sh --help
#     tests/emulated/run.sh --workload FILE.c     with another program (entry: unsigned usp_workload(unsigned rounds))
#     USP_TEST_SCALE=10 tests/emulated/run.sh     every optimisation level, ten times as many stacks
exec python3 -B "$(dirname "$0")/run.py" "$@"
