#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack --style` with a process: each style of the library, JSON that conforms to its schema, names of
# C++ and of Rust.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

start "$stuck" deep
run 0 stack --style call-stack-symbols "$pid"
err_is_empty
out_has "^Thread $pid \"stuck\":\$"
out_has '^0 {3}stuck {31}0x[0-9a-f]{16} inner \+ [0-9]+( \([^ ]+\))?$'
out_has '^    \.\.\. [0-9]+ frames left out \.\.\.$'
run 0 stack --style backtrace-symbols "$pid"
out_has "^$stuck\\(inner\\+0x[0-9a-f]+\\) \\[0x[0-9a-f]+\\]\$"
run 0 stack --style bs-backtrace "$pid"
out_has '^Call Backtrace of 3 threads:$'
out_has "^Backtrace of Thread $pid:\$"
out_has '^stuck {27}0x[0-9a-f]+ inner \+ [0-9]+( \([^ ]+\))?$'
run 0 stack --style crash-report "$pid"
out_has "^Process: {13}stuck \\[$pid\\]\$"
out_has '^Thread 0:$'
out_has $'^0   stuck {25}\t0x[0-9a-f]{16} inner \\+ [0-9]+( \\([^ ]+\\))?$'
out_has '^Thread 0 with (X86|ARM) Thread State \((64|32)-bit\):$'
out_has '^Binary Images:$'
out_has "^0x[0-9a-f]+ - 0x[0-9a-f]+ stuck ([a-z0-9_]+ |\([0-9a-f]+\)) <[0-9a-f]{32}> $stuck\$"
run 0 stack --style folded "$pid"
out_has "^stuck;.*main;descend;.*\\[[0-9]+ frames left out\\];descend;.*;inner 1\$"
out_has '^w\\x1b\[31m.*;work;work_outer;work_inner 1$'
run 0 stack --style portable "$pid"
out_has "^0   [0-9a-f-]+ \\+ 0x[0-9a-f]+ $stuck\$"
run 0 stack --style plain --no-symbols "$pid"
out_has '^stuck \+ [0-9]+$'
run 0 stack --image 'stu*' --style call-stack-symbols "$pid"
out_has ' main \+'
out_lacks ' libc'
run 0 stack --no-system --style call-stack-symbols "$pid"
out_has ' main \+'
out_lacks ' libc'
run 2 stack --style nonsense "$pid"
err_has 'nonsense'
run 2 stack --demangle nonsense "$pid"

# ---- JSON against its schema
written() {
  cp "$work/out" "$work/$1.json"
  documents+=("$work/$1.json")
}
documents=()
run 0 stack --json "$pid"
written process
run 0 stack --json --no-symbols --image stuck "$pid"
written filtered
start "$stuck" held
run 0 stack --style json "$pid"
written held
cp tests/tool/captures_itself "$work"
"$work/captures_itself" "$work/raw" "$work/out" >/dev/null
out_has '"image_path": ".*/captures_itself"'
written stack
run 0 stack --json "$work/raw"
written raw
head -c $(($(wc -c <"$work/raw") - 20)) "$work/raw" >"$work/short"
run 0 stack --json "$work/short"
written short
validate stacks "${documents[@]}"
verdict
