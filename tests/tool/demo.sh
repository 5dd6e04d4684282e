#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that the demo and the examples of the documentation do what the documentation claims.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3

# finishes STATUS PROGRAM [ARGUMENT...]: runs a program to its end.
finishes() {
  local status=0
  timeout 300 "${@:2}" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq $1 ]] || fail "$2: exit status $status instead of $1" "$(cat "$work/out" "$work/err")"
}

# On a busy machine a thread may not answer in time, and is not in the report: another run shows it.
# shellcheck disable=SC2317,SC2329 # called by wait_until
has_three_stacks() { finishes 0 tools/demo && [[ $(grep -c '^Thread ' "$work/out") -eq 3 ]]; }
wait_until has_three_stacks || fail "no report has three stacks"
err_is_empty
out_has '^Hang of [1-9][0-9]{3,}\.[0-9]{3} ms: ongoing$'
out_has '^Heaviest stack, 100 % of the samples:$'
out_has '^When it was late, after [0-9.]+ ms: the same$'
# The functions that hang are in Objective-C if there is a compiler for it.
if grep -qF '[ViewController' "$work/out"; then
  out_has ' -\[ViewController bar\] \+ [0-9]+( \([^ ]+\))?$'
  out_has ' -\[ViewController viewDidLoad\] \+ [0-9]+( \([^ ]+\))?$'
  expect_frames ' [(]main[)]' 'bar]' foo 'viewDidLoad]' demo_load_view main
else
  ! ldd tools/demo | grep -c libobjc >/dev/null || fail "no method is named"
  expect_frames ' [(]main[)]' bar foo viewDidLoad demo_load_view main
fi
if [[ $(readelf -S tools/demo 2>/dev/null) == *.debug_line* ]]; then
  out_has ' (bar|-\[ViewController bar\]) \+ [0-9]+ \(demo_view\.[cm]:[0-9]+\)$'
fi
for chain in 'draw_frame render' 'save_settings autosave'; do
  [[ " $(frames '' | tr '\n' ' ') " == *" $chain "* ]] || fail "no stack has: $chain" "$(cat "$work/out")"
done
# The thread that holds the lock is named.
owner=$(sed -n 's/^    waits for a mutex that thread \([0-9]*\) "demo" holds$/\1/p' "$work/out")
if [[ $(uname -s) == Linux ]]; then
  expect_frames "Thread ${owner:-none} " save_settings autosave
fi
[[ $(grep -c '^Thread ' "$work/out") -eq 3 ]] || fail "the monitor's own thread is in the report" "$(cat "$work/out")"
# The output has every line that README shows, apart from numbers and what the C library's debug information adds.
shown() { sed -E 's/0x[0-9a-f]+/0x/; s/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g; s|Process N [^,]*|Process|' "$@" | grep -v ' libc\.so'; }
if grep -qF '[ViewController' "$work/out"; then
  shown "$work/out" >"$work/shown"
  while IFS= read -r line; do
    grep -qxF -- "$line" "$work/shown" || fail "README's demo has another line: $line" "$(cat "$work/out")"
  done < <(sed -n '/^Hang of/,/^```$/p' "$top/README.md" | grep -v '^```' | shown)
fi

finishes 0 doc/examples/self
out_has '^0 +self +0x[0-9a-f]+ (print_stack|main) \+ [0-9]+$'
out_has ' main \+ [0-9]+$'
out_has '^ends: '

# reports_hang [ARGUMENT...]: runs the example until the hang that it reports has every stack. On a busy machine another
# turn may be a hang, and a thread may not answer in time.
reports_hang() { wait_until has_every_stack "$@" || fail "no hang has every stack"; }
# shellcheck disable=SC2317,SC2329 # called by wait_until
has_every_stack() {
  finishes 0 doc/examples/hang "$@" && [[ $(grep -c take_long "$work/out") -ge 3 ]] &&
    grep -qE '"main":|\(main\):' "$work/out"
}
reports_hang
out_has '^Hang of [0-9.]+ ms: recovered$'
out_has '^[0-9]+ +hang +0x[0-9a-f]+ take_long( \[inlined\]| \+ [0-9]+) \(hang\.c:[0-9]+\)$'
reports_hang --json
python3 - "$work/out" "$top/doc/examples/hang.c" <<'END' || fail "the hang as JSON" "$(cat "$work/out")"
import json, sys
hang = json.load(open(sys.argv[1]))
assert hang["state"] == "recovered" and 250e6 <= hang["duration_ns"], hang["duration_ns"]
assert hang["samples"] == sum(stack["samples"] for stack in hang["stacks"]) > 1
assert hang["heaviest"]["per_mille"] > 0 and hang["first"]["after_ns"] >= 100e6
assert [thread["main"] for thread in hang["threads"]] == [True], hang["threads"]
source = open(sys.argv[2]).read().splitlines()
for stack in (hang["heaviest"], hang["first"], hang["threads"][0]):
    frames = [place for frame in stack["frames"] for place in frame.get("inlined", []) + [frame]]
    culprit = next(frame for frame in frames if frame.get("symbol") == "take_long")
    assert culprit["source_file"] == "hang.c" and "usp_clock()" in source[culprit["source_line"] - 1], culprit
END
cp "$work/out" "$work/hang.json"

validate hang "$work/hang.json"
verdict
