# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: every Apple slice compiled without a warning against the stand-in SDK, linked where ld64.lld can
need_build clang-19 lld-19 llvm-19
"$top/tests/apple/slices.sh"
