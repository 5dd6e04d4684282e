#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the crash kit's reports as Sentry's events: sentry.py compares all threads, frames, registers, images, notes and
# the cause with --json. `unspool report` reads the event, and `unspool symbolize --log` adds the names. Where
# USP_SENTRY_PYTHON is a Python with sentry-relay (lane profiles), the code that Sentry's servers run accepts each event.
set -euo pipefail
# shellcheck source=tests/crash/common.sh
. "$(dirname "$0")/common.sh"
check() {
  "${USP_SENTRY_PYTHON:-python3}" "$top/tests/crash/sentry.py" ${USP_SENTRY_PYTHON:+--peer} ||
    fail "$1: the event is wrong"
}
for way in segv workers noted overflow thrown assert raise deaf deadlock mach; do
  crash "$way" 2
  for flags in "" --no-symbols; do
    # shellcheck disable=SC2086 # words on purpose
    run $status stack --json $flags "$raw"
    cp out it.json
    # shellcheck disable=SC2086 # words on purpose
    run $status stack --style sentry $flags "$raw"
    cp out it.sentry
    check "$way $flags"
  done
  run 0 symbolize --quiet --log it.sentry --search "${crasher%/*}"
  grep -q '"function": *"main"' out || fail "$way: symbolize --log does not name main"
  ! grep -q '"function": *"main"' it.sentry || fail "$way: the event has names"
  run 0 report --quiet it.sentry
  if [[ $way == mach ]]; then
    out_has '^Exception Type: +EXC_BAD_ACCESS'
  else
    out_has '^Exception Type: +(SIG(SEGV|ABRT)|Exception)$'
  fi
  out_has '^Thread [0-9]+ Crashed:$'
  out_has '^Thread [0-9]+ crashed with '
done
# A process that lives has an event, too, without an exception.
mkfifo typed
"$crasher" word reports <typed >says 2>err &
pid=$!
exec 3>typed
wait_until grep -q ready says || fail "the program is not ready: $(cat says err)"
for style in json sentry; do
  run 0 stack --style $style "$pid"
  cp out it.$style
done
kill "$pid"
exec 3>&-
check "a living process"
# Notes that Sentry does not accept as they are, in a report that another program has written.
python3 "$top/tests/crash/sentry.py" --hostile "$raw" hostile.raw
for style in json sentry; do
  run 0 stack --style $style --no-symbols hostile.raw
  cp out it.$style
done
check "hostile notes"
verdict
