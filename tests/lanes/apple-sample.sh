# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: a part of the lane apple-emulated: two of the linked Apple slices, one of them with 32 bits, run in the emulator
need_build libunicorn-dev clang-19 lld-19 llvm-19 lld-13
configure_in check
make_in check tests/apple/emulated/scenario
(cd "$top/build/check" && USP_JOBS=$jobs "$top/tests/apple/emulated/run.sh" arm64 armv7)
