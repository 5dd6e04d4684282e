# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the native build as on a Mac, including make check's programs, with stand-ins for Xcode and its SDK: compiled, linked, installed
need_build clang-19 lld-19 llvm-19
"$top/tests/apple/native.sh"
