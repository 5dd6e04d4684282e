#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the crash kit's reports in Apple's forms, .ips and .crash: ips.py reads both and compares all threads, frames,
# registers and the cause with --json. `unspool report` reads them, and `unspool symbolize --log` adds the names. Where
# USP_CRASH_PYTHON is a Python with pycrashreport (lane profiles), that reads them too.
set -euo pipefail
# shellcheck source=tests/crash/common.sh
. "$(dirname "$0")/common.sh"
for way in segv workers noted overflow abort deaf deadlock mach; do
  crash "$way" 1
  run $status stack --json "$raw"
  cp out it.json
  run $status stack --json --no-lines "$raw"
  cp out lineless.json
  for style in ips crash-report; do
    run $status stack --style $style "$raw"
    cp out it.$style
    run $status stack --style $style --no-lines "$raw"
    cp out lineless.$style
    run $status stack --style $style --no-symbols "$raw"
    cp out nameless.$style
  done
  "${USP_CRASH_PYTHON:-python3}" "$top/tests/crash/ips.py" ${USP_CRASH_PYTHON:+--peer} ||
    fail "$way: the report differs from --json"
  # Our own reader shows the same frames of both forms; without names, they are added again. Inferred tail calls are in
  # the text only, and the frames after the omitted ones have other numbers there.
  grep -E $'^[0-9]+ .*\t' it.crash-report >frames
  for style in ips crash-report; do
    run 0 report --quiet it.$style
    grep -E $'^[0-9]+ .*\t' out >shown
    [[ $way == overflow || $way == abort ]] || cmp -s frames shown ||
      fail "$way: unspool report reads other frames of $style: $(diff frames shown | head)"
    if [[ $way == mach ]]; then
      out_has '^Exception Type: +EXC_BAD_ACCESS \(SIGSEGV\)$'
      out_has '^Exception Subtype: +KERN_INVALID_ADDRESS at 0x0000000000000000$'
      out_has '^Exception Codes: +0x0000000000000001, 0x0000000000000000$'
    else
      out_has '^Exception Type: +SIG(SEGV|ABRT)$'
    fi
    out_has '^Triggered by Thread: +0$'
    out_has '^Thread 0 crashed with '
    run 0 symbolize --quiet --log nameless.$style --search "${crasher%/*}"
    grep -qE $'\t0x[0-9a-f]+ main \\+ |"symbol": "main"' out || fail "$way: symbolize --log does not name main in $style"
    ! grep -qE $'\t0x[0-9a-f]+ main \\+ |"symbol": "main"' nameless.$style || fail "$way: $style has names"
  done
done
# A process that lives has the same form, without a cause.
mkfifo typed
"$crasher" word reports <typed >says 2>err &
pid=$!
exec 3>typed
wait_until grep -q ready says || fail "the program is not ready: $(cat says err)"
run 0 stack --style ips "$pid"
kill "$pid"
exec 3>&-
tail -n +2 out >body
[[ $(python3 -c 'import json; b = json.load(open("body")); print("exception" in b, "asi" in b, len(b["threads"]))') == 'False False 1' ]] ||
  fail "a living process: $(head -30 out)"
verdict
