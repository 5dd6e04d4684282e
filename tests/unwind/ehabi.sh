#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests ARM's exception tables that clang, GCC and two linkers write: functions with all kinds of frames, in ARM and in
# Thumb state, and Debian's own libraries. Each answer is compared with readelf's and with DWARF CFI (ehabi_oracle.py
# says how). Runs in the folder of the build, where tests/unwind/table_rules was made.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

rules=$PWD/tests/unwind/table_rules
here=$top/tests/unwind
[[ -x $rules ]] || skip "tests/unwind/table_rules was not built"
need_tools clang-19 ld.lld-19 arm-linux-gnueabihf-gcc llvm-objdump-19 llvm-dwarfdump-19 readelf python3
export PYTHONDONTWRITEBYTECODE=1

# A sample has each compiler, state and level, but not each combination, and the smallest library.
note_sample
make_work
rules=$(runnable "$rules" "$work")
cd "$work"
python3 "$here/ehabi_fixture.py" >fixture.c

# compare FILE OPTION...
compare() {
  local file=$1
  shift
  python3 "$here/ehabi_oracle.py" --rules "$rules" "$@" "$file" || fail "$file: rules differ"
}

# build NAME COMPILER...: compiles with complete CFI and with tables of every function.
build() {
  local name=$1
  shift
  "$@" -march=armv7-a -mfpu=vfpv3 -mfloat-abi=hard -g -w -funwind-tables -fexceptions -fno-stack-protector -fPIC -nostdlib \
    -shared fixture.c -o "$name"
  compare "$name" --least 300 --calls 150
}

clang=(clang-19 --target=arm-linux-gnueabihf -fuse-ld=lld-19 '-Wl,-z,undefs')
gcc=(arm-linux-gnueabihf-gcc)
if is_full_size; then
  for state in -mthumb -marm; do
    for level in -O1 '-Os -fno-omit-frame-pointer'; do
      # shellcheck disable=SC2086 # words on purpose
      build "clang$state${level// /}" "${clang[@]}" "$state" $level
      # shellcheck disable=SC2086
      build "gcc$state${level// /}" "${gcc[@]}" "$state" $level
    done
  done
else
  build clang-thumb "${clang[@]}" -mthumb -Os -fno-omit-frame-pointer
  build gcc-arm "${gcc[@]}" -marm -O1
fi

# Debian's own programs.
for library in /usr/arm-linux-gnueabihf/lib/{libc.so.6,libgcc_s.so.1,ld-linux-armhf.so.3}; do
  is_full_size || [[ $library != */libc.so.6 ]] || continue
  [[ -f $library ]] || skip "$library is not installed"
  compare "$library" --least 15
done

verdict
