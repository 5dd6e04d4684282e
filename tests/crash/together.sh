#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the crash kit where several processes use one folder at the same time (doc/crash.md): an app and its extension,
# instances of one program, a server's workers.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
crasher=$PWD/tests/crash/crasher
reports=$work/reports
ulimit -c 0
cd "$work"

# An emulator hides which program a process runs.
[[ ${USP_TEST_UNDER-} != qemu-* ]] || exit 77

# ends STATUS COMMAND...: runs a command that ends with this status.
ends() {
  local status=0
  { timeout 300 "${@:2}" >says 2>err; } 2>/dev/null || status=$?
  [[ $status -eq $1 ]] || fail "${*:2}: exit status $status instead of $1: $(cat err)"
}
# last_is PROGRAM WORDS: what the program is told about its last run.
last_is() { [[ $("$1" --last "$reports" | head -n 1) == "$2, "* ]] || fail "$1 is told: $("$1" --last "$reports")"; }
# whole COUNT: there are so many reports, each of them whole, and none is unfinished.
whole() {
  local file found=0
  for file in "$reports"/*.raw; do
    [[ -e $file ]] || continue
    found=$((found + 1))
    run 0 stack --no-symbols "$file"
    [[ ! -s $work/err ]] || fail "$file: $(cat "$work/err")"
  done
  [[ $found -eq $1 ]] || fail "$found reports instead of $1: $(ls "$reports")"
}

# An app and its extension: two programs.
for name in app extension; do
  ln -s "$crasher" "$name.link"
  cp "$(readlink -f "$name.link")" "$name"
done
ends 139 ./app segv "$reports"
ends 0 ./extension exit "$reports"
last_is ./app 'crashed, 1 in a row'
last_is ./extension 'ended, 0 in a row'
# The app crashes at each start, and the extension ends well in between: the app has crashed three times in a row.
ends 139 ./app segv "$reports"
ends 0 ./extension exit "$reports"
ends 139 ./app segv "$reports"
ends 137 ./extension kill "$reports"
last_is ./app 'crashed, 3 in a row'
last_is ./extension 'unexplained, 0 in a row'
# The extension sends the app's reports and deletes them: the app is still told of the crash.
for ((i = 0; i < 3; i++)); do ./extension --delete "$reports"; done
last_is ./app 'crashed, 3 in a row'
whole 0
ends 0 ./app exit "$reports"
last_is ./app 'ended, 0 in a row'
last_is ./extension 'unexplained, 0 in a row'

# A program that has not run is not told of another one's run.
cp app newcomer
last_is ./newcomer 'no run, 0 in a row'

# An instance runs while others start, end, crash and are killed: it is no ended run, and keeps its own report.
rm -rf "$reports"
mkfifo pipe
"$crasher" word "$reports" <pipe >word-output 2>err-word &
lives=$!
exec 7>pipe
wait_until grep -q ready word-output || fail "the program is not ready: $(cat word-output err-word)"
last_is "$crasher" 'no run, 0 in a row'
ends 0 "$crasher" exit "$reports"
last_is "$crasher" 'ended, 0 in a row'
ends 137 "$crasher" kill "$reports"
last_is "$crasher" 'unexplained, 0 in a row'
ends 139 "$crasher" segv "$reports"
last_is "$crasher" 'crashed, 1 in a row'
echo >&7
exec 7>&-
status=0
{ wait "$lives"; } 2>/dev/null || status=$?
[[ $status -eq 139 ]] || fail "the living process ends with $status"
whole 2

# A server forks workers, each of which has its own run. Half of them crash, the others are killed.
rm -rf "$reports"
ends 0 "$crasher" workers-of-fork "$reports"
whole 4
ends 0 "$crasher" exit "$reports"
whole 4
[[ -z $(find "$reports" -name '*.open') ]] || fail "an unfinished report is left: $(ls "$reports")"

# 16 processes start and crash at the same time: 16 reports, and each later start deletes what exceeds the limit.
rm -rf "$reports"
ends 0 "$crasher" exit "$reports"
for round in 1 2; do
  for ((i = 0; i < 16; i++)); do
    { timeout 300 "$crasher" segv "$reports" >/dev/null 2>&1 || :; } 2>/dev/null &
  done
  wait
  [[ $round -ne 1 ]] || whole 16
done
ends 0 "$crasher" exit "$reports"
whole 20
verdict
