# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: tools/build-apple with a stand-in for Xcode: every Apple slice compiled without a warning, linked, joined and inspected
need_build clang-19 lld-19 lld-13 llvm-19 python3
# Slices that differ from others only in their system run in the lane whole. The lane swift compiles for all systems.
export USP_TEST_PART=1
"$top/tests/apple/slices.sh"
