# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: gcc with every warning an error, at -O0, -O2 and -Os; at -O2 the tests and benchmarks as well; runs nothing
need_build
for level in -O0 -O2 -Os; do
  configure_in "gcc$level" CC=gcc "CFLAGS=$level -g" --enable-werror --disable-shared
  make_in "gcc$level" all
done
make_in gcc-O2 test-programs benchmarks
