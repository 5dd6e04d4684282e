# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: arm64, plain and with signed return addresses, cross-compiled and run by qemu-aarch64 -cpu max
need_build gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
check_for arm64 aarch64-linux-gnu
run_tests_by_emulator qemu-aarch64 -cpu max,pauth-impdef=on -L /usr/aarch64-linux-gnu
build_and_check aarch64 --host=aarch64-linux-gnu --enable-werror
# Stacks given as bytes are the same whatever signs this build's own.
configure_in aarch64-pac --host=aarch64-linux-gnu "CFLAGS=-O2 -g -mbranch-protection=pac-ret"
make_in aarch64-pac all
make_in aarch64-pac test-programs
make_in aarch64-pac live-check VERBOSE=1 "${check_arguments[@]}"
