# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the linked Apple slices run in the emulator; the test plays the system around them (tests/apple/emulated)
need_build libunicorn-dev clang-19 lld-19 llvm-19 lld-13
configure_in check
make_in check tests/apple/emulated/scenario
(cd "$top/build/check" && USP_JOBS=$jobs "$top/tests/apple/emulated/run.sh")
