#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the decoders of arm64 and arm64_32 with llvm-objdump and with Unicorn: over corpus_arm64.c compiled for
# many targets and options, over invented instructions, and over the FILEs (ELF or Mach-O for arm64; without any, the
# libraries of Debian's cross compiler, where they are installed).
# Not a part of "make check": it needs clang, llvm-objdump and libunicorn, and takes minutes.
#   arm64-check.sh [FILE…]
# Environment: CC, CLANG, OBJDUMP, OBJCOPY; RANDOM_WORDS, how many to invent.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${CC:=cc}" "${CLANG:=clang-19}" "${RANDOM_WORDS:=1000000}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sources="$root/arch/arm64/decode.c $root/arch/arm64/memory.c"
# shellcheck disable=SC2086
$CC -std=gnu11 -O2 -I"$root" -I"$root/include" -o "$work/dump" "$here/decode_dump_arm64.c" $sources
# shellcheck disable=SC2086
$CC -std=gnu11 -O2 -I"$root" -I"$root/include" -o "$work/effects" "$root/tests/emulated/effects_arm64.c" $sources -lunicorn

# compile NAME OPTION…: an object for each optimization, with and without frame pointers
compile() {
    name=$1
    shift
    for level in -O0 -O1 -O2 -O3 -Os -Oz; do
        for pointer in -fno-omit-frame-pointer -fomit-frame-pointer; do
            $CLANG "$@" $level $pointer -c -o "$work/$name$level$pointer.o" "$here/corpus_arm64.c"
        done
    done
}
compile arm64-ios -target arm64-apple-ios13
compile arm64-auto -target arm64-apple-ios13 -fswift-async-fp=auto
compile arm64-macos -target arm64e-apple-macos13 -fptrauth-returns
compile arm64-linux -target aarch64-linux-gnu
compile arm64-lse -target aarch64-linux-gnu -march=armv8.5-a+lse -mbranch-protection=standard
compile arm64-sve -target aarch64-linux-gnu -march=armv9.2-a+sve2+mops+cssc
compile arm64-tags -target aarch64-linux-gnu -march=armv8.5-a+memtag -fsanitize=memtag-stack
compile watch -target arm64_32-apple-watchos8

if [ $# -eq 0 ]; then
    for library in /usr/aarch64-linux-gnu/lib/*.so.*; do
        if [ -f "$library" ] && [ ! -L "$library" ]; then set -- "$@" "$library"; fi
    done
fi

failed=0
# hold ARCH OPTION FILE…
hold() {
    arch=$1 option=$2
    shift 2
    echo "$arch:"
    "$here/arm64-decode-diff.py" --arch "$arch" --random "$RANDOM_WORDS" --words "$work/words" "$work/dump" "$@" || failed=1
    # Messages of this Unicorn about instructions on which it asserts are ignored.
    # shellcheck disable=SC2086
    "$work/effects" $option "$work/words" 2>/dev/null || failed=1
}
hold arm64 "" "$work"/arm64-*.o "$@"
hold arm64_32 --arm64_32 "$work"/watch-*.o
exit $failed
