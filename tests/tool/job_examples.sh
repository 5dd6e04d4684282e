#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the programs in doc/examples/jobs, the most frequent uses of the library, and checks what each prints. Each has
# at most 12 lines, not counting comments and empty lines.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work
examples=doc/examples/jobs
for source in "$top/$examples"/*.c; do
  name=$(basename "$source" .c)
  lines=$(grep -vcE '^((/| )\*.*)?$' "$source")
  [[ $lines -le 12 ]] || fail "$name.c has $lines lines"
  [[ -x $examples/$name ]] || fail "$name is not compiled"
done
[[ $(printf '%s\n' "$top/$examples"/*.c | wc -l) -eq 10 ]] || fail "there are not ten"

# prints NAME REGEX [ARGUMENT...]: runs an example, which must succeed and print a line that matches.
prints() {
  run_example "$@" || fail "$1: exit status $status, or no line matches $2" "$(cat "$work/out" "$work/err")"
}
run_example() {
  status=0
  timeout 300 "$(runnable "$examples/$1" "$work")" "${@:3}" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq 0 ]] && grep -qE -- "$2" "$work/out" "$work/err"
}
# prints_at_last ...: the same of an example whose thread may not answer within the default timeout of a busy machine, or
# may have no sample there. It is run until it prints such a line.
prints_at_last() {
  wait_until run_example "$@" || fail "$1: exit status $status, or no line matches $2" "$(cat "$work/out" "$work/err")"
}
also_prints() { grep -qE -- "$1" "$work/out" "$work/err" || fail "no line matches $1" "$(cat "$work/out" "$work/err")"; }

prints own_stack '^0 .* main \+ [0-9]+'
prints all_threads '^Thread [0-9]+ "all_threads":$'
also_prints '^0 .* main \+ [0-9]+'
prints threads_json '"symbol": "main"'
if have python3; then python3 -m json.tool "$work/out" >/dev/null || fail "threads_json: no JSON"; fi
prints thread_text ' main \+ [0-9]+'
also_prints '^0 .* [a-z_]+'
prints backtrace '^0x[0-9a-f]+ main$'
prints_at_last hang ' main \+ [0-9]+'
also_prints '^Hang of [0-9.]+ ms'
prints_at_last profile '>main<|main \('
also_prints '<svg '

# Another process, which says when it runs, then a core.
if [[ -x tests/tool/stuck ]]; then
  start tests/tool/stuck busy
  prints_at_last process ' (inner|outer|main) \+ [0-9]+' "$pid"
  also_prints '^Thread '"$pid"' "stuck":$'
  if "$(runnable "$examples/process" "$work")" "$pid" >/dev/full; then fail "process: exit status 0 for output that cannot be written"; fi
  stop
fi
if [[ $(cat /proc/sys/kernel/core_pattern) == core ]]; then
  # shellcheck disable=SC2016 # expanded by the inner shell
  { (cd "$work" && ulimit -c unlimited && exec sh -c 'kill -QUIT $$') || :; } >/dev/null 2>&1
  core=$(echo "$work"/core*)
  if [[ -s $core ]]; then
    prints core '^Thread [0-9]+' "$core"
    also_prints '^0 .*0x[0-9a-f]+'
  fi
fi
status=0
"$(runnable "$examples/core" "$work")" "$work/nothing" >"$work/out" 2>&1 || status=$?
[[ $status -eq 1 ]] || fail "core: exit status $status for a file that does not exist"
also_prints 'nothing'
if part_needs nm; then
  file=$examples/address
  [[ ! -f $examples/.libs/address ]] || file=$examples/.libs/address
  prints address '^main$' "$file" "$(nm "$file" | awk '$3 == "main" { print "0x" $1 }')"
fi
verdict
