# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 32-bit x86, cross-compiled and run natively
need_build gcc-i686-linux-gnu libc6-dev-i386-cross
check_for i386 i386-linux-gnu
# Test a part of many similar inputs; the lane check tests all.
export USP_TEST_PART=1
# shellcheck disable=SC2034 # for build_and_check
left_out='/test_linux_(no_trace|process_sampler|sampler)$'
# Uses the cross compiler's own libc, because the system may have no i386 one. The old form of a run path also applies
# to libraries that libc itself loads: libgcc_s, when a thread is cancelled.
build_and_check i686 --host=i686-linux-gnu --enable-werror \
  "LDFLAGS=-Wl,--disable-new-dtags,-rpath,/usr/i686-linux-gnu/lib -Wl,--dynamic-linker=/usr/i686-linux-gnu/lib/ld-linux.so.2"
