# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: a big-endian host without a backend, cross-compiled and run by qemu-s390x
need_build gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user clang-19 lld-19 llvm-19 lld-13 python3
# Before the settings for the other processor: this machine's own build, whose indexes have to be the same. The lane
# `check` has made it.
configure_in check
make_in check tools/unspool
check_for s390x s390x-linux-gnu
run_tests_by_emulator qemu-s390x -L /usr/s390x-linux-gnu
# This host has no backend, so live captures cannot be tested here: only stacks, cores and files from bytes. No test needs
# the programs' own debug information, which takes a quarter of gcc's time.
configure_in s390x --disable-static --host=s390x-linux-gnu --enable-werror CFLAGS=-O2
make_in s390x all
make_in s390x bytes-check VERBOSE=1 "${check_arguments[@]}"
# Also tests files that linkers write for the supported processors.
make_in s390x tests/symbolize/macho_names tests/symbolize/objc_methods
make_in s390x check-TESTS VERBOSE=1 TESTS="tests/symbolize/macho.sh tests/symbolize/objc.sh"
USP_OTHER_BUILD=$top/build/check make_in s390x check-TESTS VERBOSE=1 TESTS=tests/symbolize/index_hosts.sh
