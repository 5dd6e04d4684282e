#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles the library for every Apple slice without a warning, against the stand-in SDK (tests/apple/sdk) or, with
#   --headers FOLDER   Apple's own headers (the usr/include of a macOS SDK), for whoever has them; not in CI.
# Against the stand-in, the slices that ld64.lld links are linked as dylibs with nothing but the stand-in's libSystem.
set -euo pipefail
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"

headers=
case ${1-} in
--headers) headers=$(cd "${2:?--headers needs a folder}" && pwd) ;;
'') ;;
*) echo "usage: ${0##*/} [--headers FOLDER]" && exit 2 ;;
esac
for tool in clang-19 ld64.lld-19 llvm-nm-19; do have "$tool" || skip "$tool is not installed"; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sdk=$top/tests/apple/sdk
if [[ -n $headers ]]; then
  # A macOS SDK's header says macOS for every target.
  mkdir "$work/platform"
  cp "$sdk/usr/include/TargetConditionals.h" "$work/platform"
  include=(-isystem "$work/platform" -isystem "$headers")
else
  include=(-isysroot "$sdk")
fi
# What configure would find on an Apple system without further libraries.
mkdir "$work/config"
: >"$work/config/config.h"

# The project's flags (m4/usp_flags.m4).
flags=(-std=gnu11 -O1 -fvisibility=hidden -fno-omit-frame-pointer -Werror)
read -ra warnings < <(tr '\n' ' ' <"$top/m4/usp_flags.m4" | grep -oE -- '-Wall[^]]*-Wwrite-strings')
[[ ${#warnings[@]} -gt 5 ]] || fail "m4/usp_flags.m4 lists no warnings"
flags+=("${warnings[@]}" -I"$top" -I"$top/include" -I"$work/config")

mapfile -t sources < <(code arch lib | grep '\.c$' | grep -vE '^lib/os/(linux_.*|none)\.c$')

# compile TARGET FOLDER: every source; objects only where a folder is given.
compile() {
  local target=$1 folder=$2 file
  if [[ -z $folder ]]; then
    (cd "$top" && clang-19 -target "$target" "${include[@]}" "${flags[@]}" -fsyntax-only "${sources[@]}")
    return
  fi
  for file in "${sources[@]}"; do
    clang-19 -target "$target" "${include[@]}" "${flags[@]}" -c -o "$folder/${file//\//_}.o" "$top/$file" || return
  done
}

# exported FILE: what a linked slice exports beside the public names.
exported() { llvm-nm-19 -gUj "$1" | grep -vE '^_usp_[a-z0-9_]+$' || :; }

# slice TARGET [ARCH PLATFORM MINIMUM]: the last three where ld64.lld links it.
slice() {
  local target=$1 folder=
  if [[ $# -gt 1 && -z $headers ]]; then
    folder=$work/$target
    mkdir "$folder"
  fi
  compile "$target" "$folder" || fail "$target: does not compile"
  if [[ -n $folder ]]; then
    local library=$work/$target.dylib
    ld64.lld-19 -dylib -arch "$2" -platform_version "$3" "$4" "$4" -syslibroot "$sdk" -lSystem -fatal_warnings \
      -install_name @rpath/libunspool.dylib -o "$library" "$folder"/*.o || fail "$target: does not link"
    [[ ! -e $library || -z $(exported "$library") ]] || fail "$target: exports $(exported "$library" | tr '\n' ' ')"
  fi
  echo "$target: ${#sources[@]} files${folder:+, linked}"
}

slice arm64-apple-ios14 arm64 ios 14.0
slice arm64e-apple-ios14 arm64e ios 14.0
slice armv7-apple-ios9
slice arm64-apple-ios14-simulator arm64 ios-simulator 14.0
slice x86_64-apple-ios14-simulator x86_64 ios-simulator 14.0
slice i386-apple-ios9-simulator
slice arm64_32-apple-watchos7 arm64_32 watchos 7.0
slice armv7k-apple-watchos7
slice arm64-apple-macos11 arm64 macos 11.0
slice x86_64-apple-macos11 x86_64 macos 11.0
slice arm64-apple-tvos14
slice arm64-apple-xros1
verdict
