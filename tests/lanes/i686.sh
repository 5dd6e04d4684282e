# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 32-bit x86, cross-compiled and run natively
need_build gcc-i686-linux-gnu libc6-dev-i386-cross
check_for i386 i386-linux-gnu
# Of the storm; the lane check takes all captures.
export USP_TEST_CAPTURES=5000
# The cross compiler's own libc, where the system has no i386 one.
build_and_check i686 --host=i686-linux-gnu --enable-werror \
  "LDFLAGS=-Wl,-rpath,/usr/i686-linux-gnu/lib -Wl,--dynamic-linker=/usr/i686-linux-gnu/lib/ld-linux.so.2"
