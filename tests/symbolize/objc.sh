#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests Objective-C names from linked and stripped Mach-O files: each form of method list and of fixups that clang and
# lld make, for each processor that lld supports, compared with the symbols of the unstripped file (objc_oracle.py has
# the rules). Runs in the folder of the build, where tests/symbolize/objc_methods was made.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

names=$PWD/tests/symbolize/objc_methods
here=$top/tests/symbolize
[[ -x $names ]] || skip "tests/symbolize/objc_methods was not built"
need_tools clang-19 ld64.lld-19 llvm-lipo-19 llvm-strip-19 llvm-nm-19 llvm-objdump-19 python3

make_work
names=$(runnable "$names" "$work")
cd "$work"

# compare ARCH FILE [OPTION]...: compares FILE with its symbols and the same file without any.
compare() {
  local arch=$1 file=$2
  shift 2
  llvm-strip-19 -o "$file.stripped" "$file"
  ! llvm-nm-19 "$file.stripped" | grep -cF '[' >/dev/null || fail "$file: was not stripped"
  python3 "$here/objc_oracle.py" --names "$names" --arch "$arch" --least 16 "$@" "$file.stripped" "$file" ||
    fail "$file: names differ"
}

# build ARCH LINKED-ARCH TARGET RUNTIME PLATFORM VERSION FORM...: compiles, and links each form: lists-fixups.
build() {
  local arch=$1 linked=$2 target=$3 runtime=$4 platform=$5 version=$6 form file
  shift 6
  clang-19 -target "$target" -fobjc-runtime="$runtime" -fblocks -O1 -c "$here/objc_fixture.m" -o "$target.o"
  for form; do
    file=$target.$form
    local flags=() check=()
    [[ $form == relative-* ]] && flags+=(-objc_relative_method_lists) || flags+=(-no_objc_relative_method_lists)
    [[ $form == *-chained ]] && flags+=(-fixup_chains) || flags+=(-no_fixup_chains)
    ld64.lld-19 -arch "$linked" -platform_version "$platform" "$version" "$version" -dylib "${flags[@]}" \
      "$target.o" "$here/objc_fixture.tbd" -o "$file"
    # llvm-objdump reads only this form: with chained fixups it shows no class, with relative lists no method.
    if [[ $form == absolute-opcodes ]]; then
      llvm-objdump-19 --macho --objc-meta-data "$file" >"$file.meta"
      check=(--objdump "$file.meta")
    fi
    compare "$arch" "$file" "${check[@]}"
  done
}

forms='absolute-opcodes absolute-chained relative-opcodes relative-chained'
# shellcheck disable=SC2086 # words on purpose
{
  build arm64 arm64 arm64-apple-ios14 ios-14.0 ios 14.0 $forms
  build arm64 arm64 arm64-apple-ios11 ios-11.0 ios 11.0 $forms
  build arm64 arm64 arm64-apple-macos13 macosx-13.0 macos 13.0 $forms
  build arm64 arm64e arm64e-apple-ios14 ios-14.0 ios 14.0 absolute-opcodes relative-opcodes
  build x86_64 x86_64 x86_64-apple-macos13 macosx-13.0 macos 13.0 absolute-opcodes absolute-chained
  build x86_64 x86_64 x86_64-apple-macos10.12 macosx-10.12 macos 10.12 absolute-opcodes
  build arm64_32 arm64_32 arm64_32-apple-watchos7 watchos-7.0 watchos 7.0 absolute-opcodes
}

# Both processors in one file: the requested one must be used.
llvm-lipo-19 -create arm64-apple-macos13.relative-chained.stripped x86_64-apple-macos13.absolute-chained.stripped \
  -output fat
for thin in arm64-apple-macos13.relative-chained.stripped x86_64-apple-macos13.absolute-chained.stripped; do
  arch=${thin%%-*}
  cmp -s <("$names" fat "$arch" all) <("$names" "$thin" "$arch" all) || fail "fat: other names for $arch"
done

# A program, whose header has an address other than 0.
ld64.lld-19 -arch arm64 -platform_version ios 14.0 14.0 -execute -e _plain -objc_relative_method_lists \
  arm64-apple-ios14.o "$here/objc_fixture.tbd" -o program
compare arm64 program
verdict
