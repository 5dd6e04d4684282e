# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the suites over bytes and files under memcheck: nothing that was never written decides anything
need_build valgrind
export CK_TIMEOUT_MULTIPLIER=20
export USP_TEST_UNDER=valgrind
# Scripts and programs that a test starts are not followed: only our own code is looked at.
run_tests_by valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
  --trace-children=no "--suppressions=$top/tests/lanes/valgrind.supp"
configure_in valgrind --disable-static CC=gcc "CFLAGS=-O1 -g"
make_in valgrind all
# Live stacks hold words that were never written, and walks look at them: memcheck has nothing to say there, the lane asan
# has. test_symbolize, test_objc_metadata and test_fakemach repeat themselves for every allocation, every call, every length
# and many a byte of a file, and test_rule_cache has threads race, which takes minutes here, and seconds there.
suites=$(make -s -C "$top/build/valgrind" print-test-programs | grep -vE '/test_(linux_.*|objc_metadata|symbolize|fakemach.*|rule_cache)$' | tr '\n' ' ')
make_in valgrind check-TESTS VERBOSE=1 "TESTS=$suites" "${check_arguments[@]}"
