#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the library's size, built with -Os and stripped: as a whole, and what a static link adds to programs that use
# a part of it. The latter is the difference to a program that uses nothing. Builds in a folder of its own with the
# compiler in CC.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work
cc=${CC:-cc}
strip=${STRIP:-strip}

mkdir "$work/build"
cd "$work/build"
flags='-Os -ffunction-sections -fdata-sections'
if ! { "$top/configure" --quiet CC="$cc" CFLAGS="$flags" LDFLAGS='-Wl,--gc-sections' &&
  make -s lib/libunspool.la; } >"$work/log" 2>&1; then
  cat "$work/log" >&2
  exit 1
fi

# bytes FILE: prints the size of code, constants and data, which are loaded (`size` counts no headers and no symbols).
bytes() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }

# linked USES: links the program that uses this part, and prints its size.
linked() {
  # shellcheck disable=SC2086 # words on purpose
  $cc $flags -I"$top/include" -DBENCH_USES="$1" -c "$top/tests/bench/size.c" -o "$work/size$1.o"
  ./libtool --quiet --mode=link "$cc" -static "$work/size$1.o" lib/libunspool.la -Wl,--gc-sections -pthread \
    -o "$work/program$1"
  "$strip" "$work/program$1"
  bytes "$work/program$1"
}

show() { printf '%-70s %7d bytes\n' "$1" "$2"; }

echo "size at -Os, stripped, code and data"
none=$(linked 0)
fast=$(linked 1)
prepared=$(linked 2)
typed=$(linked 3)
all=$(linked 4)
show 'linked statically: usp_backtrace' $((fast - none))
show '  + usp_prepare' $((prepared - none))
show '  + usp_capture_self, usp_capture_context, usp_capture_thread' $((typed - none))
show '  + usp_snapshot_create_self, usp_snapshot_create_process' $((all - none))
cp lib/.libs/libunspool.so "$work/library.so"
"$strip" "$work/library.so"
show 'everything: the shared library' "$(bytes "$work/library.so")"
show '  its file' "$(wc -c <"$work/library.so")"
show '  variables: with values in the file (.data)' "$(size -A "$work/library.so" | awk '$1 == ".data" { print $2 }')"
show '  variables: zero at the start (.bss)' "$(size -A "$work/library.so" | awk '$1 == ".bss" { print $2 }')"
show '  variables: of each thread (.tbss)' "$(size -A "$work/library.so" | awk '$1 == ".tbss" { print $2 }')"
