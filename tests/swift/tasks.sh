#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack --tasks`: a program that knows which of its tasks are suspended, and where, is compared with the
# output about the process and about its core. Also tests tasks that never rest, and a process without Swift. Run in the
# build folder.
set -euo pipefail
# shellcheck source=tests/swift/common.sh
. "$(dirname "$0")/common.sh"

# suspend NAME: starts the program and waits until its last task is about to suspend, which it reports after "ready".
suspend() {
  start_until '*static Suspended.main*' "$work/$1"
  grep -qx ready "$work/truth" || fail "$1 ended early"
}

# look OPTION... TARGET: writes the output to $work/out, once all tasks but one are suspended.
look() {
  wait_until one_runs "$@" || fail "unspool stack --tasks $*: $(cat "$work/err")"
}
# shellcheck disable=SC2317,SC2329 # called by wait_until
one_runs() {
  "$unspool" stack --tasks --no-lines "$@" >"$work/out" 2>"$work/err" &&
    grep -qE '"tasks_running": 1,|thread runs, 1 running$' "$work/out"
}

# show FILE TARGET: writes the target's tasks as JSON.
show() {
  look --json --demangle short "$2"
  cp "$work/out" "$1"
}

# judge NAME: checks the process and its core.
judge() {
  suspend "$1"
  show "$work/$1.json" "$pid"
  compare tasks "$work/truth" "$work/$1.json"
  core "$pid"
  show "$work/$1-core.json" "$work/core.$pid"
  compare tasks "$work/truth" "$work/$1-core.json"
}

for level in Onone O Osize; do
  echo "$level"
  must_compile "$level" suspended "-$level"
  judge "$level"
  if [[ $level == O ]]; then
    look "$pid"
    out_has '^[0-9]+ tasks that no thread runs, 1 running$'
    out_has '^Task [0-9]+, suspended, awaits a continuation, child of task [0-9]+$'
    out_has '^Task [0-9]+, suspended, awaits a child of its task group$'
    out_has '^Task [0-9]+, waits for its executor$'
    out_has ' awaitsGeneric\(_:\) await \+ 0$'
    look --max 10 "$pid"
    out_has '^    \.\.\. further frames left out \.\.\.$'
    run 2 stack --tasks --merge "$pid"
  fi
  end "$pid"
done

# The runtime is linked into the program, so its variables are only in the symbol table.
if [[ -d ${swift_folder%/bin}/lib/swift_static ]]; then
  echo static
  must_compile static suspended -O -static-stdlib
  judge static
  end "$pid"
  strip "$work/static"
  suspend static
  run 1 stack --tasks "$pid"
  err_has "Swift's concurrency runtime is not loaded"
  end "$pid"
else
  echo "skipped: a static runtime, which the toolchain has not"
fi

# Tasks that never rest: every reported task must be true.
for level in Onone O; do
  must_compile busy busy "-$level"
  start_until ready "$work/busy"
  : >"$work/busy.json"
  for _ in {1..100}; do
    # A thread that starts or ends meanwhile may have no stack; then the status is 1.
    "$unspool" stack --tasks --no-lines --demangle short --json "$pid" >>"$work/busy.json" 2>/dev/null || :
  done
  count=$(python3 "$here/compare.py" moving "$work/busy.json") || fail "busy.swift, $level"
  echo "busy, $level: $count tasks in 100 snapshots"
  [[ $count =~ ^[0-9]+$ && $count -ge 10 ]] || fail "busy.swift, $level: $count"
  end "$pid"
done

# Without Swift, the threads are shown and the exit status reports it.
start "$stuck"
run 1 stack --tasks "$pid"
err_has "no Swift tasks: Swift's concurrency runtime is not loaded"
out_has '^Thread '
out_lacks 'Task'
run 1 stack --tasks --json "$pid"
out_lacks '"tasks"'
validate stacks "$work/Onone.json" "$work/O-core.json"
verdict
