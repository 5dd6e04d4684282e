# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the unit tests under memcheck
need_build valgrind
export CK_TIMEOUT_MULTIPLIER=20
export USP_TEST_UNDER=valgrind
# Scripts and programs that a test starts are not followed: only our own code is looked at.
run_tests_by valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
  --trace-children=no "--suppressions=$top/tests/lanes/valgrind.supp"
build_and_check valgrind CC=gcc "CFLAGS=-O1 -g"
