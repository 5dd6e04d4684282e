#!/bin/sh
# SPDX-License-Identifier: MIT
# Steps Debian's programs for x86_64, i386, arm64 and armhf instruction by instruction. Compares the stacks that the
# library finds with the true ones, with unwind tables and without. Prints a table and the errors, and fails if too
# little is right. With --sample it steps some programs, briefly and always in the same places; each has a floor
# (seeds.py). Runs in the folder of the build; tests/lanes/real.sh lists what it needs.
#
#    tests/real/run.sh --roots FOLDER --processor arm64 --only 'python*' --steps 1000000 --runs 20
exec python3 -B "$(dirname "$0")/run.py" "$@"
