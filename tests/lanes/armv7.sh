# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 32-bit arm, Thumb, hard-float, compiled by clang-19 (whose frame records are Apple's) and run by qemu-arm
need_build clang-19 gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user
run_tests_by_emulator qemu-arm -cpu max -L /usr/arm-linux-gnueabihf
build_armv7
# The lane i686 runs the suites over bytes with 32 bits. Left out are suites that a user-mode emulator handles badly:
# threads that fork, start programs, load libraries while others do, send each other signals all the time, or must be
# sampled in time.
check_in armv7 check_PROGRAMS= "${check_arguments[@]}" \
  "TESTS=$(lively armv7 | sed -E 's,tests/(monitor|sampler)/[^ ]* ,,g; s,[^ ]*/test_(symbolize_loaded|linux_contention|linux_exec|linux_handlers) ,,g')"
