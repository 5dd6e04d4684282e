# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: two copies of the library in one program: the second is of another version, configured --with-symbol-prefix, installed, used by pkg-config; static and dynamic; classes with GNUstep
need_build binutils git gobjc libgnustep-base-dev pkg-config
configure_in check
make_in check all

# The second copy's version is another one, and so is the size of its state.
tree=$work/tree
mkdir "$tree"
git -C "$top" -c safe.directory="$top" ls-files -z | (cd "$top" && tar -cf - --null -T -) | tar -xf - -C "$tree"
sed -i 's/\[unspool\], \[0\.[0-9]*\./[unspool], [0.99./' "$tree/configure.ac"
sed -i 's/^#define USP_VERSION_MINOR .*/#define USP_VERSION_MINOR 99/' "$tree/include/unspool/base.h"
sed -i 's/^#define USPI_REQUESTS 1024u/#define USPI_REQUESTS 512u/' "$tree/lib/os/linux/capturing.h"
(cd "$tree" && autoreconf -fi) >"$work/autoreconf.log" 2>&1
mkdir "$work/build"
cd "$work/build" || exit
"$tree/configure" --quiet --with-symbol-prefix=second_ --enable-objc --enable-werror --prefix="$work/installed" CFLAGS=-O0
make -s -j"$(nproc)" all
make -s install >"$work/install.log" 2>&1
"$top/tests/source/check-exports.sh"

# A program of the public headers alone, unchanged, by pkg-config.
export PKG_CONFIG_PATH=$work/installed/lib/pkgconfig
for library in unspool unspool-objc; do [[ $(pkg-config --modversion "$library") == 0.99.* ]]; done
read -ra flags < <(pkg-config --cflags --libs unspool)
gcc -std=c99 -Wall -Wextra -Werror "$top/tests/install/consumer.c" -o "$work/consumer" "${flags[@]}"
LD_LIBRARY_PATH=$work/installed/lib "$work/consumer"
if nm -D "$work/consumer" | grep -E '^ +U usp_'; then exit 1; fi
nm -D "$work/consumer" | grep -cE ' U second_usp_' >/dev/null

cd "$top/build/check" || exit
"$top/tests/capture/two_copies.sh" "$work/build"
