#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# native.sh [PROCESSOR | arm64 FOLDER]: makes `./configure && make && make install` as on a Mac, and all programs of
# `make check`, with warnings as errors and no undefined symbols; nothing of it runs. The default is arm64, with the
# stand-in SDK and, in sdk-macos, what programs use besides the library. FOLDER: Apple's own headers (the usr/include of
# a macOS SDK), used before these, if you have them; not in CI. The result is in build/macos-PROCESSOR.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tools/build.sh
. "$top/tools/build.sh"
need_tools clang-19 ld64.lld-19 llvm-nm-19 llvm-otool-19 dsymutil-19 pkg-config
make_work
arch=${1:-arm64}
name=macos-$arch
headers=$top/tests/apple/sdk-macos/usr/include
libraries=$top/tests/apple/sdk-macos/usr/lib
if [[ $# -gt 1 ]]; then
  headers=$(cd "$2" && pwd)
  name+=-headers
  # Without the checked variants of string functions, which the list of symbols lacks.
  export CPPFLAGS=-D_FORTIFY_SOURCE=0
fi
# Configure must not try to run what it has compiled, so it is told to build on the other kind of Mac for this one. That
# leaves out the scripts of make check that run what was built (NATIVE); nothing else may depend on it.
case $arch in
arm64) host=aarch64-apple-darwin20 other=x86_64-apple-darwin20 ;;
x86_64) host=x86_64-apple-darwin20 other=aarch64-apple-darwin20 ;;
*) echo "usage: ${0##*/} [arm64|x86_64|arm64 FOLDER]" >&2 && exit 2 ;;
esac
mac=$top/build/$name-tools
while read -r line; do fail "configure asks whether it is a cross build: $line"; done < <(
  grep -h cross_compiling "$top/configure.ac" "$top"/m4/usp_*.m4 | grep -vE 'AM_CONDITIONAL\(\[NATIVE\]|usp_os = darwin \|\|'
)

# ---- the commands of a Mac, those of /usr/bin by way of xcrun
rm -rf "$mac"
mkdir -p "$mac/bin" "$mac/check"
cat >"$mac/bin/cc" <<END
#!/bin/sh
case " \$* " in
*" -c "* | *" -E "*) ;;
*) set -- "\$@" -L"$libraries" "$libraries/libSystem.programs.tbd" ;;
esac
exec "$top/tests/apple/xcrun" --sdk macosx clang -arch $arch -mmacosx-version-min=11.0 -isystem "$headers" "\$@"
END
chmod +x "$mac/bin/cc"
ln -s cc "$mac/bin/gcc"
ln -s cc "$mac/bin/clang"
for tool in ar lipo nm otool ranlib strip; do
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$top/tests/apple/xcrun" "$tool" >"$mac/bin/$tool"
done
printf '#!/bin/sh\nexec dsymutil-19 "$@"\n' >"$mac/bin/dsymutil"
# Apple's linker is called directly only for its name.
printf '#!/bin/sh\n[ "$*" = -v ] && exec echo "@(#)PROGRAM:ld PROJECT:ld64-609"\nexec ld64.lld-19 -arch %s -platform_version macos 11.0 11.0 "$@"\n' \
  "$arch" >"$mac/bin/ld"
chmod +x "$mac"/bin/*

# ---- Check as Homebrew installs it: this machine's header, and a library of the functions that it declares
check_headers=/usr/include
[[ -f $check_headers/check.h ]] || skip "Check is not installed"
cp "$check_headers/check.h" "$check_headers/check_stdint.h" "$mac/check"
functions=$(grep -oE '\bCK_EXPORT [a-z_]+' "$mac/check/check.h" | sed 's/.* /_/' | sort -u | paste -sd ,)
cat >"$mac/check/libcheck.tbd" <<END
--- !tapi-tbd
tbd-version: 4
targets: [ $arch-macos ]
install-name: '/opt/homebrew/lib/libcheck.0.dylib'
exports:
  - targets: [ $arch-macos ]
    symbols: [ $functions ]
...
END
cat >"$mac/check/check.pc" <<END
Name: check
Description: Check
Version: 0.15.2
Cflags: -I$mac/check
Libs: -L$mac/check -lcheck
END

# ---- configure, make, make install
export PATH=$mac/bin:$PATH PKG_CONFIG_LIBDIR=$mac/check
rm -rf "$work/root"
# Configure would ask the kernel for the maximum length of a command (sysctl kern.argmax: 1 MB on macOS).
# Which programs include a header is read from the files that dependency tracking leaves.
configure_in "$name" --build="$other" --host="$host" --enable-werror --enable-dependency-tracking CFLAGS=-O0 \
  lt_cv_sys_max_cmd_len=786432
make_in "$name" all
make_in "$name" install DESTDIR="$work/root"
# Builds every program, and runs the scripts that examine what was built.
# shellcheck disable=SC2016 # a variable of the Makefile
make_in "$name" check TESTS='$(build_scripts)' VERBOSE=1
built=$top/build/$name

# needs FILE: prints the libraries that an image needs, without their versions.
needs() { llvm-otool-19 -L "$1" | awk '/^\t/ { print $1 }' | sort -u; }
# is_image FILE TYPE: whether it is a Mach-O file of this type (loader.h: 2 is a program, 6 a library).
is_image() { [[ $(llvm-otool-19 -h "$1" 2>/dev/null | awk '$1 == "0xfeedfacf" { print $5 }') == "$2" ]]; }

# ---- what is installed
root=$work/root/usr/local
for pair in unspool:libunspool.0.dylib unspool-objc:libunspool-objc.0.dylib; do
  library=$root/lib/${pair#*:}
  is_image "$library" 6 || fail "${pair#*:}: not installed as a library"
  [[ $(llvm-otool-19 -D "$library" | tail -n 1) == "/usr/local/lib/${pair#*:}" ]] || fail "${pair#*:}: of another name"
  [[ -f $root/lib/pkgconfig/${pair%%:*}.pc ]] || fail "${pair%%:*}.pc is not installed"
done
sed -nE 's/^ *(usp_[a-z0-9_]+);.*/_\1/p' "$top/lib/unspool.map" | sort >"$work/public"
[[ -s $work/public ]] || fail "lib/unspool.map names nothing"
llvm-nm-19 -gUj "$root/lib/libunspool.0.dylib" | sort | diff "$work/public" - || fail "libunspool does not export just what is public"
is_image "$root/bin/unspool" 2 || fail "the command is not installed"
needs "$root/bin/unspool" | diff - <(printf '%s\n' /usr/lib/libSystem.B.dylib /usr/local/lib/libunspool.0.dylib) ||
  fail "the command needs other libraries"
for file in include/unspool/unspool.h include/unspool-objc/unspool-objc.h share/man/man1/unspool.1 share/man/man3/usp_backtrace.3; do
  [[ -f $root/$file ]] || fail "$file is not installed"
done
llvm-nm-19 "$built/tools/demo-demo_view.o" | grep -cF -e '-[ViewController bar]' >/dev/null || fail "the demo is not in Objective-C"

# ---- the programs of make check, in Libtool's folder where they use the shared library
count=0 replaced=0
for program in $(make -s -C "$built" print-check-programs); do
  file=$built/$program
  [[ ! -f $built/${program%/*}/.libs/${program##*/} ]] || file=$built/${program%/*}/.libs/${program##*/}
  is_image "$file" 2 || fail "$program: not a program"
  count=$((count + 1))
  grep -qF tests/support/failing_alloc.h "$built/${program%/*}/.deps/${program##*/}.Po" 2>/dev/null || continue
  # The program defines its own functions, and no others with these names.
  replaced=$((replaced + 1))
  [[ $(llvm-nm-19 -jU "$file" | grep -cxE '_(malloc|calloc|realloc|strdup|free)') -eq 5 ]] || fail "$program: the system's allocations"
done
[[ $count -gt 50 && $replaced -gt 5 ]] || fail "only $count programs, $replaced with allocations that can fail"
echo "$name: $count programs of make check, $replaced with allocations that can fail"
verdict
