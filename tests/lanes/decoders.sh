# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the instruction decoders against llvm-objdump over Debian's libc, and against what instructions do in the emulator
need_build libunicorn-dev llvm-19 python3 libc6-arm64-cross libc6-i386-cross gcc-arm-linux-gnueabihf \
  libc6-dev-armhf-cross
configure_in check
make_in check decoder-programs
built=$top/build/check/tests
work=$top/build/check/decoders
rm -rf "$work"
mkdir -p "$work"

echo "-- arm64"
arm64=/usr/aarch64-linux-gnu/lib
python3 "$top/tests/arm64-decode-diff.py" --random 20000 --words "$work/arm64" "$built/decode_dump_arm64" \
  "$arm64/libc.so.6" "$arm64/libm.so.6" "$arm64/ld-linux-aarch64.so.1"
python3 "$top/tests/arm64-decode-diff.py" --arch arm64_32 --random 20000 "$built/decode_dump_arm64" "$arm64/libc.so.6"
"$built/emulated/effects_arm64" "$work/arm64"
"$built/emulated/effects_arm64" --arm64_32 "$work/arm64"

echo "-- armv7"
# A static program: unlike Debian's stripped libc it says where its Thumb code, its ARM code and its data are.
echo 'int main(void) { return 0; }' >"$work/empty.c"
arm-linux-gnueabihf-gcc -static "$work/empty.c" -o "$work/armv7"
python3 "$top/tests/decode_diff_armv7.py" "$built/decode_dump_armv7" "$work/armv7"
python3 "$top/tests/decode_diff_armv7.py" --feed "$work/armv7" >"$work/armv7.feed"
"$built/emulated/effects_armv7" 20000 1 <"$work/armv7.feed"

echo "-- x86_64, i386"
python3 "$top/tests/decode-diff-x86.py" "$built/decode_dump_x86" x86_64 --random 20000 /lib/x86_64-linux-gnu/libc.so.6
python3 "$top/tests/decode-diff-x86.py" "$built/decode_dump_x86" i386 --random 20000 /usr/i686-linux-gnu/lib/libc.so.6
