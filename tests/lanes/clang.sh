# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: clang-19 with every warning an error, and the tests; the C++ header with g++ and clang++-19
need_build clang-19 g++=g++
# Test a part of many similar inputs; the lane check tests all.
export USP_TEST_PART=1
# Left out beside the patient suites: three that wait for most of their time, and that the lanes i686 and asan run.
# shellcheck disable=SC2034 # for build_and_check
left_out="$patient|/test_linux_(contention|faults|monitor)\$"
build_and_check clang CC=clang-19 --enable-werror
check_rest clang tests/cxx/interface.sh
grep -qx 'compiled by g++ clang++-19.*' build/clang/tests/cxx/interface.log
