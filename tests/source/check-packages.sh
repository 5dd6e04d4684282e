#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that Package.swift and Unspool.podspec agree with the rest of the project: version, licence, oldest systems,
# source files. tests/swift/package.sh tests the package with SwiftPM itself.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
cd "$top"
make_work

# says FILE TEXT: checks that the file contains the text, literally.
says() { [[ $(grep -cF -e "$2" "$1") -gt 0 ]] || fail "$1 does not say $2"; }

version=$(sed -nE 's/^AC_INIT\(\[unspool\], \[([0-9.]+)\].*/\1/p' configure.ac)
[[ -n $version ]] || fail "configure.ac has no version"
says Unspool.podspec "spec.version = '$version'"
for part in MAJOR MINOR PATCH; do sed -nE "s/^#define USP_VERSION_$part ([0-9]+)\$/\1/p" include/unspool/base.h; done |
  paste -sd. | grep -qx "$version" || fail "include/unspool/base.h is of another version than configure.ac: $version"

[[ $(head -n 1 COPYING) == 'MIT License' ]] || fail "COPYING is not the licence that the packages name"
says Unspool.podspec "type: 'MIT', file: 'COPYING'"

# Prints the oldest system of a platform, which is that of its oldest slice. 32-bit iOS does not count: these tools no
# longer know it.
oldest() { tools/build-apple --list | awk -v slice="^$1-[^-]*$" '$1 ~ slice && $3 != "armv7" { print $4 }' | sort -n | head -n 1; }
while read -r platform pod swift; do
  minimum=$(oldest "$platform")
  says Unspool.podspec "spec.$pod.deployment_target = '$minimum'"
  # .v12 stands for 12.0, .v10_13 for 10.13.
  name=${minimum%.0}
  says Package.swift ".$swift(.v${name//./_})"
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
for folders in '"arch", "lib"' '"lib/objc"'; do says Package.swift "sources: [$folders]"; done
# SwiftPM takes every file in a source folder for a source. Left out: what a build in this folder has made.
while read -r file; do says Package.swift "\"$file\""; done < <(find arch lib \( -name .deps -o -name .libs \) -prune -o \
  -type f ! -name '*.[chm]' ! -name '*.o' ! -name '*.l[ao]' ! -name '*.pc' ! -name .dirstamp -print)

# pod_files PART: prints the sources of a part of the pod.
pod_files() {
  python3 - "$1" <<'END'
import pathlib, re, sys

def files(kind):
    line = re.search(rf"^ *{sys.argv[1]}\.{kind} = (.*)$", pathlib.Path("Unspool.podspec").read_text(), re.M)
    globs = re.findall(r"'([^']*)'", line[1]) if line else []
    return {path for glob in globs for path in pathlib.Path().glob(glob) if path.is_file()}

for path in sorted(files("source_files") - files("exclude_files")):
    if path.suffix in (".c", ".m"):
        print(path)
END
}
need_tools python3
{ pod_files core && pod_files objc; } | LC_ALL=C sort | diff "$work/automake" - || fail "the pod's files are not Automake's"
for package in Unspool.podspec Package.swift; do says "$package" tools/apple/PrivacyInfo.xcprivacy; done
[[ -f tools/apple/PrivacyInfo.xcprivacy ]] || fail "the privacy manifest does not exist"
verdict
