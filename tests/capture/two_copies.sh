#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two copies of the library in one program, static and dynamic, capture the same threads and each other's at once
# (two_copies.c). The second copy is the first one's archive with other names, made by the recipe of doc/embedding.md
# for prebuilt archives. Or FOLDER is a built second copy, configured --with-symbol-prefix=second_ (lane embedding).
#
#   usage: tests/capture/two_copies.sh [FOLDER]
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
archives=("$PWD/lib/.libs/libunspool-core.a" "$PWD/arch/.libs/libunspool-arch.a")
[[ -f ${archives[0]} ]] || skip "lib/libunspool-core.la was not built"
need_tools objcopy nm
make_work
read -ra compiler <<<"${CC:-cc}"
flags=(-std=gnu11 -O1 -g -fno-omit-frame-pointer -Wall -Wextra -I"$top" -I"$top/include")

# ---- the second copy: both forms, and its names
if [[ $# -gt 0 ]]; then
  second=("$1/lib/.libs/libunspool-core.a" "$1/arch/.libs/libunspool-arch.a")
  cp "$1/lib/prefix/unspool_prefix.h" "$work/second.h"
else
  nm -g --defined-only "${archives[@]}" 2>/dev/null |
    awk '$3 ~ /^uspi?_/ { print $3, "second_" $3 }' | sort -u >"$work/names"
  second=("$work/core.a" "$work/arch.a")
  for i in 0 1; do objcopy --redefine-syms="$work/names" "${archives[i]}" "${second[i]}"; done
  sh "$top/tools/symbol-prefix" second_ "$top"/include/unspool/*.h >"$work/second.h"
fi
nm -g --defined-only "${second[@]}" 2>/dev/null | awk 'NF == 3 && $3 !~ /^second_|^__/ { print $3 }' >"$work/unnamed"
[[ ! -s $work/unnamed ]] || fail "the second copy has other names: $(head -n 5 "$work/unnamed")"

# ---- programs
"${compiler[@]}" "${flags[@]}" -DCOPY=first_copy -c "$top/tests/capture/copy_user.c" -o "$work/first.o"
"${compiler[@]}" "${flags[@]}" -DCOPY=second_copy -include "$work/second.h" -c "$top/tests/capture/copy_user.c" \
  -o "$work/second.o"
# link NAME WORD...: links the program with these copies.
link() {
  local name=$1
  shift
  "${compiler[@]}" "${flags[@]}" "$top/tests/capture/two_copies.c" "$work/first.o" "$work/second.o" "$@" -lpthread -ldl \
    -o "$work/$name"
}
link static "${archives[@]}" "${second[@]}"
# Each library exports its own public names, as the installed one does.
printf '{ global: usp_*; local: *; };\n' >"$work/first.map"
printf '{ global: second_usp_*; local: *; };\n' >"$work/second.map"
"${compiler[@]}" -shared -Wl,--version-script="$work/first.map" -Wl,-soname,libfirst.so -o "$work/libfirst.so" \
  -Wl,--whole-archive "${archives[@]}" -Wl,--no-whole-archive -lpthread -ldl
"${compiler[@]}" -shared -Wl,--version-script="$work/second.map" -Wl,-soname,libsecond.so -o "$work/libsecond.so" \
  -Wl,--whole-archive "${second[@]}" -Wl,--no-whole-archive -lpthread -ldl
link dynamic -L"$work" -lfirst -lsecond -Wl,-rpath,"$work"
link mixed -L"$work" -lfirst -Wl,-rpath,"$work" "${second[@]}"

for name in static dynamic mixed; do
  mkdir "$work/$name.store"
  "$started_in/tools/unspool" index -o "$work/$name.store" "$work/$name" >"$work/out" || fail "index: $(cat "$work/out")"
  "$work/$name" "$work/$name.store" >"$work/out" 2>&1 || fail "$name: $(head -n 20 "$work/out")"
  echo "$name: $(tail -n 1 "$work/out")"
done
verdict
