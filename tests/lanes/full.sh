# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the large tests of make check at their full size, of which it runs samples
need_build clang-19 lld-19 llvm-19 lld-13 python3 gdb dwz elfutils xz-utils zstd shellcheck g++=g++ \
  gcc-i686-linux-gnu gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf
configure_in check
make_in check all
export USP_TEST_SCALE=1
make_in check check VERBOSE=1 "TESTS=$(make -s -C "$top/build/check" print-sampled-tests | tr '\n' ' ')"
