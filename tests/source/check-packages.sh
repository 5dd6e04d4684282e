#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that Package.swift, the podspecs and the Python package agree with each other and with the rest of the project:
# version, licence, oldest systems, source files. tests/swift/package.sh tests the package with SwiftPM itself, tests/swift/pods.sh
# compiles the pods.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/pods.sh
. "$top/tests/support/pods.sh"
cd "$top"
make_work
pods=(CUnspool Unspool UnspoolObjC)
printf '%s.podspec\n' "${pods[@]}" | diff - <(printf '%s\n' *.podspec) || fail "there are other podspecs"

# says FILE TEXT: checks that the file contains the text, literally.
says() { [[ $(grep -cF -e "$2" "$1") -gt 0 ]] || fail "$1 does not say $2"; }

version=$(project_version)
[[ -n $version ]] || fail "configure.ac has no version"
# pods_say TEXT: checks that each podspec contains the text, literally.
pods_say() { for pod in "${pods[@]}"; do says "$pod.podspec" "$1"; done; }
# The podspecs read it where this script does.
pods_say 'spec.version = File.read("#{__dir__}/configure.ac")[/^AC_INIT\(\[unspool\], \[([0-9.]+)\]/, 1]'
for part in MAJOR MINOR PATCH; do sed -nE "s/^#define USP_VERSION_$part ([0-9]+)\$/\1/p" include/unspool/base.h; done |
  paste -sd. | grep -x "$version" >/dev/null || fail "include/unspool/base.h is of another version than configure.ac: $version"
# No other place has the version: it would become wrong with the next one. NEWS has it as a title, and a package of
# Debian in its list of changes. Cargo can read it from no other file (check-rust.sh compares it).
head -n 4 NEWS | grep -E "^$version(, not released yet)?\$" >/dev/null || fail "NEWS does not begin with $version"
says packaging/debian/changelog "unspool ($version-"
if [[ -e .git ]]; then
  while read -r line; do fail "the version is written a second time: $line"; done < <(project_files | grep -vxE \
    'configure\.ac|NEWS|packaging/debian/changelog|bindings/rust/.*Cargo\.(toml|lock)' | xargs grep -nIE "(^|[^0-9.])${version//./\\.}([^0-9.]|\$)" | cut -c1-150)
fi

[[ $(head -n 1 COPYING) == 'MIT License' ]] || fail "COPYING is not the licence that the packages name"
pods_say "type: 'MIT', file: 'COPYING'"

# Prints the oldest system of a platform, which is that of its oldest slice.
oldest() { tools/build-apple --list | awk -v slice="^$1-[^-]*$" '$1 ~ slice { print $4 }' | sort -n | head -n 1; }
while read -r platform system swift; do
  minimum=$(oldest "$platform")
  pods_say "spec.$system.deployment_target = '$minimum'"
  # .v12 stands for 12.0, .v10_13 for 10.13.
  name=${minimum%.0}
  says Package.swift ".$swift(.v${name//./_})"
  # The documents name it too.
  for file in README.md doc/apple.md tools/build-apple; do
    tr -s '\n ' ' ' <"$file" | grep -E "$swift $name\b" >/dev/null || fail "$file does not say $swift $name"
  done
done <<'END'
ios ios iOS
macos osx macOS
tvos tvos tvOS
watchos watchos watchOS
visionos visionos visionOS
END

# ---- the same source files as Automake's lists
automake_sources | LC_ALL=C sort >"$work/automake"
[[ $(wc -l <"$work/automake") -gt 300 ]] || fail "the lists of Automake are not found"
# Package.swift and the pod take whole folders.
find arch lib -name '*.[cm]' | LC_ALL=C sort | diff "$work/automake" - || fail "Automake's lists differ from the files in arch and lib"
says bindings/python/build_ffi.py "SOURCES, LEFT_OUT = ('arch', 'lib'), 'lib/objc'"
for folders in '"arch", "lib"' '"lib/objc"'; do says Package.swift "sources: [$folders]"; done
# SwiftPM takes every file in a source folder for a source. Left out: what a build in this folder has made.
while read -r file; do says Package.swift "\"$file\""; done < <(find arch lib \( -name .deps -o -name .libs \) -prune -o \
  -type f ! -name '*.[chm]' ! -name '*.o' ! -name '*.l[ao]' ! -name '*.pc' ! -name .dirstamp -print)

need_tools python3
# A product of Package.swift and the pod of the same name have the same files.
for pod in "${pods[@]}"; do
  says "$pod.podspec" "spec.name = '$pod'"
  says Package.swift ".library(name: \"$pod\", targets: [\"$pod\"])"
done
{ pod_sources CUnspool && pod_sources UnspoolObjC; } | LC_ALL=C sort | diff "$work/automake" - ||
  fail "the pods' files are not Automake's"
pod_sources UnspoolObjC | diff <(grep '^lib/objc/' "$work/automake") - || fail "UnspoolObjC has other files than lib/objc"
says Package.swift 'path: "swift/Unspool"'
find swift -type f | LC_ALL=C sort | diff - <(pod_sources Unspool) || fail "the pod's Swift files are not those in swift"
for pod in Unspool UnspoolObjC; do says $pod.podspec "spec.dependency 'CUnspool', spec.version.to_s"; done
# The language is the one that tests/apple/package.sh and objc.sh compile with.
says Package.swift 'cLanguageStandard: .gnu11'
for pod in CUnspool UnspoolObjC; do says $pod.podspec "'GCC_C_LANGUAGE_STANDARD' => 'gnu11'"; done
for package in CUnspool.podspec Package.swift; do says "$package" tools/apple/PrivacyInfo.xcprivacy; done
[[ -f tools/apple/PrivacyInfo.xcprivacy ]] || fail "the privacy manifest does not exist"
verdict
