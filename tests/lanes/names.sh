# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: names and unwind tables of files that LLVM's and GCC's tools build and strip, compared with these tools' output; logs of real programs; completion in both shells
need_build clang-19 lld-19 llvm-19 lld-13 binutils gobjc g++=g++ python3 gdb elfutils debuginfod dwz xz-utils zstd gcc-aarch64-linux-gnu \
  gcc-i686-linux-gnu gcc-arm-linux-gnueabihf libc6-dev-armhf-cross python3-jsonschema strace zsh \
  linux-perf=perf golang-go=go openjdk-17-jdk-headless=javac
configure_in check
make_in check all
make_in check test-programs
# The lanes go, s390x and profiles run go.sh, index_hosts.sh and report_page.sh.
mapfile -t scripts < <(cd "$top" &&
  printf '%s\n' tests/symbolize/*.sh tests/unwind/*.sh tests/tool/{log,store,debuginfod,report,records}*.sh tests/tool/completion.sh tests/report/formats.sh | grep -vE '/(go|index_hosts|report_page)\.sh$')
check_rest check "${scripts[@]}"
# C++ names by LLVM's libc++abi, which make check uses only where it is installed. It is unpacked beside the build instead
# of installed, so that other lanes test libstdc++'s names.
abi=$top/build/libc++abi
# fetch_abi: unpacks the packages.
fetch_abi() {
  # shellcheck disable=SC2046 # words on purpose
  $(as_root) apt-get -q update
  (cd "$abi" && apt-get -q download libc++abi1-19 libunwind-19) || return 1
  for package in "$abi"/*.deb; do dpkg -x "$package" "$abi" || return 1; done
}
mkdir -p "$abi"
patiently "$top/build/libc++abi.log" fetch_abi
folder=$(dirname "$(find "$abi/usr/lib" -path '*-linux-gnu/libc++abi.so.1')")
(cd "$top/build/check" && LD_LIBRARY_PATH=$folder "$top/tests/demangle/demangle.sh") | tee "$top/build/libc++abi.log"
grep -c '^C++ by libc++abi: ' "$top/build/libc++abi.log" >/dev/null
