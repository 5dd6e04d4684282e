# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: ThreadSanitizer (clang-19) over the suites that look up names from many threads while libraries come and go
need_build clang-19 libclang-rt-19-dev llvm-19
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 external_symbolizer_path=/usr/bin/llvm-symbolizer-19"
export CK_TIMEOUT_MULTIPLIER=10
configure_in tsan CC=clang-19 "CFLAGS=-O1 -g -fsanitize=thread"
make_in tsan all
make_in tsan check VERBOSE=1 test_scripts= \
  "test_programs=tests/test_symbolize_cache tests/test_symbolize_loaded"
