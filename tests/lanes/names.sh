# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: names out of files that LLVM's and GCC's tools build and strip, compared with what these say (tests/names)
need_build clang-19 lld-19 llvm-19 lld-13 binutils gobjc python3
configure_in names
make_in names all
make_in names check VERBOSE=1 TESTS="$(cd "$top" && echo tests/names/*.sh)"
