#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that traces of Flutter are named by a file NAME.symbols without a build id, which is found by its processor.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools clang-19 ld.lld-19 llvm-nm-19 llvm-objcopy-19

cd "$work"
# The part with all functions begins before the first one, as in a snapshot, and is an object of data for the linker.
cat >part.c <<'END'
volatile int sink;
__asm__(".text\n.globl _kDartIsolateSnapshotInstructions\n.type _kDartIsolateSnapshotInstructions, %object\n"
        "_kDartIsolateSnapshotInstructions:\n.zero 64\n");
__attribute__((noinline)) int take(int a) { sink = a; return a + sink; }
int serve(int a) { return take(a) + 1; }
END
# make_symbols TARGET FILE [FLAGS]
make_symbols() {
  local target=$1 file=$2
  clang-19 -target "$target" -g -O1 -fPIC -c -o part.o part.c
  ld.lld-19 --build-id=none -shared "${@:3}" -o "$file" part.o
  llvm-objcopy-19 --only-keep-debug "$file"
}
mkdir both other none
make_symbols aarch64-linux-gnu both/app.ios-arm64.symbols
make_symbols x86_64-linux-gnu both/app.android-x64.symbols
make_symbols x86_64-linux-gnu other/app.android-x64.symbols
begin=0x$(llvm-nm-19 both/app.ios-arm64.symbols | awk '/_kDartIsolate/ { print $1 }')
take=0x$(llvm-nm-19 both/app.ios-arm64.symbols | awk '/ take$/ { print $1 }')
inside=$((take - begin + 4))

# trace ARCH VIRT [BUILD_ID]: a program whose isolate begins at VIRT. The frame's address is that of a call.
trace() {
  printf '*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***\n'
  printf 'pid: 4711, tid: 6101234560, name io.flutter.1.ui\nos: ios arch: %s comp: no sim: no\n' "$1"
  [[ -z ${3-} ]] || printf "build_id: '%s'\n" "$3"
  printf 'isolate_dso_base: 104e5c000, vm_dso_base: 104e5c000\n'
  printf '    #00 abs %016x virt %016x _kDartIsolateSnapshotInstructions+0x%x\n' \
    $((0x104e5c000 + $2 + inside + 1)) $(($2 + inside + 1)) $((inside + 1))
}
# The program is laid out otherwise than its debug information: the symbol decides, not the address.
id=0123abcd456789abcdef0123456789ab
for build in "" "$id"; do
  trace arm64 0x5f000 "$build" >trace.txt
  run 0 symbolize --log trace.txt --search both
  out_has "^    #00 abs [0-9a-f]+ virt [0-9a-f]+ take\+0x5 \(part\.c:4\)$"
  err_has 'taken is the only file NAME\.symbols without a build id for its processor, both/app\.ios-arm64\.symbols$'
  # The same frame twice: the second is answered with the file that was chosen for the first.
  frame=$(tail -n 1 trace.txt)
  printf '%s\n' "$frame" >>trace.txt
  run 0 symbolize --quiet --log trace.txt --search both
  [[ $(grep -c ' take+0x5 (part\.c:4)$' out) == 2 ]] || fail "two frames: $(cat out)"
done
# A frame of the same build in a crash report: its offset is the program's, so the file has no name for it.
{
  cat trace.txt
  printf '3   App             0x%016x App + %d\n\nBinary Images:\n' $((0x104e5c000 + take + 4)) $((take + 4))
  printf '0x104e5c000 - 0x104f6bfff App arm64 <%s> /private/App\n' "$id"
} >mixed.txt
run 0 symbolize --quiet --log mixed.txt --search both
out_has '^3   App             0x[0-9a-f]+ App \+ '
# Another processor's file is not used, nor one of two, nor another build's when the id is that of a file.
trace arm64 0x5f000 "$id" >trace.txt
run 0 symbolize --log trace.txt --search other
cmp -s trace.txt out || fail "the file of another processor is used"
cp both/app.ios-arm64.symbols other/first.symbols
cp both/app.ios-arm64.symbols other/second.symbols
run 0 symbolize --log trace.txt --search other
cmp -s trace.txt out || fail "one of two files is used"
err_has '--search has several files NAME\.symbols without a build id for its processor$'
make_symbols aarch64-linux-gnu both/App "--build-id=0x$id" -z separate-code
run 0 symbolize --log trace.txt --search both
! grep -q 'taken is' err || fail "the build of that id is there"
# Without the symbol, the offset counts from the program, whose layout need not be that of the file.
sed 's/ _kDart.*//' trace.txt >bare.txt
rm both/App
run 0 symbolize --log bare.txt --search both
cmp -s bare.txt out || fail "a frame without a symbol has a name"
# Android's libapp.so is laid out as the file.
printf '      #00 pc %016x  /data/app/x/lib/arm64/libapp.so (BuildId: %s)\n' $((take)) "$id" >tombstone.txt
run 0 symbolize --log tombstone.txt --search both/app.ios-arm64.symbols
out_has 'libapp\.so \(take\+0\)'
verdict
