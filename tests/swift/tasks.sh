#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `unspool stack --tasks`: a program that knows which of its tasks are suspended, and where, compared with what is shown of the
# process and of a core; tasks that are never at rest; and a process without Swift. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_tools python3 gcore
[[ $(uname -sm) == 'Linux x86_64' ]] || skip "not Linux on x86_64"
here=$top/tests/swift/async

compare() { python3 "$here/compare.py" "$@" || fail "$*"; }

# compile NAME SOURCE FLAG...: $work/NAME. False: the toolchain cannot.
compile() {
  "$swift_folder/swiftc" -swift-version 6 -parse-as-library -module-name "$2" "${@:3}" "$here/$2.swift" -o "$work/$1" \
    >"$work/log" 2>&1
}

# suspend NAME: starts it and waits until its last task is about to suspend. $pid, and what it says in $work/truth.
suspend() {
  local line
  mkfifo "$work/said"
  "$work/$1" >"$work/said" &
  pid=$!
  running+=("$pid")
  : >"$work/truth"
  while IFS= read -r line; do
    echo "$line" >>"$work/truth"
    # Behind "ready" one more task tells where it suspends.
    [[ $line != *'static Suspended.main'* ]] || break
  done <"$work/said"
  rm "$work/said"
  grep -qx ready "$work/truth" || fail "$1 ended early"
}

end() {
  { kill -KILL "$1" && wait "$1"; } 2>/dev/null || :
  running=()
}

# look OPTION... TARGET: output in $work/out. Where other programs keep the processors busy, a thread can be late to stop, or a task
# to suspend: once more.
look() {
  local tries=100
  while ((tries-- > 0)); do
    if "$unspool" stack --tasks --no-lines --demangle short "$@" >"$work/out" 2>"$work/err" &&
      grep -qE '"tasks_running": 1,|thread runs, 1 running$' "$work/out"; then
      return
    fi
    sleep 0.02
  done
  fail "unspool stack --tasks $*: $(cat "$work/err")"
}

# show FILE TARGET: its tasks as JSON.
show() {
  look --json "$2"
  cp "$work/out" "$1"
}

# judge NAME: the process and its core.
judge() {
  suspend "$1"
  show "$work/$1.json" "$pid"
  compare tasks "$work/truth" "$work/$1.json"
  gcore -o "$work/core" "$pid" >/dev/null 2>&1 || fail "gcore"
  show "$work/$1-core.json" "$work/core.$pid"
  compare tasks "$work/truth" "$work/$1-core.json"
}

for level in Onone O Osize; do
  echo "$level"
  compile "$level" suspended "-$level" || fail "suspended.swift, $level: $(cat "$work/log")"
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

# The runtime in the program itself: its variables are in the symbol table alone.
if compile static suspended -O -static-stdlib; then
  echo static
  judge static
  end "$pid"
  strip "$work/static"
  suspend static
  run 1 stack --tasks "$pid"
  err_has "Swift's concurrency runtime is not loaded"
  end "$pid"
fi

# Tasks that never rest: whatever is shown is true.
for level in Onone O; do
  compile busy busy "-$level" || fail "busy.swift, $level: $(cat "$work/log")"
  start "$work/busy"
  : >"$work/busy.json"
  for _ in {1..100}; do
    # A thread that comes or goes meanwhile may have no stack.
    "$unspool" stack --tasks --no-lines --demangle short --json "$pid" >>"$work/busy.json" 2>/dev/null || :
  done
  count=$(python3 "$here/compare.py" moving "$work/busy.json") || fail "busy.swift, $level"
  echo "busy, $level: $count tasks in 100 snapshots"
  [[ $count =~ ^[0-9]+$ && $count -ge 10 ]] || fail "busy.swift, $level: $count"
  end "$pid"
done

# Without Swift: the threads are shown, and the exit status tells.
start "$stuck"
run 1 stack --tasks "$pid"
err_has "no Swift tasks: Swift's concurrency runtime is not loaded"
out_has '^Thread '
out_lacks 'Task'
run 1 stack --tasks --json "$pid"
out_lacks '"tasks"'
validate stacks "$work/Onone.json" "$work/O-core.json"
verdict
