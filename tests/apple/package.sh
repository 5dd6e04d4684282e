#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The sources of Package.swift compile for every Apple platform that SwiftPM builds for, with the package's settings and no
# warning, against the stand-in SDK: the files that use system headers (lib/os) for each target, all files for one target.
#   --all              all files for each target: minutes; not in CI
#   --headers FOLDER   the same with Apple's own headers (the usr/include of a macOS SDK); not in CI
# Files of another system are among them: they have to be empty there. objc.sh does this for the Objective-C layer.
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
  # A macOS SDK's header says macOS for every target.
  mkdir "$work/platform"
  cp "$top/tests/apple/sdk/usr/include/TargetConditionals.h" "$work/platform"
  include=(-isystem "$work/platform" -isystem "$headers")
  ;;
'') ;;
*) echo "usage: ${0##*/} [--all | --headers FOLDER]" >&2 && exit 2 ;;
esac

# What SwiftPM adds by itself, and what Package.swift says.
grep -qF 'cLanguageStandard: .gnu11' "$top/Package.swift" || fail "Package.swift has another C standard"
grep -qF 'cSettings: [.headerSearchPath(".")]' "$top/Package.swift" || fail "Package.swift has other settings"
flags=(-std=gnu11 -fblocks -DSWIFT_PACKAGE=1 -DDEBUG=1 -Wall -Wextra -Werror -I. -Iinclude)
cd "$top"
mapfile -t sources < <(automake_sources | grep -v '^lib/objc/')
[[ ${#sources[@]} -gt 300 ]] || fail "the lists of Automake are not found"

# The slices of tools/build-apple, and the simulators and Mac Catalyst, for which SwiftPM builds too.
targets=(arm64-apple-ios12 arm64e-apple-ios14 armv7-apple-ios9 arm64-apple-ios14-simulator i386-apple-ios9-simulator
  x86_64-apple-ios12-simulator arm64_32-apple-watchos5 armv7k-apple-watchos4 arm64-apple-macos11 x86_64-apple-macos10.13
  arm64-apple-tvos12 arm64-apple-xros1 arm64-apple-tvos14-simulator x86_64-apple-tvos12-simulator arm64-apple-watchos7-simulator
  x86_64-apple-watchos7-simulator arm64-apple-xros1-simulator arm64-apple-ios14-macabi x86_64-apple-ios13.1-macabi)
[[ ${#targets[@]} -ge $("$top/tools/build-apple" --list | wc -l) ]] || fail "tools/build-apple has slices that are not here"

# Two jobs at a time.
compile() {
  local chosen=("${sources[@]}")
  [[ -n $all || $1 == "${targets[0]}" ]] || mapfile -t chosen < <(printf '%s\n' "${sources[@]}" | grep '^lib/os/')
  clang-19 -target "$1" "${include[@]}" "${flags[@]}" -fsyntax-only "${chosen[@]}" >"$work/$1.log" 2>&1 || : >"$work/$1.failed"
}
for target in "${targets[@]}"; do
  while [[ $(jobs -rp | wc -l) -ge 2 ]]; do wait -n || :; done
  compile "$target" &
done
wait
for target in "${targets[@]}"; do
  [[ ! -s $work/$target.log ]] || head -n 20 "$work/$target.log"
  [[ ! -s $work/$target.log && ! -e $work/$target.failed ]] || fail "$target: does not compile without a warning"
done
echo "${#sources[@]} files for ${#targets[@]} targets"
verdict
