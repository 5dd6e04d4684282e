# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: clang-19 with every warning an error, and the tests
need_build clang-19
# Of the storm; the lane check takes all captures.
export USP_TEST_CAPTURES=5000
build_and_check clang CC=clang-19 --enable-werror
