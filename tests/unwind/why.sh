#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests tests/unwind/why: for each frame of a waiting program its caller is the stack's next frame, and the row that
# decided is named. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools python3
[[ ${USP_TEST_UNDER-} != qemu-* ]] || skip "the program runs in an emulator"
read -ra cc <<<"${CC:-cc}"
why=$PWD/tests/unwind/why
cd "$work"
"${cc[@]}" -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables \
  "$top/tests/unwind/why_frames.c" -o frames 2>build.log || fail "why_frames.c: $(cat build.log)"
start ./frames
"$unspool" stack "${patient[@]}" --json "$pid" >stack.json
python3 -c 'import json
frames = json.load(open("stack.json"))["threads"][0]["frames"]
for frame in frames:
    if not frame.get("inline"): print(frame["address"])' >pcs
mapfile -t pcs <pcs
[[ ${#pcs[@]} -ge 5 ]] || fail "only ${#pcs[@]} frames"
for ((i = 0; i + 1 < ${#pcs[@]}; i++)); do
  "$why" "$pid" "$pid" "$i" >"why.$i" 2>&1 || fail "frame $i: $(cat "why.$i")"
  caller=$(sed -n 's/^caller: \(0x[0-9a-f]*\) .*/\1/p' "why.$i")
  [[ $((caller)) -eq $((${pcs[i + 1]})) ]] || fail "frame $i: the caller is ${caller:-missing}, not ${pcs[i + 1]}"
  grep -q ': chosen$' "why.$i" || fail "frame $i: no row is chosen: $(cat "why.$i")"
done
# The functions without tables are decided by their instructions.
cat why.* >all
grep -q 'describes nothing' all || fail "each frame has a table: $(cat all)"
grep -q 'row [0-9]*, forward: .*: chosen' all || fail "instructions decide nowhere: $(cat all)"
grep -q '^    path: cfa=' all || fail "no path is shown"
verdict
