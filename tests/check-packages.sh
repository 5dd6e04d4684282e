#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What Package.swift and Unspool.podspec say of the project is what it says of itself: version, licence, the oldest systems,
# where tools/build-apple leaves the XCFrameworks.
set -euo pipefail
# shellcheck source=tests/script.sh
. "$(dirname "$0")/script.sh"
cd "$top"

# says FILE TEXT: the file has it, literally.
says() { [[ $(grep -cF -e "$2" "$1") -gt 0 ]] || fail "$1 does not say $2"; }

version=$(sed -nE 's/^AC_INIT\(\[unspool\], \[([0-9.]+)\].*/\1/p' configure.ac)
[[ -n $version ]] || fail "configure.ac has no version"
says Unspool.podspec "spec.version = '$version'"
for part in MAJOR MINOR PATCH; do sed -nE "s/^#define USP_VERSION_$part ([0-9]+)\$/\1/p" include/unspool/base.h; done |
  paste -sd. | grep -qx "$version" || fail "include/unspool/base.h is of another version than configure.ac: $version"

[[ $(head -n 1 COPYING) == 'MIT License' ]] || fail "COPYING is not the licence that the packages name"
says Unspool.podspec "type: 'MIT', file: 'COPYING'"

# The oldest system of a platform is that of its oldest slice; 32-bit iOS is nothing that these tools still know.
oldest() { tools/build-apple --list | awk -v sdk="$1" '$2 == sdk && $3 != "armv7" { print $4 }' | sort -n | head -n 1; }
while read -r sdk pod swift; do
  minimum=$(oldest "$sdk")
  says Unspool.podspec "spec.$pod.deployment_target = '$minimum'"
  # .v12 for 12.0, .v10_13 for 10.13
  name=${minimum%.0}
  says Package.swift ".$swift(.v${name//./_})"
done <<'END'
iphoneos ios iOS
macosx osx macOS
appletvos tvos tvOS
watchos watchos watchOS
xros visionos visionOS
END

for name in Unspool UnspoolObjC; do
  says Unspool.podspec "'build/apple/$name.xcframework'"
  says Package.swift "\"$name\""
done
# shellcheck disable=SC2016 # of the script, as it stands there
says tools/build-apple 'output=$top/build/apple'
says Package.swift 'let folder = "build/apple"'
for file in tools/apple/PrivacyInfo.xcprivacy tools/apple/Privacy.swift; do
  [[ -f $file ]] || fail "$file is not there"
done
verdict
