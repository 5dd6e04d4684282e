# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 32-bit arm, Thumb, hard-float, compiled by clang-19 (whose frame records are Apple's) and run by qemu-arm
need_build clang-19 gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user
check_for armhf arm-linux-gnueabihf
run_tests_by_emulator qemu-arm -cpu max -L /usr/arm-linux-gnueabihf
build_and_check armv7 --host=arm-linux-gnueabihf --enable-werror "CC=clang-19 --target=arm-linux-gnueabihf -mthumb"
