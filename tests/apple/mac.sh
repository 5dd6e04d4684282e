#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The steps of .github/workflows/apple.yml, for a Mac with Xcode and Homebrew.
#   tests/apple/mac.sh packages      installs what builds and tests need
#   tests/apple/mac.sh check         builds everything, runs the tests
#   tests/apple/mac.sh xcframework   builds the slices of the installed SDKs
#   tests/apple/mac.sh swift         builds the Swift package, runs its tests
#   tests/apple/mac.sh simulator     runs the device checklist and the package's tests in a simulator of iOS
#   tests/apple/mac.sh objects       compiles the checklist for that simulator; on Linux too, with the stand-in xcrun
# Uses only features of bash 3.2, which macOS has.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"

# Homebrew's Libtool has the names that Autoconf expects in a folder of its own.
if command -v brew >/dev/null 2>&1; then PATH=$(brew --prefix)/opt/libtool/libexec/gnubin:$PATH; fi

# The compiler for the simulator, and the processor that it has here.
case $(uname -m) in
arm64 | aarch64) arch=arm64 ;;
*) arch=x86_64 ;;
esac
cc=(xcrun --sdk iphonesimulator clang -arch "$arch" -mios-simulator-version-min=15.0)

# compile FOLDER: compiles the checklist (doc/examples/ios) and the program that runs it to FOLDER. On Linux, the stand-in
# SDK has only declarations of functions that the library uses; program.h adds those of programs.
compile() {
  local source flags=()
  [[ $(uname -s) == Darwin ]] || flags=(-include tests/apple/program.h)
  for source in doc/examples/ios/checklist.c tests/apple/run_checklist.c; do
    "${cc[@]}" -std=gnu11 -O1 -Wall -Wextra -Werror "${flags[@]+"${flags[@]}"}" -Iinclude -Idoc/examples/ios -c \
      -o "$1/$(basename "$source" .c).o" "$source"
  done
}

# simulate PROGRAM: starts the simulator of the first iPhone that is available, and runs the program and the package's
# tests there.
simulate() {
  local device
  device=$(xcrun simctl list devices available | sed -nE 's/^ +iPhone.*\(([0-9A-F-]{36})\).*/\1/p' | head -n 1)
  [[ -n $device ]] || {
    echo "no simulator of an iPhone is installed" >&2
    return 1
  }
  xcrun simctl boot "$device"
  xcrun simctl bootstatus "$device"
  xcrun simctl spawn "$device" "$1"
  xcodebuild test -scheme Unspool-Package -destination "id=$device"
}

case ${1-} in
packages) brew install autoconf automake libtool pkgconf check zstd xz ;;
check) tools/quickstart check ;;
xcframework) tools/build-apple ;;
swift) swift test -Xcc -Werror -Xswiftc -warnings-as-errors ;;
objects | simulator)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  compile "$work"
  if [[ $1 == simulator ]]; then
    tools/build-apple --slice "ios-simulator-$arch"
    "${cc[@]}" -o "$work/checklist" "$work"/*.o "build/apple/slices/ios-simulator-$arch/lib/libunspool.a"
    simulate "$work/checklist"
  fi
  ;;
*)
  sed -n 's/^#  *//p' "$0" >&2
  exit 2
  ;;
esac
