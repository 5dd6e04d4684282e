#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that each public header compiles alone, as C99 and as C++11, without a warning, with every installed compiler.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror)
compiled=0
# Prints the first of the commands that is installed.
first_of() {
  local command
  for command; do if have "$command"; then echo "$command" && return; fi; done
}

for compiler in "$(first_of gcc)" "$(first_of clang-19 clang)" "$(first_of g++)" "$(first_of clang++-19 clang++)"; do
  [[ -n $compiler ]] || continue
  case $compiler in
  *++*) language=(-x c++ -std=c++11) ;;
  *) language=(-x c -std=c99 -Wstrict-prototypes) ;;
  esac
  for header in "$top"/include/unspool/*.h; do
    name=unspool/$(basename "$header")
    # Included twice, to test the include guard.
    printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$work/alone"
    "$compiler" "${language[@]}" "${warnings[@]}" -fsyntax-only -I"$top/include" "$work/alone" ||
      fail "$name does not compile alone: $compiler ${language[*]}"
    compiled=$((compiled + 1))
  done
done
[[ $compiled -gt 0 ]] || skip "no compiler"
echo "$compiled compilations"
verdict
