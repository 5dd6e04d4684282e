#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack PID` with a program that waits in known functions: text, options, colours, and that the program
# continues.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

start "$stuck" busy
run 0 stack "$pid"
err_is_empty
out_has "^Process $pid $stuck, [a-z0-9_]+, 3 threads, stopped for [0-9]+\.[0-9]+ ms$"
out_has "^Thread $pid \"stuck\" \(main\), running(, CPU [0-9.]+ ms)?$"
expect_frames "$pid" inner outer main
expect_frames 'w.x1b' work_inner work_outer work
# The format of callStackSymbols: "%-4d%-35s 0x%016lx %s + %lu", 8 digits for 32-bit processors.
out_has '^[0-9]+ +stuck {31}0x[0-9a-f]{8}([0-9a-f]{8})? (inner|outer|main) \+ [0-9]+( \([^ ]+\))?$'
[[ $(grep -c '^    ends: ' "$work/out") -eq 3 ]] || fail "not every stack says why it ends"
# The thread's name contains an escape sequence that would colour a terminal.
out_has '^Thread [0-9]+ "w\\x1b\[31m"\\\\xffé!"'
# shellcheck disable=SC2016 # awk's
if grep -q $'\x1b' "$work/out"; then fail "escape codes in a pipe"; fi
state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$pid/status")
[[ $state == [RS] ]] || fail "the process was left in state $state"

run 0 stack --no-symbols "$pid"
out_has '^0 +stuck +0x[0-9a-f]+ stuck \+ [0-9]+$'
out_lacks 'inner'

# What follows needs no busy program.
stop
start "$stuck"
run 0 stack --no-symbols "$pid"
worker=$(sed -n 's/^Thread \([0-9]*\) "w.*/\1/p' "$work/out")
run 0 stack --thread "$worker" "$pid"
[[ $(grep -c '^Thread ' "$work/out") -eq 1 ]] || fail "--thread gives more than one thread"
expect_frames "$worker" work_inner work_outer work
run 3 stack --thread 1 "$pid"
err_has '^unspool: '

run 0 stack --async "$pid"
expect_frames "$pid" inner outer main

# Colours on a terminal, and none there if the user asks for that.
if have python3; then
  coloured() {
    # shellcheck disable=SC2016 # the inner shell's
    TERM=xterm python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@" </dev/null >"$work/out" || :
    grep -q $'\x1b\\[1m' "$work/out"
  }
  coloured "$unspool" stack "$pid" || fail "no colours on a terminal"
  ! coloured env NO_COLOR=1 "$unspool" stack "$pid" || fail "colours in spite of NO_COLOR"
  ! coloured env TERM=dumb "$unspool" stack "$pid" || fail "colours on a dumb terminal"
  ! coloured sh -c "'$unspool' stack $pid | cat" || fail "colours in a pipe"
fi

# A deep stack keeps both ends, and gives the number of frames left out.
start "$stuck" deep
run 0 stack --max 12 --tail 5 "$pid"
[[ $(frames "$pid" | wc -l) -eq 12 ]] || fail "--max 12 gives $(frames "$pid" | wc -l) frames"
expect_frames "$pid" inner descend descend
expect_frames "$pid" descend main
out_has '^    \.\.\. [0-9]+ frames left out \.\.\.$'
out_has '^10[0-9][0-9] stuck +0x[0-9a-f]+ main \+'
run 0 stack --max 10 --tail 0 "$pid"
out_has '^    \.\.\. further frames left out'
out_lacks ' main \+'
run 0 stack "$pid"
out_has ' main \+'

# Ids of threads and of ended processes: the message must say what the id is.
# refused ID TEXT: checks this for every command that reads a process.
refused() {
  local command
  for command in stack images 'symbolize -p' 'record --duration 1'; do
    # shellcheck disable=SC2086 # words of a command
    run 3 $command "$1"
    err_has "$2"
  done
}
task=$(for task in /proc/"$pid"/task/*; do echo "${task##*/}"; done | grep -vx "$pid" | head -n 1)
refused "$task" "^unspool: $task is a thread of process $pid, not a process"
if [[ $(id -u) -eq 0 && $(cut -d ' ' -f 2 /proc/2/stat 2>/dev/null) == '(kthreadd)' ]]; then
  refused 2 '^unspool: process 2 is a thread of the kernel'
fi
start "$stuck" zombie
zombie=$(cat "/proc/$pid/task/$pid/children")
refused "${zombie% }" "^unspool: process ${zombie% } has ended, and its parent $pid has not waited for it"
if unshare --mount true 2>/dev/null; then
  for command in stack images 'symbolize -p' 'record --duration 1'; do
    status=0
    unshare --mount sh -c "umount -l /proc && exec '$unspool' $command $pid" >"$work/out" 2>"$work/err" || status=$?
    [[ $status -eq 3 ]] || fail "$command without /proc: exit status $status instead of 3"
    err_has '^unspool: .*/proc cannot be read'
  done
fi

# In a PID namespace with the /proc of the outer one, an id is that of two processes.
if unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
  for command in stack images 'symbolize -p' 'record --duration 1'; do
    status=0
    unshare --mount --pid --fork --mount-proc sh -c \
      "sleep 60 & unshare --pid --fork sh -c \"sleep 60 & '$unspool' $command 2\"; echo \$? >'$work/status'; kill \$!" \
      >"$work/out" 2>"$work/err" || status=$?
    status=$(cat "$work/status")
    [[ $status -eq 3 ]] || fail "$command with the /proc of another namespace: exit status $status instead of 3"
    err_has '^unspool: process 2 cannot be looked at: /proc is that of another PID namespace'
  done
fi

# Too few files may be open: a message, with what to do, or an answer.
for limit in 6 7 8 9 10 11 12; do
  status=0
  (ulimit -n "$limit" && exec "$unspool" stack "$pid") >"$work/out" 2>"$work/err" || status=$?
  cat "$work/err" >>"$work/limited"
  [[ $status -eq 0 || -s $work/err ]] || fail "$limit open files: status $status without a message"
done
grep -q '^unspool: process .*too many files are open: raise the limit (ulimit -n)$' "$work/limited" ||
  fail "too many open files: $(cat "$work/limited")"

# Threads that end before they are stopped are not a failure.
start "$stuck" churn
for _ in 1 2 3 4 5 6 7 8 9 10; do
  status=0
  "$unspool" stack "$pid" >"$work/out" 2>"$work/err" || status=$?
  # On a busy machine a thread may not stop in time. Only that is a failure.
  missed=$(grep -c 'has no stack: the thread did not answer in time$' "$work/err" || :)
  [[ $missed -eq $(wc -l <"$work/err") ]] || fail "threads that ended: $(cat "$work/err")"
  [[ $status -eq $((missed > 0)) ]] || fail "threads that ended: exit status $status with $missed missed"
done

# Escape sequences in names must not reach a terminal, also on standard error.
run 3 stack "$work/$(printf 'a\033[31m\342\200\256b')"
err_has '/a\\x1b\[31m\\xe2\\x80\\xaeb'

# A thread that cannot be stopped must not hold the others. Its stack is that of its system call.
start "$stuck" held
run 0 stack "$pid"
expect_frames "$pid" inner outer main
out_has '^Thread [0-9]+ .*, in uninterruptible sleep( \([a-z_0-9.]+\))?$'
out_has '^    not stopped: '
out_has ' be_held '

# A busy thread does not stop in the default time, because another program has its processor for longer: it is asked again.
# A program of a real-time priority leaves others at most a twentieth of a second in each second (sched_rt_runtime_us).
if chrt -f 1 true 2>/dev/null; then
  start "$stuck" busy
  taskset -acp 0 "$pid" >/dev/null
  timeout 0.5 taskset -c 0 chrt -f 1 sh -c 'while :; do :; done' &
  "$unspool" stack "$pid" >"$work/out" 2>"$work/err" || fail "a thread without a processor has no stack" "$(cat "$work/err")"
  expect_frames "$pid" inner outer main
  wait "$!" || :
fi
verdict
