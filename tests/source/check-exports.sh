#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that the public headers, lib/unspool.map and the built library agree. A function that a header declares is
# exported under the version in the map, no other function is, and the static library's names have our prefixes. The
# shared library calls its own functions directly, so that a program's function of the same name is not called instead.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
read -ra nm <<<"${NM:-nm}"
map=$top/lib/unspool.map
make_work
# The library's names begin with the prefix of --with-symbol-prefix, if this build has one.
prefix=$(sed -n 's/^SYMBOL_PREFIX = *//p' Makefile 2>/dev/null || :)
library=libunspool${prefix:+-$prefix}

public_functions >"$work/declared"
[[ -s $work/declared ]] || fail "no function found in include/unspool"

# A declaration without USP_API would be hidden. Inline functions need none.
cat "$top"/include/unspool/*.h | strip_comments | grep -vE '^ *#' | tr '\n' ' ' | sed 's/[;{}]/\n/g' |
  grep -vE 'USP_API|static inline|\(\*|=|return' | grep -oE '\busp_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u >"$work/bare" || :
while read -r name; do fail "$name is declared without USP_API"; done < <(comm -13 "$work/declared" "$work/bare")

# Writes "name@VERSION" for each line of the map.
awk '/^UNSPOOL_[0-9.]+ *\{/ { node = $1; next }
     /^ *usp_[a-z0-9_]+;/ { name = $1; sub(/;.*/, "", name); print name "@" node }' "$map" | sort >"$work/mapped"
cut -d@ -f1 "$work/mapped" >"$work/mapped-names"
while read -r name; do fail "$name is in lib/unspool.map twice"; done < <(uniq -d "$work/mapped-names")
while read -r name; do fail "$name is declared but not in lib/unspool.map"; done \
  < <(comm -23 "$work/declared" "$work/mapped-names")
while read -r name; do fail "$name is in lib/unspool.map but not declared"; done \
  < <(comm -13 "$work/declared" "$work/mapped-names")
if grep -nE '^ *(usp_[a-z0-9_]*\*|\*;)' "$map" | grep -v 'local' | grep -vE '^[0-9]+: *\*;' >"$work/wild"; then
  fail "a pattern in lib/unspool.map: $(cat "$work/wild")"
fi

built=0
if [[ -e lib/.libs/libunspool.so ]]; then
  built=1
  readelf -d lib/.libs/libunspool.so 2>/dev/null | grep -cF "[$library.so." >/dev/null ||
    fail "the loader does not know the shared library as $library.so"
  # nm prints a version after @ or @@; the version nodes themselves are absolute symbols.
  "${nm[@]}" -D --defined-only lib/.libs/libunspool.so | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' |
    sort >"$work/exported"
  sed "s/^/$prefix/" "$work/mapped" | sort >"$work/mapped-here"
  while read -r name; do fail "$name is in lib/unspool.map but not exported so"; done \
    < <(comm -23 "$work/mapped-here" "$work/exported")
  while read -r name; do fail "$name is exported but not in lib/unspool.map so"; done \
    < <(comm -13 "$work/mapped-here" "$work/exported")
  # The loader resolves relocations that name a function, and may find the program's function.
  readelf -rW lib/.libs/libunspool.so 2>/dev/null | grep -oE "\b${prefix}usp_[a-z0-9_]+" | sort -u \
    >"$work/bound-late" || :
  while read -r name; do fail "the shared library finds its own $name by the loader"; done <"$work/bound-late"
fi
if [[ -e lib/.libs/libunspool.a ]]; then
  built=1
  "${nm[@]}" -g --defined-only lib/.libs/libunspool.a 2>/dev/null | awk 'NF == 3 { print $3 }' |
    grep -vE "^_*$prefix(usp|uspi)_|^__(x86\.get_pc_thunk|asan|odr_asan|ubsan|sanitizer)" >"$work/foreign" || :
  while read -r name; do fail "$name in the static library has none of our prefixes"; done <"$work/foreign"
fi
# The Objective-C library exports its classes and its error domain, and no internal name.
if [[ -e lib/.libs/libunspool-objc.so ]]; then
  "${nm[@]}" -D --defined-only lib/.libs/libunspool-objc.so | awk '{ print $3 }' | sort >"$work/layer"
  {
    echo "${prefix}USPErrorDomain"
    for class in Frame Hang HangMonitor InlinedCall SourceLocation Stack Thread; do
      echo "__objc_class_name_${prefix}USP$class"
    done
  } | sort >"$work/layer-wanted"
  diff "$work/layer-wanted" "$work/layer" || fail "lib/libunspool-objc.so exports (>) something else"
fi
[[ $built -eq 1 ]] || skip "no library in $PWD/lib"
verdict
