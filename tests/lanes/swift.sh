# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the Swift package from a clone, its tests, a program that uses it, one that uses it twice, the pods; names against swift-demangle; crash logs; async chains; tasks; skipped without Swift (USP_SWIFT=FOLDER)
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || {
  echo "$no_swift"
  without "no toolchain"
}
need_build binutils clang-19 gdb git perl python3 python3-jsonschema
configure_in check
make_in check all
make_in check tests/demangle/demangle_lines tests/tool/stuck
# One script after the other, because tests of busy tasks must not be slowed by other programs.
for script in demangle/swift swift/crash_log swift/async swift/tasks swift/pods swift/two_packages; do
  (cd "$top/build/check" && "$top/tests/$script.sh")
done
"$top/tests/apple/package.sh"
"$top/tests/swift/package.sh"
