#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles the pods as CocoaPods has Xcode do it, as static libraries and as frameworks: with its module maps, its
# umbrella headers and its flags (CocoaPods lib/cocoapods/generator/module_map.rb, umbrella_header.rb and header.rb,
# target/build_settings.rb). The Swift module and a program with it are built for Linux, where the program runs with the
# library of the build folder, in which this script is run. The Objective-C pod is compiled and both C pods are imported
# for iOS, against the stand-in SDK.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
# shellcheck source=tests/support/pods.sh
. "$top/tests/support/pods.sh"
find_swift || skip "$no_swift"
need_tools python3 clang-19
[[ -e lib/.libs/libunspool.so ]] || skip "the library is static"
library=$PWD/lib/.libs
make_work
cd "$top"

# umbrella POD FOLDER: copies the pod's public headers to the folder, and writes its umbrella header.
umbrella() {
  local header name
  mkdir -p "$2"
  {
    printf '#ifdef __OBJC__\n#import <Foundation/Foundation.h>\n#else\n#ifndef FOUNDATION_EXPORT\n'
    printf '#if defined(__cplusplus)\n#define FOUNDATION_EXPORT extern "C"\n#else\n#define FOUNDATION_EXPORT extern\n#endif\n'
    printf '#endif\n#endif\n\n'
    while read -r header; do
      name=${header#include/}
      mkdir -p "$2/${name%/*}"
      cp "$header" "$2/$name"
      printf '#import "%s"\n' "$name"
    done < <(pod_files "$1" public_header_files)
    printf '\nFOUNDATION_EXPORT double %sVersionNumber;\nFOUNDATION_EXPORT const unsigned char %sVersionString[];\n\n' "$1" "$1"
  } >"$2/$1-umbrella.h"
}

# module_map POD QUALIFIER FILE: writes the pod's module map.
module_map() {
  mkdir -p "${3%/*}"
  printf '%smodule %s {\n  umbrella header "%s-umbrella.h"\n\n  export *\n  module * { export * }\n}\n' "$2" "$1" "$1" >"$3"
}

for pod in CUnspool Unspool UnspoolObjC; do
  umbrella $pod "$work/static/$pod"
  module_map $pod '' "$work/static/$pod/$pod.modulemap"
  umbrella $pod "$work/frameworks/$pod/$pod.framework/Headers"
  module_map $pod 'framework ' "$work/frameworks/$pod/$pod.framework/Modules/module.modulemap"
done
[[ -f $work/static/CUnspool/unspool/unspool.h && -f $work/static/UnspoolObjC/unspool-objc/unspool-objc.h ]] ||
  fail "the pods have no public headers"

# flags_of LAYOUT POD...: sets $flags to those for clang with which another pod finds these pods.
flags_of() {
  local layout=$1 pod
  shift
  flags=()
  for pod; do
    case $layout in
    static) flags+=("-I$work/static/$pod" "-fmodule-map-file=$work/static/$pod/$pod.modulemap") ;;
    frameworks) flags+=("-F$work/frameworks/$pod" "-I$work/frameworks/$pod/$pod.framework/Headers") ;;
    esac
  done
}

# ---- the Swift module, and a program that uses it
cat >"$work/main.swift" <<'END'
import CUnspool
import Unspool

@inline(never) func checkout() throws -> Stack {
    let stack = try Stack.capture()
    return stack
}
for frame in try checkout().symbolicated().prefix(1) { print(frame) }
print("version: \(String(cString: usp_version_string()))")
END
mapfile -t sources < <(pod_sources Unspool)
version=$(sed -nE 's/^  spec.swift_versions = \[.([0-9]+)\.0.\]$/\1/p' Unspool.podspec)
common=(-swift-version "$version" -warnings-as-errors -D COCOAPODS -g -module-cache-path "$work/modules")

swift_module() {
  local layout=$1 folder=$work/$1.swift flag flags importer=()
  mkdir "$folder"
  flags_of "$layout" CUnspool
  for flag in "${flags[@]}"; do importer+=(-Xcc "$flag"); done
  # What the pod adds for itself. Xcode adds the option itself for a framework.
  local own=(-import-underlying-module)
  case $layout in
  static) own+=(-Xcc "-fmodule-map-file=$work/static/Unspool/Unspool.modulemap") ;;
  frameworks) own+=(-F "$work/frameworks/Unspool" -F "$work/frameworks/CUnspool") ;;
  esac
  "$swift_folder/swiftc" "${common[@]}" "${importer[@]}" "${own[@]}" -module-name Unspool -parse-as-library -static -emit-library \
    -emit-module -emit-module-path "$folder/Unspool.swiftmodule" -o "$folder/libUnspoolPod.a" "${sources[@]}" >"$folder/log" 2>&1 || {
    fail "the pod Unspool, $layout: $(head -n 20 "$folder/log")"
    return 1
  }
  [[ $layout != frameworks ]] || importer+=(-F "$work/frameworks/Unspool" -F "$work/frameworks/CUnspool")
  "$swift_folder/swiftc" "${common[@]}" "${importer[@]}" "${own[@]:1}" -I "$folder" "$work/main.swift" "$folder/libUnspoolPod.a" \
    -L"$library" -lunspool -o "$folder/main" >"$folder/log" 2>&1 || {
    fail "a program with the pod Unspool, $layout: $(head -n 20 "$folder/log")"
    return 1
  }
  LD_LIBRARY_PATH=$library "$folder/main" >"$folder/says" || fail "the program fails, $layout"
  cat "$folder/says"
  grep -qE '^checkout\(\) in main \+ [0-9]+ \(main\.swift:5\)$' "$folder/says" || fail "the first frame is not the caller, $layout"
  grep -qx "version: $(project_version)" "$folder/says" || fail "another version, $layout"
}
swift_module static || :
swift_module frameworks || :

# ---- Objective-C
# The pod's own sources use no modules, and importers have one, as the podspecs say.
for pod in CUnspool UnspoolObjC; do
  grep -qF "'CLANG_ENABLE_MODULES' => 'NO'" $pod.podspec || fail "$pod.podspec lets its sources use modules"
  grep -qF "'DEFINES_MODULE' => 'YES'" $pod.podspec || fail "$pod.podspec defines no module"
done
apple=(clang-19 -target arm64-apple-ios15.0 -isysroot tests/apple/sdk -Wall -Wextra -Werror -fsyntax-only)
mapfile -t sources < <(pod_sources UnspoolObjC)
for layout in static frameworks; do
  flags_of $layout CUnspool UnspoolObjC
  "${apple[@]}" -std=gnu11 -fobjc-arc -DCOCOAPODS=1 -fmodule-name=UnspoolObjC "${flags[@]}" -I. -Iinclude "${sources[@]}" ||
    fail "the pod UnspoolObjC does not compile, $layout"
  printf '@import CUnspool;\n@import UnspoolObjC;\n%s\n' \
    'int main(void) { return [USPThread registerCurrent] ? 0 : usp_version_string()[0]; }' >"$work/import.m"
  "${apple[@]}" -fobjc-arc -fmodules -fmodules-cache-path="$work/modules" "${flags[@]}" "$work/import.m" ||
    fail "the pods cannot be imported, $layout"
done
verdict
