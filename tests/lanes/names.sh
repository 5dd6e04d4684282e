# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: names and unwind tables of files that LLVM's and GCC's tools build and strip, compared with these tools' output; logs of real programs; completion in both shells
need_build clang-19 lld-19 llvm-19 lld-13 binutils gobjc g++=g++ python3 gdb elfutils debuginfod dwz xz-utils zstd gcc-aarch64-linux-gnu \
  gcc-i686-linux-gnu gcc-arm-linux-gnueabihf libc6-dev-armhf-cross python3-jsonschema strace zsh \
  linux-perf=perf golang-go=go openjdk-17-jdk-headless=javac
configure_in check
make_in check all
make_in check test-programs
# The lanes go and s390x run go.sh and index_hosts.sh.
mapfile -t scripts < <(cd "$top" &&
  printf '%s\n' tests/symbolize/*.sh tests/unwind/*.sh tests/tool/{log,store,debuginfod,report,records}*.sh tests/tool/completion.sh tests/report/formats.sh | grep -vE '/(go|index_hosts)\.sh$')
check_rest check "${scripts[@]}"
