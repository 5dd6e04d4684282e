# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: every instruction: compiled code runs in the emulator, its stack is taken at each step (tests/emulated)
need_build libunicorn-dev clang-19 lld-19 llvm-19 lld-13
configure_in check
make_in check all
make_in check check-emulated VERBOSE=1
