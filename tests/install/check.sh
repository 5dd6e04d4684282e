# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Installs build/check under a DESTDIR, uses it as an external program would, and uninstalls it. Sourced by the lane
# distcheck, whose folder is $dist.

stage=$dist/stage
consumer=$top/tests/install/consumer.c
make_in check all
# One job and no output, because libtool warns about every DESTDIR install.
make -C "$top/build/check" --no-print-directory install "DESTDIR=$stage" >"$dist/install.log" 2>&1

# A prefix with a blank is refused by configure, not at the end of make install.
mkdir -p "$dist/blank"
if (cd "$dist/blank" && "$top/configure" --quiet --prefix="$dist/a prefix") >"$dist/blank.log" 2>&1; then
  echo "configure accepts a prefix into which libtool cannot install" >&2
  exit 1
fi
grep -F 'contains blanks' "$dist/blank.log" >/dev/null || {
  cat "$dist/blank.log" >&2
  exit 1
}

export PKG_CONFIG_SYSROOT_DIR=$stage PKG_CONFIG_LIBDIR=$stage/usr/local/lib/pkgconfig
unset PKG_CONFIG_PATH
libraries=$stage/usr/local/lib
read -ra cflags < <(pkg-config --cflags unspool)
read -ra libs < <(pkg-config --libs unspool)
read -ra static_libs < <(pkg-config --static --libs unspool)
[[ $(pkg-config --modversion unspool) == "$(sed -n "s/^PACKAGE_VERSION = //p" "$top/build/check/Makefile")" ]]

warnings=(-Wall -Wextra -Wpedantic -Werror)
gcc -std=c99 "${warnings[@]}" "${cflags[@]}" "$consumer" -o "$stage/shared" "${libs[@]}"
LD_LIBRARY_PATH=$libraries "$stage/shared"
g++ -std=c++11 -x c++ "${warnings[@]}" "${cflags[@]}" "$consumer" -x none -o "$stage/shared++" "${libs[@]}"
LD_LIBRARY_PATH=$libraries "$stage/shared++"
g++ -std=c++17 "${warnings[@]}" "${cflags[@]}" "$top/tests/cxx/interface.cc" "$top/tests/cxx/other.cc" -o "$stage/shared++" \
  "${libs[@]}" -lpthread
LD_LIBRARY_PATH=$libraries "$stage/shared++"
# Only this library is static, because dladdr behaves differently in a static libc.
gcc -std=c99 "${warnings[@]}" "${cflags[@]}" "$consumer" -o "$stage/static" -Wl,-Bstatic "${static_libs[@]}" \
  -Wl,-Bdynamic
if ldd "$stage/static" | grep libunspool; then exit 1; fi
"$stage/static"
rm "$stage"/shared "$stage"/shared++ "$stage"/static

# CMake's example finds the installation where it is now, both forms of the library; versions that do not suit are
# refused.
find_by_cmake() { cmake "-DCMAKE_PREFIX_PATH=$stage/usr/local" "$@" >"$dist/cmake.log" 2>&1; }
for target in unspool static; do
  example=$dist/cmake-$target
  mkdir -p "$example"
  cp "$top"/packaging/cmake/example/* "$example"
  sed -i "s/unspool::unspool/unspool::$target/" "$example/CMakeLists.txt"
  if ! find_by_cmake -S "$example" -B "$example/build" || ! cmake --build "$example/build" >>"$dist/cmake.log" 2>&1; then
    cat "$dist/cmake.log" >&2
    exit 1
  fi
  "$example/build/example" | grep -cw main >/dev/null
done
version=$(pkg-config --modversion unspool)
for wanted in "$version EXACT:1" "${version%.*}:1" "$version.1:" 99.0:; do
  mkdir -p "$dist/cmake-version"
  # shellcheck disable=SC2016 # CMake's variable
  printf 'cmake_minimum_required(VERSION 3.15)\nproject(version C)\nfind_package(unspool %s CONFIG QUIET)\n%s\n' "${wanted%:*}" \
    'file(WRITE "${CMAKE_BINARY_DIR}/found" "${unspool_FOUND}")' >"$dist/cmake-version/CMakeLists.txt"
  find_by_cmake -S "$dist/cmake-version" -B "$dist/cmake-version/build"
  [[ $(sed 's/^0$//' "$dist/cmake-version/build/found") == "${wanted#*:}" ]] || {
    echo "CMake: version ${wanted%:*} of $version: found is \"$(cat "$dist/cmake-version/build/found")\"" >&2
    exit 1
  }
done

# No installed file contains the build folder's path, except what debuggers read.
if grep -rIF -e "$top" "$stage"; then
  echo "a text that is installed names the build folder" >&2
  exit 1
fi
while read -r file; do
  if readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH'; then
    echo "$file has a run path" >&2
    exit 1
  fi
done < <(find "$stage" -type f)

make -C "$top/build/check" --no-print-directory uninstall "DESTDIR=$stage" >"$dist/uninstall.log" 2>&1
left=$(find "$stage" ! -type d -o -name 'unspool*')
[[ -z $left ]] || {
  echo "left by uninstall: $left" >&2
  exit 1
}
echo "installed, used, uninstalled"
