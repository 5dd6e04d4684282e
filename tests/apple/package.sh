#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles the sources of Package.swift for every Apple platform of SwiftPM, with the package's settings and without a
# warning, against the stand-in SDK: the files that use system headers (lib/os) for each target, all files for one
# target.
#   --all              all files for each target: takes minutes; not in CI
#   --headers FOLDER   the same with Apple's own headers (the usr/include of a macOS SDK); not in CI
# Files of another system are among them and must be empty there. objc.sh does this for the Objective-C layer.
# shellcheck disable=SC2317 # functions are called by `beside`
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools clang-19
make_work

include=(-isysroot "$top/tests/apple/sdk")
all=
case ${1-} in
--all) all=yes ;;
--headers)
  all=yes
  headers=$(cd "${2:?--headers needs a folder}" && pwd)
  # A macOS SDK's header gives macOS as the platform for every target.
  mkdir "$work/platform"
  cp "$top/tests/apple/sdk/usr/include/TargetConditionals.h" "$work/platform"
  include=(-isystem "$work/platform" -isystem "$headers")
  ;;
'') ;;
*) echo "usage: ${0##*/} [--all | --headers FOLDER]" >&2 && exit 2 ;;
esac

# The flags that SwiftPM adds, and those of Package.swift.
grep -qF 'cLanguageStandard: .gnu11' "$top/Package.swift" || fail "Package.swift has another C standard"
grep -qF 'cSettings: [.headerSearchPath(".")]' "$top/Package.swift" || fail "Package.swift has other settings"
flags=(-std=gnu11 -fblocks -DSWIFT_PACKAGE=1 -DDEBUG=1 -Wall -Wextra -Werror -I. -Iinclude)
cd "$top"
mapfile -t sources < <(automake_sources | grep -v '^lib/objc/')
[[ ${#sources[@]} -gt 300 ]] || fail "the lists of Automake are not found"

# SwiftPM builds for the slices' targets only.
mapfile -t targets < <(apple_targets | awk '{ print $2 }')
[[ ${#targets[@]} -gt 15 ]] || fail "tools/build-apple lists too few slices"

compile() {
  local chosen=("${sources[@]}") status=0
  [[ -n $all || $1 == "${targets[0]}" ]] || mapfile -t chosen < <(printf '%s\n' "${sources[@]}" | grep '^lib/os/')
  clang-19 -target "$1" "${include[@]}" "${flags[@]}" -fsyntax-only "${chosen[@]}" >"$work/$1.log" 2>&1 || status=$?
  [[ $status -eq 0 && ! -s $work/$1.log ]] || fail "$1: does not compile without a warning: $(head -n 20 "$work/$1.log")"
}
for target in "${targets[@]}"; do beside compile "$target"; done
beside_ended || fail "see above"
echo "${#sources[@]} files for ${#targets[@]} targets"
verdict
