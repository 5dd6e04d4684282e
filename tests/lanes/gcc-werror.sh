# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: gcc with every warning an error, at -O2, with the tests and benchmarks; runs nothing (at -O0 the lane none compiles)
need_build
configure_in gcc CC=gcc --enable-werror --disable-shared
# Xcode's Debug builds define it: no name of ours may be the same.
make_in gcc all "CFLAGS=-O2 -g" CPPFLAGS=-DDEBUG=1
make_in gcc test-programs benchmarks "CFLAGS=-O2 -g"
