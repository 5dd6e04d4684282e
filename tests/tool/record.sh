#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool record`: planted shares of processor time are found in every format; how recording ends, and with which
# status; threads that begin and end; libraries and programs that are loaded later; processes that cannot be recorded.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
cp tests/tool/shares "$work"
shares=$work/shares

# part FILE: prints the share of three_parts in the processor time of folded stacks, in percent.
part() {
  awk '/;three_parts[; ]/ { three += $NF } /;one_part[; ]/ { one += $NF }
    END { printf("%d\n", (three + one > 0) ? 100 * three / (three + one) : -1) }' "$1"
}
# The bounds are wide, because the machine may be busy; equal shares would be noticed.
has_shares() {
  local found
  found=$(part "$1")
  [[ $found -ge 62 && $found -le 88 ]] || fail "three_parts has $found % instead of 75 %" "$(cat "$1")"
}

# Records a command: its shares, and its status.
run 7 record --rate 1000 --budget 0 --cpu --format folded -o "$work/shares.txt" -- "$shares" 600 7
has_shares "$work/shares.txt"
grep -q '^shares;.*main;three_parts' "$work/shares.txt" || fail "no callers: $(cat "$work/shares.txt")"
grep -qx ready "$work/out" || fail "the command's output is lost"
err_has '^unspool: [0-9]+ samples of 2 threads in [0-9.]+ s in .*shares\.txt, with [0-9.]+ % of a processor'
run 137 record --quiet -- "$shares" 50 265
err_is_empty
run 1 record --quiet -o "$work/early.json" -- false
python3 -m json.tool "$work/early.json" >/dev/null || fail "the profile of a command that ends at once is incomplete"
# A command that runs on is ended with the recording.
run 0 record --duration 0.2 --quiet -o "$work/early.json" -- sleep 100
run 3 record --duration 0.2 --quiet --threads nobody -o "$work/early.json" -- sleep 100
err_has '^unspool: no thread had the name nobody of --threads$'
run 3 record -- "$work/nothing"
err_has "^unspool: $work/nothing cannot be started: "

# Records a process until it ends, in every format. The sleeping thread has as many samples as the running one.
start "$shares" 400 0
run 0 record --budget 0 --format json "$pid"
cp "$work/out" "$work/whole.json"
python3 - "$work/whole.json" <<'END' || fail "the JSON of a process that ended"
import json, sys
profile = json.load(open(sys.argv[1]))
run = profile["run"]
threads = {t["name"]: t for t in profile["threads"]}
assert set(threads) == {"shares", "sleeper"}, threads
assert run["ticks"] > 0 and run["captures"] > 0, run
assert profile["samples"] > run["captures"], profile["samples"]
END
start "$shares" 0 0
sampled=$pid
for file in p.txt p.folded p.pb.gz p.speedscope.json p.firefox.json p.json p.svg p.otlp; do
  pattern=three_parts
  [[ $file != p.folded ]] || pattern='^sleeper'
  record_until "$pattern" "$work/$file" --budget 0 --native-ids -o "$work/$file" "$sampled"
  [[ ! -s $work/out ]] || fail "$file: output: $(cat "$work/out")"
done
grep -q '^Analysis of sampling shares' "$work/p.txt" || fail "the tree: $(cat "$work/p.txt")"
grep -qE ' three_parts  \(in shares\).*\]  shares\.c:[0-9]+' "$work/p.txt" || fail "the tree: $(cat "$work/p.txt")"
record_until three_parts "$work/out" --budget 0 --no-lines "$sampled"
out_has '  three_parts  \(in shares\)'
out_lacks 'shares\.c:[0-9]'
run 2 record --lines --no-lines "$sampled"
err_has 'either --lines or --no-lines'
! grep -vqE '^.+;.+ [0-9]+$' "$work/p.folded" || fail "folded: $(cat "$work/p.folded")"
sleeper=$(for task in /proc/"$sampled"/task/*; do echo "${task##*/}"; done | grep -vx "$sampled")
grep -q "^sleeper[^;]*${sleeper}[^;]*;" "$work/p.folded" || fail "--native-ids: $(cat "$work/p.folded")"
python3 - "$work" <<'END' || fail "a format is not what it should be"
import gzip, json, sys, xml.dom.minidom
work = sys.argv[1] + "/p."
data = gzip.open(work + "pb.gz").read()
assert b"three_parts" in data and b"samples" in data
speedscope = json.load(open(work + "speedscope.json"))
assert "speedscope.app" in speedscope["$schema"] and "three_parts" in str(speedscope["shared"]["frames"])
firefox = json.load(open(work + "firefox.json"))
assert "three_parts" in firefox["shared"]["stringArray"] and firefox["threads"]
assert json.load(open(work + "json"))["version"] == 1
assert "three_parts" in xml.dom.minidom.parse(work + "svg").toxml()
END

# One thread, selected by name and by id.
for threads in 'slee*' "$sleeper"; do
  record_until '^sleeper;' "$work/out" --threads "$threads" --format folded "$sampled"
  out_has '^sleeper;'
  out_lacks '^shares'
done
record_until ' main|__libc_start' "$work/out" --threads main --merge "$sampled"
out_has '^    [0-9]+ .*main|^    [0-9]+ __libc_start'
out_lacks 'Thread_'

# A signal ends the recording with a complete file, and the progress line is erased.
for signal in SIGINT SIGTERM; do
  status=0
  said=$(python3 "$top/tests/tool/recorded.py" "$signal" "$work/out" "$unspool" record -o "$work/cut.json" "$sampled") || status=$?
  [[ $status -eq 0 ]] || fail "$signal: status $status: $said"
  python3 -m json.tool "$work/cut.json" >/dev/null || fail "$signal leaves an incomplete file"
  [[ $said == *$'\r\033[K'unspool:\ *' samples of 2 threads in '* ]] || fail "$signal: $(printf %q "$said")"
done
# A signal is passed on to a recorded command.
status=0
python3 "$top/tests/tool/recorded.py" SIGTERM "$work/out" "$unspool" record -o "$work/cut.json" -- "$shares" 0 0 >"$work/err" ||
  status=$?
[[ $status -eq 143 ]] || fail "SIGTERM with a command: status $status: $(cat "$work/err")"
python3 -m json.tool "$work/cut.json" >/dev/null || fail "with a command SIGTERM leaves an incomplete file"
state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$sampled/status")
[[ $state == [RS] ]] || fail "the process was left in state $state"

# Processes that cannot be recorded: an existing file must stay as it was.
echo kept >"$work/kept.json"
dead=$("$shares" 1 0 >/dev/null & echo $!; wait)
run 3 record -o "$work/kept.json" "$dead"
err_has "^unspool: there is no process $dead"
[[ $(cat "$work/kept.json") == kept ]] || fail "the file was lost"
run 3 record "$sleeper"
err_has "^unspool: $sleeper is a thread of process $sampled, not a process"
run 4 record --duration 0.1 -o "$work/nowhere/file.json" "$sampled"
err_has "^unspool: $work/nowhere/file\.json: "
if [[ -w /dev/full ]]; then
  run 4 record --duration 0.1 --format json -o /dev/full "$sampled"
  err_has '^unspool: /dev/full: could not be written: No space left on device$'
  ! grep " in /dev/full" "$work/err" || fail "the summary says that samples are in the file"
fi
stop_process "$sampled"

# Threads that begin and end.
start "$stuck" churn
changes='; [0-9]+ threads appeared; [0-9]+ threads ended'
record_until "$changes" "$work/err" --rate 1000 --budget 0 --format folded -o "$work/churn" "$pid"
stop
err_has "$changes"

# Code that is loaded later has names: another program, and a library.
run 0 record --cpu --rate 500 --budget 0 --format folded -- sh -c "sleep 0.2; exec '$shares' 900 0"
cp "$work/out" "$work/exec"
has_shares "$work/exec"
cat >"$work/later.c" <<'END'
#include <stdint.h>
#include <time.h>
static volatile unsigned long sink;
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
void loaded_later(uint64_t length) {
    for (uint64_t end = now() + length; now() < end;)
        for (unsigned i = 0; i < 100000; i++) sink++;
}
END
if ${CC:-cc} -O1 -shared -fPIC -o "$work/later.so" "$work/later.c" 2>/dev/null; then
  run 0 record --budget 0 --format folded -- "$shares" 300 0 "$work/later.so"
  out_has ';main;.*loaded_later'
fi
validate profile "$work/whole.json" "$work/early.json"
verdict
