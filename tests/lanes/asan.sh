# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: AddressSanitizer and UndefinedBehaviorSanitizer (clang-19), leaks included
need_build clang-19 libclang-rt-19-dev llvm-19 lld-19 gcc-i686-linux-gnu libc6-dev-i386-cross gcc-aarch64-linux-gnu \
  libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user
# Test processes and cores of all other processors here.
export USP_REQUIRE_COMPILERS=1
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19
export UBSAN_OPTIONS=print_stacktrace=1
# Keep variables on the stack, because tests search for them there.
export ASAN_OPTIONS=detect_stack_use_after_return=0
export CK_TIMEOUT_MULTIPLIER=5
# Test a part of many similar inputs; the lane check tests all.
export USP_TEST_PART=1
# The samplers run here, although they wait for long: threads that are stopped and captured at any moment, and failures
# of each call and allocation, are where memory errors would be. The storm without frame records differs from the other
# storm in the walk alone, and takes three minutes here.
# shellcheck disable=SC2034 # for build_and_check
left_out='/test_linux_(exec|no_trace|shared_signal|storm_bare)$'
# Uses the sanitizer's shared run-time library, so that its code does not count as the program's own. The storm test and
# the roots of threads recognize foreign code only in this way.
build_and_check asan CC=clang-19 "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" \
  "LDFLAGS=-shared-libasan -Wl,-rpath,$(dirname "$(clang-19 -print-file-name=libclang_rt.asan-x86_64.so)")"
