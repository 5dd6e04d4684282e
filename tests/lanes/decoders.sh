# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the instruction decoders against llvm-objdump over Debian's libc, and against what instructions do in the emulator
need_build libunicorn-dev libzydis-dev llvm-19 python3 clang-19 libc6-arm64-cross libc6-i386-cross gcc-arm-linux-gnueabihf \
  libc6-dev-armhf-cross
configure_in check
make_in check decoder-programs
built=$top/build/check/tests
# Each processor's check takes minutes on one processor of this machine, so they run side by side, the longest first.
arm64() { RANDOM_WORDS=20000 "$top/tests/arch/arm64-check.sh" /usr/aarch64-linux-gnu/lib/libc.so.6; }

armv7() {
  # A static program, because unlike Debian's stripped libc its symbols mark Thumb code, ARM code and data.
  echo 'int main(void) { return 0; }' >"$work/empty.c"
  arm-linux-gnueabihf-gcc -static "$work/empty.c" -o "$work/armv7"
  python3 "$top/tests/arch/decode_diff_armv7.py" "$built/arch/decode_dump_armv7" "$work/armv7"
  python3 "$top/tests/arch/decode_diff_armv7.py" --feed "$work/armv7" >"$work/armv7.feed"
  "$built/emulated/effects_armv7" 20000 1 <"$work/armv7.feed"
}

# x86 PROCESSOR LIBRARY: checks the x86 decoder for x86_64 or i386.
x86() {
  python3 "$top/tests/arch/decode-diff-x86.py" "$built/arch/decode_dump_x86" "$1" --random 20000
  python3 "$top/tests/arch/decode-diff-x86.py" "$built/arch/decode_dump_x86" "$1" --list "$work/$1" "$2"
  "$built/emulated/effects_x86" "$1" <"$work/$1"
  "$built/arch/clobbers_x86" "$1"
}

# run COMMAND...: prints the command's name and runs it.
run() {
  echo "-- ${*:1:2}"
  "$@"
}
beside run arm64
beside run x86 x86_64 /lib/x86_64-linux-gnu/libc.so.6
beside run x86 i386 /usr/i686-linux-gnu/lib/libc.so.6
beside run armv7
beside_ended
