#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks what `unspool stack` says about threads that wait for locks: in text, JSON and every style with headings, of a
# live process and of a core, with the locks of the C++ library and of musl. tests/snapshot/test_linux_locks.c has all
# kinds of locks.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
cp tests/tool/locks "$work"
cd "$work"

thread() { sed -n "s/^Thread \([0-9]*\) \"$1\".*/\1/p" out; }

# circle: checks that the output names a deadlock of five threads, each of which waits for another one. Cores have no
# names.
circle() {
  awk '/^Thread / { id = $2 } / waits for a mutex that thread .* holds: a deadlock of 5 threads$/ { owner[id] = $7; at = id }
    END {
      for (n = 1; n < 5; n++) { seen[at] = 1; at = owner[at]; if (at in seen) exit 1 }
      if (!(owner[at] in seen)) exit 1
      for (id in owner) count++
      exit count != 5
    }' out || fail "not five threads wait for each other" "$(<out)"
}

start ./locks normal
run 0 stack "$pid"
owner=$(thread owner)
line="    waits for a mutex that thread $owner \"owner\" holds"
[[ $(grep -A 1 '^Thread [0-9]* "waiter"' out | tail -n 1) == "$line" ]] || fail "the waiter's second line" "$(<out)"
[[ $(grep -c 'waits for' out) -eq 1 ]] || fail "another thread waits, too" "$(<out)"
for style in call-stack-symbols plain portable backtrace-symbols; do
  run 0 stack --style "$style" "$pid"
  [[ $(grep -cxF "$line" out) -eq 1 ]] || fail "$style" "$(<out)"
done
run 0 stack --style crash-report "$pid"
out_has '^Application Specific Information:$'
out_has '^Thread 2 waits for a mutex that thread 1 "owner" holds$'
out_has '^Thread 1 name:  owner$'
run 0 stack --json "$pid"
cp out waits.json
stop

start ./locks itself
run 0 stack "$pid"
out_has '^    waits for a mutex that it holds itself: a deadlock$'
stop

start ./locks 'circle of 5'
run 0 stack "$pid"
circle
out_has "^    waits for a mutex that thread $(thread 'link 3') \"link 3\" holds: a deadlock of 5 threads\$"
if part_needs gdb; then
  gdb -nx -batch -readnever -p "$pid" -ex "gcore core" >/dev/null 2>&1 </dev/null || fail "gdb writes no core"
  run 0 stack core
  circle
fi
stop

# A core that the kernel writes has the threads as they were when the signal arrived.
if [[ $(cat /proc/sys/kernel/core_pattern) == core ]]; then
  rm -f core core.*
  ulimit -c unlimited
  start ./locks 'circle of 5'
  kill -SEGV "$pid"
  wait "$pid" 2>/dev/null || :
  unset 'running[-1]'
  made=(core*)
  if [[ -s ${made[0]} ]]; then
    run 0 stack "${made[0]}"
    circle
  fi
fi

if part_needs g++; then
  g++ -O1 -g -I"$top" -x c++ -o cxx "$top/tests/tool/locks.c" -lpthread || fail "g++ does not compile it"
  for lock in 'std::mutex=mutex' 'std::recursive_mutex=mutex' 'std::timed_mutex=mutex' \
    'std::shared_mutex=read-write lock'; do
    start ./cxx "${lock%=*}"
    run 0 stack "$pid"
    out_has "^    waits for a ${lock#*=} that thread $(thread owner) \"owner\" holds\$"
    stop
  done
fi

if part_needs musl-gcc; then
  musl-gcc -O1 -g -I"$top" -static -o musl "$top/tests/tool/locks.c" || fail "musl-gcc does not compile it"
  for lock in recursive errorcheck robust inherit; do
    start ./musl "$lock"
    run 0 stack "$pid"
    out_has "^    waits for a mutex that thread $(thread owner) \"owner\" holds\$"
    stop
  done
  for lock in normal reader; do
    start ./musl "$lock"
    run 0 stack "$pid"
    out_lacks 'waits for'
    stop
  done
fi

cd "$started_in"
have python3 || verdict
python3 - "$work/waits.json" "$owner" <<'END' || fail "the JSON does not hold what it should"
import json, sys
threads = json.load(open(sys.argv[1]))["threads"]
waits = {thread["name"]: thread["waits_for_lock"] for thread in threads if "waits_for_lock" in thread}
assert list(waits) == ["waiter"], waits
wait = waits["waiter"]
assert wait["kind"] == "mutex" and wait["held_by"] == int(sys.argv[2]) and wait["held_by_name"] == "owner", wait
assert int(wait["lock_address"], 16) != 0 and "deadlock" not in wait, wait
END
validate stacks "$work/waits.json"
verdict
