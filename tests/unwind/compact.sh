#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests compact unwind that clang and ld64.lld write: functions with all kinds of frames for each processor. Each rule
# is compared with the CFI of the same function, each page with llvm-objdump's encodings (compact_oracle.py says how).
# Runs in the folder of the build, where tests/unwind/table_rules was made.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

rules=$PWD/tests/unwind/table_rules
here=$top/tests/unwind
[[ -x $rules ]] || skip "tests/unwind/table_rules was not built"
need_tools clang-19 ld64.lld-19 llvm-nm-19 llvm-objdump-19 llvm-dwarfdump-19 llvm-readobj-19 python3
export PYTHONDONTWRITEBYTECODE=1

make_work
rules=$(runnable "$rules" "$work")
cd "$work"

cat >libraries.tbd <<'END'
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-ios, arm64_32-watchos, x86_64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ arm64-ios, arm64_32-watchos, x86_64-macos ]
    symbols: [ _outside, dyld_stub_binder ]
...
END

# compile OBJECT ARCH TARGET FLAG...
compile() {
  local object=$1 arch=$2 target=$3
  shift 3
  python3 "$here/compact_fixture.py" "$arch" >"$arch.c"
  clang-19 -target "$target" -O1 -fno-stack-protector -w -femit-dwarf-unwind=always "$@" -c "$arch.c" -o "$object"
}

# compare NAME ARCH TARGET LEAST PLATFORM VERSION FLAG...: needs LEAST functions of each kind; without a platform it
# links nothing.
compare() {
  local name=$1 arch=$2 target=$3 least=$4 platform=$5 version=$6 image=() flags=()
  shift 6
  compile "$name.o" "$arch" "$target" "$@"
  if [[ -n $platform ]]; then
    cp "$name.o" "$name.linked.o"
    if [[ $arch == arm64_32 ]]; then
      # ld64.lld 19 crashes on CFI of arm64_32. It also takes the mode of frames for that of CFI, which it then leaves
      # out.
      compile "$name.linked.o" "$arch" "$target" "$@" -DWITHOUT_CFI
      flags=(--not-linked _f1000000 --lossy)
    fi
    ld64.lld-19 -arch "$arch" -platform_version "$platform" "$version" "$version" -o "$name" "$name.linked.o" libraries.tbd
    image=("$name")
  fi
  python3 "$here/compact_oracle.py" --rules "$rules" --arch "$arch" --least "$least" "${flags[@]}" "$name.o" \
    "${image[@]}" || fail "$name: rules differ"
}

# A sample leaves out frames of which another case of the processor has more, and a part of the subsets of registers.
note_sample
if is_full_size; then
  compare arm64 arm64 arm64-apple-ios14 1 ios 14.0
  compare x86_64 x86_64 x86_64-apple-macos11 100 macos 11.0
  compare i386-frameless i386 i386-apple-macos10.14 2 '' '' -fomit-frame-pointer
fi
compare arm64-frameless arm64 arm64-apple-ios14 300 ios 14.0 -fomit-frame-pointer
compare arm64_32 arm64_32 arm64_32-apple-watchos7 1 watchos 7.0
compare x86_64-frameless x86_64 x86_64-apple-macos11 6 macos 11.0 -fomit-frame-pointer
# No linker here links these with compact unwind.
compare i386 i386 i386-apple-macos10.14 40 '' ''
compare armv7k armv7k armv7k-apple-watchos2 2 '' ''

# Both kinds of pages must occur: llvm-objdump gives the number of an encoding in a compressed page.
llvm-objdump-19 --unwind-info arm64-frameless >arm64.pages
llvm-objdump-19 --unwind-info x86_64-frameless >x86_64.pages
grep -q 'encoding=' arm64.pages || fail "no regular page"
grep -q 'encoding\[[0-9]*\]=' x86_64.pages || fail "no compressed page"

verdict
