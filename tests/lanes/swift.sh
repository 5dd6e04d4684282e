# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the Swift package from a clone, its tests, a program with it; names against swift-demangle; crash logs; async chains; tasks; skipped without Swift (USP_SWIFT=FOLDER)
# shellcheck source=tests/demangle/swift_toolchain.sh
. "$top/tests/demangle/swift_toolchain.sh"
if ! find_swift; then
  # Debian 12 has none, so this lane alone does without what it needs.
  echo "skipped: $no_swift"
  exit 0
fi
need_build binutils clang-19 gdb git perl python3 python3-jsonschema
configure_in swift --disable-static
make_in swift all
make_in swift tests/demangle/demangle_lines tests/tool/stuck
(cd "$top/build/swift" && "$top/tests/demangle/swift.sh")
(cd "$top/build/swift" && "$top/tests/swift/crash_log.sh")
(cd "$top/build/swift" && "$top/tests/swift/async.sh")
(cd "$top/build/swift" && "$top/tests/swift/tasks.sh")
"$top/tests/apple/package.sh"
"$top/tests/swift/package.sh"
