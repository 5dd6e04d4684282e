# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: musl: the library, the command and their tests, and programs linked dynamically and statically
need_build musl-tools=musl-gcc musl-dev linux-libc-dev
musl=$cache/musl

# Compiles the library Check from Debian's source package, against musl. apt-get uses lists of its own, because the
# machine's have no source packages.
fetch_check() {
  local state=$musl/apt
  rm -rf "$musl"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$musl/source"
  # shellcheck source=/dev/null
  echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" >"$state/sources.list"
  local options=(-q -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o Debug::NoLocking=true -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$musl/source" && apt-get "${options[@]}" source --download-only check && tar -xf check_*.orig.tar.* --strip-components=1)
  rm -rf "$state"
}
build_check() {
  (cd "$musl/source" && autoreconf -fi &&
    ./configure CC=musl-gcc --prefix="$musl" --disable-shared --disable-subunit --disable-build-docs &&
    make -j"$jobs" SUBDIRS='lib src .' && make install SUBDIRS='lib src .')
}
if [[ ! -e $musl/done ]]; then
  echo 'building Check for musl'
  patiently "$cache/musl.log" fetch_check
  build_check >"$cache/musl.log" 2>&1 || {
    tail -n 20 "$cache/musl.log" >&2
    exit 1
  }
  : >"$musl/done"
fi

# The tests use declarations of the kernel that libc does not have. musl-gcc searches none of glibc's folders.
mkdir -p "$musl/kernel"
ln -sfn /usr/include/linux "$musl/kernel/linux"
ln -sfn /usr/include/asm-generic "$musl/kernel/asm-generic"
ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$musl/kernel/asm"

export PKG_CONFIG_LIBDIR=$musl/lib/pkgconfig
# Test a part of many similar inputs; the lane check tests all.
export USP_TEST_PART=1
configure_in musl --disable-static --enable-werror --without-lzma --without-zlib --without-deflate --without-zstd \
  CC=musl-gcc LDFLAGS=-Wl,--build-id
# The library and the command are compiled without the kernel's headers.
make_in musl all
# Which system calls a signal interrupts depends on libc too: the table of test_linux_blocking_calls is glibc's. The suites
# over bytes are not built.
check_in musl "CPPFLAGS=-idirafter $musl/kernel" 'check_PROGRAMS=tests/tool/stuck tests/tool/captures_itself' \
  "TESTS=$(lively musl | sed 's/[^ ]*blocking_calls //') tests/images/linked.sh tests/tool/process.sh tests/tool/raw.sh tests/tool/core.sh \
  tests/tool/musl.sh"
