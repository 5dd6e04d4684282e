# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 32-bit arm, Thumb, hard-float, compiled by clang-19 (whose frame records are Apple's) and run by qemu-arm
need_build clang-19 gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user
check_for armhf arm-linux-gnueabihf
run_tests_by_emulator qemu-arm -cpu max -L /usr/arm-linux-gnueabihf
configure_in armv7 --disable-static --host=arm-linux-gnueabihf --enable-werror "CC=clang-19 --target=arm-linux-gnueabihf -mthumb"
make_in armv7 all
# The lane i686 runs the suites over bytes with 32 bits. Left out are suites that a user-mode emulator handles badly:
# threads that fork, start programs, load libraries while others do, or must be sampled in time.
check_in armv7 check_PROGRAMS= "${check_arguments[@]}" \
  "TESTS=$(lively armv7 | sed -E 's,tests/(monitor|sampler)/[^ ]* ,,g; s,[^ ]*/test_(symbolize_loaded|linux_exec|linux_handlers) ,,g')"
