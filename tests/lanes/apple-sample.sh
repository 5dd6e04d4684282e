# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: parts of the lanes apple and apple-emulated: one Apple slice for each processor; two slices, one of them with 32 bits, run in the emulator
need_build libunicorn-dev clang-19 lld-19 llvm-19 lld-13 python3
"$top/tests/apple/slices.sh" --processors
configure_in check
make_in check tests/apple/emulated/scenario
(cd "$top/build/check" && USP_JOBS=$jobs "$top/tests/apple/emulated/run.sh" arm64 armv7)
