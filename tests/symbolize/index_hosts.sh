#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that an index is the same, byte for byte, whatever the host that makes it: this build's, which may be for another
# processor and run by an emulator, and that of the build in the folder USP_OTHER_BUILD. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
other=${USP_OTHER_BUILD-}
[[ -n $other ]] || skip "USP_OTHER_BUILD names no build to compare with"
[[ -x tools/unspool && -x $other/tools/unspool ]] || skip "tools/unspool was not built"
need_tools gcc clang-19 clang++-19 ld.lld-19 ld64.lld-19 dsymutil-19 llvm-strip-19
libtool=$PWD/libtool unspool=$PWD/tools/unspool
make_work
fixtures=$top/tests/symbolize
cd "$work"

# ours ARGUMENT...: runs this build's command, in the emulator if there is one, with this build's library.
ours() {
  # shellcheck disable=SC2086 # words on purpose
  "$libtool" --mode=execute ${USP_TEST_UNDER-} "$unspool" "$@"
}

mkdir files
id=('-Wl,--build-id=sha1')
gcc -O2 -g -shared -fPIC -nostdlib "${id[@]}" -o files/gcc "$fixtures/lines_fixture.c"
clang++-19 -O2 -gdwarf-5 -gdwarf64 -shared -fPIC -nostdlib "${id[@]}" -o files/wide "$fixtures/lines_fixture.cc"
clang++-19 -O1 -g -ffunction-sections -shared -fPIC -nostdlib -fuse-ld=lld-19 "${id[@]}" '-Wl,--icf=all' -o files/folded \
  "$fixtures/lines_fixture.cc"
clang-19 --target=arm-linux-gnueabihf -O2 -g -shared -fPIC -nostdlib -fuse-ld=lld-19 "${id[@]}" -o files/arm \
  "$fixtures/lines_fixture.c"
# A dSYM; a program whose methods only the metadata of Objective-C names.
clang++-19 -target arm64-apple-ios14 -O2 -g -fno-exceptions -c -o ios.o "$fixtures/lines_fixture.cc"
ld64.lld-19 -arch arm64 -platform_version ios 14.0 14.0 -dylib -undefined dynamic_lookup -o files/ios ios.o
dsymutil-19 files/ios
clang-19 -target arm64-apple-macos13 -fobjc-runtime=macosx-13.0 -fblocks -O1 -w -c -o objc.o "$fixtures/objc_fixture.m"
ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -dylib objc.o "$fixtures/objc_fixture.tbd" -o files/objc
llvm-strip-19 files/objc

ours index --quiet -o here files || fail "index: exit status $?"
"$other/tools/unspool" index --quiet -o there files || fail "index by the other build: exit status $?"
made=$(find here -name index | wc -l)
[[ $made -eq 6 ]] || fail "$made indexes of 6 files"
diff -r here there >different || fail "the indexes of the two hosts differ: $(cat different)"
# The dSYM of a file that is absent.
mv files/ios ios
ours index --quiet -o here-dsym files/ios.dSYM || fail "index of a dSYM: exit status $?"
"$other/tools/unspool" index --quiet -o there-dsym files/ios.dSYM || fail "index of a dSYM by the other build: exit status $?"
diff -r here-dsym there-dsym >different || fail "the indexes of a dSYM differ: $(cat different)"
# One host reads what the other has made.
mv ios files/ios
rm files/objc # has no debug information to compare with
ours index --verify -o there files >verified || fail "an index of the other host differs from its source: $(cat verified)"
[[ $(grep -c 'addresses are equal' verified) -ge 5 ]] || fail "not all were compared: $(cat verified)"
echo "$made indexes were compared with those by $other"
verdict
