# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: arm64, cross-compiled and run by qemu-aarch64 -cpu max; code that signs return addresses runs in the lane kernel-arm64
need_build gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
check_for arm64 aarch64-linux-gnu
run_tests_by_emulator qemu-aarch64 -cpu max,pauth-impdef=on -L /usr/aarch64-linux-gnu
configure_in aarch64 --disable-static --host=aarch64-linux-gnu --enable-werror
make_in aarch64 all
# Tests that depend on the kernel run on a real one, in the lane kernel-arm64.
make_in aarch64 bytes-check VERBOSE=1 "${check_arguments[@]}"
