# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: every instruction of compiled code: it runs in the emulator, and its stack is captured at each step (tests/emulated)
need_build libunicorn-dev clang-19 lld-19 llvm-19 lld-13 python3 gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
  gcc-i686-linux-gnu libc6-dev-i386-cross
# Test a part of the variants; the lane whole tests all.
export USP_TEST_PART=1
configure_in check
make_in check tests/emulated/harness tests/emulated/tail_calls
(cd "$top/build/check" && "$top/tests/emulated/run.sh" --jobs "$jobs" && "$top/tests/emulated/tail_calls.sh" --jobs "$jobs")
