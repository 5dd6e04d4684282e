#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles the Objective-C layer for every Apple slice without a warning, with ARC and without, and its public headers
# as a Clang module with complete nullability. Uses the stand-in SDK (tests/apple/sdk) or, with
#   --headers INCLUDE --frameworks FOLDER   Apple's own (a macOS SDK's usr/include and System/Library/Frameworks),
#                                           if you have them; not in CI, and as a module for macOS alone.
# shellcheck disable=SC2317 # functions are called by `beside`
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

headers=
frameworks=
while [[ $# -gt 0 ]]; do
  case $1 in
  --headers) headers=$(cd "${2:?--headers needs a folder}" && pwd) ;;
  --frameworks) frameworks=$(cd "${2:?--frameworks needs a folder}" && pwd) ;;
  *) echo "usage: ${0##*/} [--headers INCLUDE --frameworks FOLDER]" && exit 2 ;;
  esac
  shift 2
done
[[ -z $headers && -z $frameworks || -n $headers && -n $frameworks ]] || fail "--headers and --frameworks go together"
need_tools clang-19

make_work
include=(-isysroot "$top/tests/apple/sdk")
allowed=()
if [[ -n $headers ]]; then
  include=(-isystem "$headers" -iframework "$frameworks")
  # CarbonCore includes clang's intrinsics, whose module has a header that warns by #warning that it is deprecated.
  allowed=('-Wno-#warnings')
  # A macOS SDK's header gives macOS as the platform for every target.
  mkdir "$work/platform"
  cp "$top/tests/apple/sdk/usr/include/TargetConditionals.h" "$work/platform"
fi

# The project's flags (m4/usp_flags.m4).
flags=(-std=gnu11 -O1 -fvisibility=hidden -fno-omit-frame-pointer -Werror)
read -ra warnings < <(tr '\n' ' ' <"$top/m4/usp_flags.m4" | grep -oE -- '-Wall[^]]*-Wwrite-strings')
[[ ${#warnings[@]} -gt 5 ]] || fail "m4/usp_flags.m4 lists no warnings"
flags+=("${warnings[@]}" -I"$top" -I"$top/include")
mapfile -t sources < <(code lib/objc | grep '\.[cm]$')
[[ ${#sources[@]} -gt 5 ]] || fail "no sources in lib/objc"

compile() { (cd "$top" && clang-19 -target "$1" "${include[@]}" "${flags[@]}" "${@:2}" -fsyntax-only "${sources[@]}"); }

printf '@import UnspoolObjC;\nint main(void) { return [USPThread registerCurrent] ? 0 : 1; }\n' >"$work/import.m"
# imports TARGET FLAG...: compiles the headers as an importer's compiler does.
imports() {
  clang-19 -target "$1" "${include[@]}" -I"$top/include" -fmodules -fmodules-cache-path="$work/modules" \
    -Wall -Wextra -Werror -Werror=nullability-completeness "${allowed[@]}" -fsyntax-only "${@:2}" "$work/import.m"
}

# README.md's example, in a program as its text describes it.
{
  printf '#import <Foundation/Foundation.h>\n#import <unspool-objc/unspool-objc.h>\n\nint main(void) {\n'
  awk '/^```objc$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$top/README.md"
  printf '    return 0;\n}\n'
} >"$work/readme.m"
grep -q USP "$work/readme.m" || fail "README.md has no example in Objective-C"

slice() {
  local include=("${include[@]}")
  [[ -z $headers || $1 == *-macos* ]] || include=(-isystem "$work/platform" "${include[@]}")
  compile "$1" -fobjc-arc || fail "$1: does not compile with ARC"
  compile "$1" || fail "$1: does not compile without ARC"
  (cd "$top" && clang-19 -target "$1" "${include[@]}" "${flags[@]}" -fobjc-arc -fblocks -fsyntax-only doc/examples/hang.m \
    "$work/readme.m") || fail "$1: doc/examples/hang.m or README.md's example does not compile"
  if [[ -z $headers || $1 == *-macos* ]]; then
    imports "$1" -fobjc-arc || fail "$1: the headers are not a module with complete nullability"
  fi
  # On macOS the demo is built too.
  if [[ $1 == *-macos* ]]; then
    (cd "$top" && clang-19 -target "$1" "${include[@]}" "${flags[@]}" -fsyntax-only tools/demo_view.m) ||
      fail "$1: the demo does not compile"
  fi
  echo "$1: ${#sources[@]} files, with ARC and without"
}

for target in arm64-apple-macos11 x86_64-apple-macos11; do beside slice "$target"; done
while read -r name target; do
  case $name in macos-*) ;; *) beside slice "$target" ;; esac
done < <(apple_targets)
beside_ended || fail "see above"
verdict
