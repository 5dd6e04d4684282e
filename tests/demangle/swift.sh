#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares demangling of Swift's names with Swift's own demangler, in the two styles that both have: the names of
# tests/demangle/swift_names.txt, those that the toolchain's compiler makes of tests/demangle/swift, those of all the
# toolchain's libraries and programs, and everything that looks like a name in the files that USP_SWIFT_NAMES lists
# (Swift's published lists of test names, symbol tables of other programs). Skipped where no toolchain is installed. The
# lane swift runs it, in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
if ! find_swift; then
  echo "skipped: $no_swift"
  exit 77
fi
make_work
oracle=$swift_folder/swift-demangle
version=$("$swift_folder/swift-frontend" -version 2>&1 | sed -n '1s/ (.*//p')
read -ra lists <<<"${USP_SWIFT_NAMES-}"

# theirs ARGUMENT…: demangles the names on standard input by Swift's demangler, which takes each argument as one name.
theirs() { xargs -d '\n' -s 1000000 "$oracle" --compact "$@"; }

# compare WHAT: compares every name in $work/names in both styles, but for those of Swift 3 that are not the Objective-C
# runtime's. The short style must demangle each name that the others demangle.
compare() {
  local count style flag
  sed -i -E '/^_T([^0t]|t([^CGP]|G[^C]))/d' "$work/names"
  count=$(wc -l <"$work/names")
  [[ $count -gt 0 ]] || fail "$1: no names"
  for style in full simple; do
    flag=()
    [[ $style == full ]] || flag=(--simplified)
    theirs "${flag[@]}" <"$work/names" >"$work/theirs" || fail "$1: swift-demangle failed"
    tests/demangle/demangle_lines "$style" <"$work/names" >"$work/ours"
    paste -d '\n' "$work/names" "$work/theirs" "$work/ours" >"$work/both"
    awk 'NR % 3 == 1 { name = $0 } NR % 3 == 2 { theirs = $0 }
      NR % 3 == 0 && $0 != theirs { print name "\n  swift-demangle: " theirs "\n  unspool:        " $0 }' "$work/both" >"$work/bad"
    [[ ! -s $work/bad ]] || fail "$1, $style: $(($(wc -l <"$work/bad") / 3)) of $count differ: $(head -n 9 "$work/bad")"
  done
  tests/demangle/demangle_lines short <"$work/names" >"$work/short"
  paste -d '\n' "$work/names" "$work/ours" "$work/short" >"$work/both"
  awk 'NR % 3 == 1 { name = $0 } NR % 3 == 2 { simple = $0 }
    NR % 3 == 0 && (($0 == name) != (simple == name) || $0 == "") { print name }' "$work/both" >"$work/bad"
  [[ ! -s $work/bad ]] || fail "$1, short: $(wc -l <"$work/bad") of $count differ: $(head -n 3 "$work/bad")"
  echo "$1: $count names as $version has them, $(paste -d '\n' "$work/names" "$work/ours" | awk 'NR % 2 { name = $0; next }
    $0 == name' | wc -l) of them mangled"
}

grep -vE '^( |#)' "$top/tests/demangle/swift_names.txt" >"$work/names"
compare "known names"

# compile SOURCE ARGUMENT…: compiles a file to the compiler's two intermediate languages, which contain more names than
# a symbol table.
compile() {
  local source=$1 module language level
  shift
  module=$(basename "$source" .swift)
  for level in -Onone -O; do
    for language in sil ir; do
      "$swift_folder/swiftc" -suppress-warnings -parse-as-library -module-name "${module}_" -g "$level" "-emit-$language" "$@" \
        "$source" -o "$work/$module$level.$language" 2>"$work/log" || fail "$source: $(grep -m 3 error: "$work/log")"
    done
  done
}
for source in "$top"/tests/demangle/swift/*.swift; do
  arguments=()
  case $source in
  */generics.swift) arguments=(-enable-experimental-feature Lifetimes) ;;
  */embedded.swift) arguments=(-enable-experimental-feature Embedded -wmo) ;;
  */objc.swift) arguments=(-Xfrontend -enable-objc-interop -Xfrontend -disable-objc-attr-requires-foundation-module) ;;
  esac
  compile "$source" "${arguments[@]}"
done
cat "$work"/*.sil "$work"/*.ir | swift_names >"$work/own"
cp "$work/own" "$work/names"
compare "names of tests/demangle/swift"

# The same names with the prefixes of other compilers and systems.
# shellcheck disable=SC2016 # names, not the shell's
for prefix in '_$s' '$S' '_T0' '$e' '_$e'; do
  awk -v prefix="$prefix" 'sub(/^[$]s/, "") { print prefix $0 }' "$work/own" >"$work/names"
  compare "the same as $prefix…"
done

toolchain_names >"$work/names"
[[ $(wc -l <"$work/names") -gt 100000 ]] || fail "the names of the toolchain are not found"
compare "names of the toolchain"

if [[ ${#lists[@]} -gt 0 ]]; then
  cat "${lists[@]}" | swift_names >"$work/names"
  compare "names of USP_SWIFT_NAMES"
fi
verdict
