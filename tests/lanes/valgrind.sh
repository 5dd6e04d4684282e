# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the suites over bytes and files under memcheck: no decision depends on uninitialized memory
need_build valgrind
export CK_TIMEOUT_MULTIPLIER=20
export USP_TEST_UNDER=valgrind
# Scripts and programs that a test starts are not traced, because only the library's code is of interest.
run_tests_by valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
  --trace-children=no "--suppressions=$top/tests/lanes/valgrind.supp"
configure_in valgrind --disable-static CC=gcc "CFLAGS=-O1 -g"
make_in valgrind all
# Live stacks contain uninitialized words, which walks read, so memcheck cannot check them; the lane asan runs these
# suites. test_symbolize, test_objc_metadata and test_fakemach repeat for every allocation, call, length and many bytes
# of a file, and in test_rule_cache threads race. These take minutes here, and seconds in the lane asan.
suites=$(make -s -C "$top/build/valgrind" print-test-programs | grep -vE '/test_(linux_.*|objc_metadata|symbolize|fakemach.*|rule_cache)$' | tr '\n' ' ')
make_in valgrind check-TESTS VERBOSE=1 "TESTS=$suites" "${check_arguments[@]}"
