# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the instruction decoders against llvm-objdump over Debian's libc, and against what instructions do in the emulator
need_build libunicorn-dev libzydis-dev llvm-19 python3 clang-19 libc6-arm64-cross libc6-i386-cross gcc-arm-linux-gnueabihf \
  libc6-dev-armhf-cross
configure_in check
make_in check decoder-programs
built=$top/build/check/tests
work=$top/build/check/decoders
rm -rf "$work"
mkdir -p "$work"

echo "-- arm64"
RANDOM_WORDS=20000 "$top/tests/arch/arm64-check.sh" /usr/aarch64-linux-gnu/lib/libc.so.6

echo "-- armv7"
# A static program: unlike Debian's stripped libc it says where its Thumb code, its ARM code and its data are.
echo 'int main(void) { return 0; }' >"$work/empty.c"
arm-linux-gnueabihf-gcc -static "$work/empty.c" -o "$work/armv7"
python3 "$top/tests/arch/decode_diff_armv7.py" "$built/arch/decode_dump_armv7" "$work/armv7"
python3 "$top/tests/arch/decode_diff_armv7.py" --feed "$work/armv7" >"$work/armv7.feed"
"$built/emulated/effects_armv7" 20000 1 <"$work/armv7.feed"

for processor in x86_64 i386; do
  echo "-- $processor"
  case $processor in
  x86_64) library=/lib/x86_64-linux-gnu/libc.so.6 ;;
  i386) library=/usr/i686-linux-gnu/lib/libc.so.6 ;;
  esac
  python3 "$top/tests/arch/decode-diff-x86.py" "$built/arch/decode_dump_x86" "$processor" --random 20000
  python3 "$top/tests/arch/decode-diff-x86.py" "$built/arch/decode_dump_x86" "$processor" --list "$work/$processor" "$library"
  "$built/emulated/effects_x86" "$processor" <"$work/$processor"
  "$built/arch/clobbers_x86" "$processor"
done
