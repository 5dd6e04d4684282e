#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the library's size, built with -Os and stripped: as a whole, and what a static link adds to programs that use
# a part of it. The latter is the difference to a program that uses nothing. Builds in folders of its own with the
# compiler in CC; with gcc once more with link-time optimization.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work
cc=${CC:-cc}
strip=${STRIP:-strip}

flags='-Os -ffunction-sections -fdata-sections'

# bytes FILE: prints the size of code, constants and data, which are loaded (`size` counts no headers and no symbols).
bytes() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }

# build NAME FLAGS SETTING...: builds the library with these flags and configure's settings, in a folder that the functions
# below then work in.
build() {
  mkdir "$work/$1"
  cd "$work/$1"
  flags=$2
  if ! { "$top/configure" --quiet CC="$cc" CFLAGS="$flags" LDFLAGS='-Wl,--gc-sections' "${@:3}" &&
    make -s lib/libunspool.la; } >log 2>&1; then
    cat log >&2
    exit 1
  fi
}

# linked USES: links the program that uses this part, and prints its size.
linked() {
  # shellcheck disable=SC2086 # words on purpose
  $cc $flags -I"$top/include" -DBENCH_USES="$1" -c "$top/tests/bench/size.c" -o "size$1.o"
  # shellcheck disable=SC2086
  ./libtool --quiet --mode=link $cc $flags -static "size$1.o" lib/libunspool.la -Wl,--gc-sections -pthread -o "program$1"
  "$strip" "program$1"
  bytes "program$1"
}

show() { printf '%-70s %7d bytes\n' "$1" "$2"; }

# show_sizes: prints what the parts and the shared library of this folder need.
show_sizes() {
  local none uses size
  none=$(linked 0)
  uses=('linked statically: usp_backtrace' '  + usp_prepare' '  + usp_capture_self, usp_capture_context, usp_capture_thread'
    '  + usp_snapshot_create_self' '  + usp_snapshot_create_process')
  for i in "${!uses[@]}"; do
    size=$(linked $((i + 1)))
    show "${uses[i]}" $((size - none))
  done
  cp lib/.libs/libunspool.so library.so
  "$strip" library.so
  show 'everything: the shared library' "$(bytes library.so)"
  show '  its file' "$(wc -c <library.so)"
  show '  variables: with values in the file (.data)' "$(size -A library.so | awk '$1 == ".data" { print $2 }')"
  show '  variables: zero at the start (.bss)' "$(size -A library.so | awk '$1 == ".bss" { print $2 }')"
  show '  variables: of each thread (.tbss)' "$(size -A library.so | awk '$1 == ".tbss" { print $2 }')"
}

echo "size at -Os, stripped, code and data"
build plain "$flags"
show_sizes
# gcc's wrappers give the archiver the compiler's plugin.
if [[ $($cc --version) == *'Free Software Foundation'* ]]; then
  echo "the same with link-time optimization (-flto)"
  build optimized "$flags -flto=auto" AR=gcc-ar NM=gcc-nm RANLIB=gcc-ranlib
  show_sizes
fi
