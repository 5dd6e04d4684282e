#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles a program with include/unspool/unspool.hpp, by each installed C++ compiler, as C++17 and C++20, without a
# warning, and runs it. Runs in the folder of the build. Debian's clang by its versioned name, because a toolchain of Swift may be earlier in PATH.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
libraries=("$PWD/lib/.libs/libunspool-core.a" "$PWD/arch/.libs/libunspool-arch.a")
[[ -f ${libraries[0]} ]] || skip "lib/libunspool-core.la was not built"
[[ -z ${USP_TEST_UNDER-} ]] || skip "the build is for another processor"
make_work
read -ra needed < <(sed -n 's/^LIBS = //p' Makefile)
compiled=()
for compiler in g++ clang++-19 clang++-14; do
  have "$compiler" || continue
  flags=(-Wall -Wextra -Werror -pedantic -Wshadow -Wconversion -Wold-style-cast -g "-I$top/include")
  "$compiler" -std=c++20 -fsyntax-only "${flags[@]}" "$top/tests/cxx/interface.cc" >"$work/said" 2>&1 ||
    fail "$compiler does not compile it as C++20: $(cat "$work/said")"
  if "$compiler" -std=c++17 "${flags[@]}" -o "$work/interface" "$top/tests/cxx/interface.cc" "$top/tests/cxx/other.cc" "${libraries[@]}" \
    "${needed[@]}" -lpthread >"$work/said" 2>&1; then
    timeout 300 "$work/interface" >"$work/said" 2>&1 || fail "$compiler: $(cat "$work/said")"
  else
    fail "$compiler does not compile it: $(cat "$work/said")"
  fi
  compiled+=("$compiler")
done
[[ ${#compiled[@]} -gt 0 ]] || skip "no C++ compiler"
echo "compiled by ${compiled[*]}"
verdict
