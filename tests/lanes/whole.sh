# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: everything of which CI tests a part: every variant in the emulator, every Apple slice (not in CI)
need_build libunicorn-dev clang-19 lld-19 llvm-19 lld-13 python3 gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
  gcc-i686-linux-gnu libc6-dev-i386-cross
configure_in check
make_in check tests/emulated/harness tests/emulated/tail_calls
(cd "$top/build/check" && "$top/tests/emulated/run.sh" --jobs "$jobs")
(cd "$top/build/check" && USP_TEST_SCALE=10 "$top/tests/emulated/tail_calls.sh" --jobs "$jobs")
"$top/tests/apple/slices.sh"
