# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the tests of shared caches: links the dylibs of which tests/shared_cache/make_cache.py makes caches.

shared_cache=$top/tests/shared_cache

# target_of ARCH: prints the compiler's target and the arguments of the linker.
target_of() {
  case $1 in
  arm64 | arm64e) echo "arm64-apple-ios16.0 arm64 ios 16.0" ;;
  arm64_32) echo "arm64_32-apple-watchos9.0 arm64_32 watchos 9.0" ;;
  x86_64) echo "x86_64-apple-macos13.0 x86_64 macos 13.0" ;;
  esac
}

# link_dylib ARCH FILE INSTALL_NAME SOURCE DYLIB...: links FILE. No library of a system is needed. The
# fixups are dyld's opcodes, which the linker writes for every processor.
link_dylib() {
  local arch=$1 out=$2 name=$3 source=$4 target linked platform version
  shift 4
  # lld 19 writes relative method lists for arm64 only. The writer of caches converts the others.
  local lists=()
  [[ $arch != arm64* || $arch == arm64_32 ]] || lists=(-objc_relative_method_lists)
  read -r target linked platform version < <(target_of "$arch")
  clang-19 -target "$target" -O1 -fno-exceptions -fobjc-runtime=macosx -fno-stack-protector -g0 \
    -c "$shared_cache/$source" -o "$out.o"
  ld64.lld-19 -arch "$linked" -dylib -platform_version "$platform" "$version" "$version" -install_name "$name" \
    -no_fixup_chains -ignore_optimization_hints -no_adhoc_codesign "${lists[@]}" "$out.o" "$@" -o "$out"
  rm "$out.o"
}

# make_dylibs ARCH FOLDER: links the three dylibs of an architecture: sets `dylibs`, with a library before its users.
make_dylibs() {
  local arch=$1 out=$2
  mkdir -p "$out"
  link_dylib "$arch" "$out/libSystem.B.dylib" /usr/lib/libSystem.B.dylib system.c
  link_dylib "$arch" "$out/libobjc.A.dylib" /usr/lib/libobjc.A.dylib objc_runtime.c "$out/libSystem.B.dylib"
  link_dylib "$arch" "$out/Gamma" /System/Library/Frameworks/Gamma.framework/Gamma gamma.m "$out/libSystem.B.dylib" \
    "$out/libobjc.A.dylib"
  # shellcheck disable=SC2034 # for the scripts that source this
  dylibs=("$out/libSystem.B.dylib" "$out/libobjc.A.dylib" "$out/Gamma")
}
