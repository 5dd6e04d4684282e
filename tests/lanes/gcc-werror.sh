# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: gcc with every warning an error, at -O0 and -O2; at -O2 the tests and benchmarks as well; runs nothing
need_build
configure_in gcc CC=gcc --enable-werror --disable-shared
for level in -O0 -O2; do
  make_in gcc clean >/dev/null
  # Xcode's Debug builds define it: no name of ours may be the same.
  make_in gcc all "CFLAGS=$level -g" CPPFLAGS=-DDEBUG=1
done
make_in gcc test-programs benchmarks "CFLAGS=-O2 -g"
