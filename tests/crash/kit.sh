#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the crash kit (doc/crash.md): programs die of every kind of fault, with the kit and without it. With it they end
# with the same status, and leave one whole report that names the crashed thread, the cause and the stack.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
crasher=$PWD/tests/crash/crasher
watch_signals=$PWD/tests/crash/watch_signals
reports=$work/reports
ulimit -c 0
cd "$work"

# ends STATUS COMMAND...: runs a command that ends with this status; its output is in $work/says.
ends() {
  local status=0
  # The inner shell says "Aborted" and so on.
  { timeout 300 "${@:2}" >says 2>err; } 2>/dev/null || status=$?
  [[ $status -eq $1 ]] || fail "${*:2}: exit status $status instead of $1: $(cat err)"
}
# crashes WAY: runs the program without the kit, then with it: the exit statuses are equal.
crashes() {
  local status=0
  { timeout 300 "$crasher" "$1" >says 2>err; } 2>/dev/null || status=$?
  rm -rf "$reports"
  ends "$status" "$crasher" "$1" "$reports"
  ended=$status
}
# reported COUNT [STATUS]: how many whole reports there are; the newest is shown, by a command that ends with this status
# (default 0), its output in $work/out, its cause in $cause.
reported() {
  local found
  found=$(find "$reports" -name '*.raw' | wc -l)
  [[ $found -eq $1 ]] || fail "$way: $found reports instead of $1: $(ls "$reports")"
  [[ $found -gt 0 ]] || return 0
  run "${2-0}" stack --no-lines "$(find "$reports" -name '*.raw' | sort | tail -1)"
  cause=$("$crasher" --cause "$reports")
}
last_is() { [[ $("$crasher" --last "$reports") == "$1" ]] || fail "$way: $("$crasher" --last "$reports")"; }
cause_has() { [[ $cause =~ $1 ]] || fail "$way: the cause lacks \"$1\": $cause"; }

# Every kind of fault: signal, code in words, the crashed thread first with its registers, the stack up to main.
while read -r way signal words; do
  crashes "$way"
  [[ $ended -eq $((128 + signal)) ]] || fail "$way: ended with $ended"
  reported 1
  cause_has "^signal $signal code [^ ]+ address 0x[0-9a-f]+ threads [0-9]+ missed 0 first registers"$'\n'
  cause_has "$words"
  out_has "ended by SIG$(kill -l "$signal")"
  out_has '^Thread [0-9]+ .*\(crashed\)'
  # The overflow's middle is left out.
  out_has ' main(\.[a-z]+)? \+ [0-9]+'
done <<'WAYS'
segv 11 the address is not mapped \(SEGV_MAPERR\), fault address 0x0: a null pointer
bus 7 \(BUS_ADRERR\), fault address 0x
fpe 8 SIGFPE
ill 4 SIGILL
trap 5 SIGTRAP
sys 31 \(SYS_SECCOMP\)
abort 6 SIGABRT
assert 6 SIGABRT
raise 11 SIGSEGV, .*, from process [0-9]+, itself
null-call 11 fault address 0x0: a null pointer
data-call 11 \(SEGV_ACCERR\), fault address 0x[0-9a-f]+: .*not executable
overflow 11 a stack overflow|the stack of thread
WAYS
# musl's allocator ends the process by another signal than glibc's.
way=heap
crashes heap
reported 1

# The innermost frame is the faulting function, on the crashed thread's stack.
way=segv
crashes segv
reported 1
expect_frames '\(crashed\)' write_through_null crash_segv
[[ $(find "$reports" -name '*.open') == "" ]] || fail "an unfinished report is left"

# Failure 44: the stack overflows, on another thread too.
way=thread-overflow
crashes thread-overflow
reported 1
out_has ' call_without_end(\.[a-z0-9]+)* \+ [0-9]+'
out_has 'overflow_in_thread'

# Failure 27: eight threads fault at one barrier: one report.
way=eight
crashes eight
reported 1
cause_has ' threads 9 missed 0 first'

# All threads are in the report, with names and stacks.
way=workers
crashes workers
reported 1
cause_has ' threads 21 missed 0 first'
[[ $(grep -c '^Thread [0-9]* "worker"' out) -eq 20 ]] || fail "not all workers are in the report"
expect_frames '"worker"' wait_in_worker work

# A thread that answers no signal is named, and the report says that it is missing. It does not take long.
way=deaf
crashes deaf
reported 1 1
cause_has ' threads 2 missed 1 first'
out_has '^Thread [0-9]+ "deaf"'
"$crasher" --notes "$reports" >notes
grep -q '^4 =1 thread did not answer$' notes || fail "the report does not name the missing thread: $(cat notes)"

# A thread waits for a mutex: the report says which thread holds it, and names a deadlock. An emulator hides in which
# call a thread waits.
if [[ ${USP_TEST_UNDER-} != qemu-* ]]; then
  way=waited-for
  crashes waited-for
  reported 1
  out_has '^ +waits for a mutex that thread [0-9]+ "crasher" holds$'
  out_lacks 'a deadlock'
  way=deadlock
  crashes deadlock
  [[ $ended -eq 134 ]] || fail "deadlock: $ended"
  reported 1
  out_has '^ +waits for a mutex that thread [0-9]+ "autosave" holds: a deadlock of 2 threads$'
  out_has '^ +waits for a mutex that thread [0-9]+ "crasher" holds: a deadlock of 2 threads$'
  run 0 stack --style crash-report "$(find "$reports" -name '*.raw')"
  out_has '^Thread 0 waits for a mutex that thread 1 "autosave" holds: a deadlock of 2 threads$'
  run 0 stack --json "$(find "$reports" -name '*.raw')"
  [[ $(grep -o '"deadlock": *2' out | wc -l) -eq 2 ]] || fail "JSON lacks the deadlock"
fi

# Failures 33 and 51: another thread holds the loader's lock.
way=loader-lock
crashes loader-lock
reported 1
out_has ' hold_loader \+ [0-9]+'

# Failures 29 and 30: the heap is overwritten, and an allocation in the handler would end the process with 99.
way=smashed
crashes smashed
reported 1
out_has ' write_through_null \+ [0-9]+'

# Images and unwind tables that were loaded after the kit was installed are found.
if part_needs cc; then
  way=late
  read -ra compiler <<<"${CC:-cc}"
  "${compiler[@]}" -O2 -fomit-frame-pointer -shared -fPIC -o late.so "$top/tests/crash/late.c"
  export CRASHER_LIBRARY=$work/late.so
  crashes late
  reported 1
  expect_frames '\(crashed\)' crash_in_library crash_late main
  out_has ' late\.so '
fi

# An uncaught exception of a language: its text and the stack that threw it are in every form. One that was caught, or
# that another thread has thrown, is not.
way=thrown
rm -rf "$reports"
ends 134 "$crasher" thrown "$reports"
reported 1
report=$(find "$reports" -name '*.raw')
[[ $("$crasher" --notes "$reports") == "5 Exception=NoCart: there is no cart" ]] ||
  fail "thrown: $("$crasher" --notes "$reports")"
out_has '^ +Exception: NoCart: there is no cart$'
grep -A 2 '^Exception, thrown in$' out >thrown
grep -qE '^0 +crasher +0x[0-9a-f]+ crash_abort \+ [0-9]+' thrown || fail "thrown: the stack is missing: $(cat out)"
run 0 stack --style crash-report "$report"
grep -A 2 '^Last Exception Backtrace:$' out >thrown
grep -qE '^0 +crasher .* crash_abort \+ [0-9]+' thrown || fail "thrown: the crash report lacks the stack: $(cat thrown)"
run 0 stack --style ips "$report"
out_has '"lastExceptionBacktrace"'
run 0 stack --json "$report"
cp out thrown.json
for way in caught thrown-elsewhere; do
  rm -rf "$reports"
  ends 134 "$crasher" "$way" "$reports"
  reported 1
  [[ -z $("$crasher" --notes "$reports") ]] || fail "$way: $("$crasher" --notes "$reports")"
  out_lacks 'thrown in'
done
way=deep-thrown
rm -rf "$reports"
ends 134 "$crasher" deep-thrown "$reports"
reported 1
out_has '^ +88 outer frames were left out$'

# glibc's last words. Other C libraries leave none in memory.
for way in assert heap; do
  crashes "$way"
  words=$(grep -E "Assertion \`|^(free|malloc|double free|corrupted)" err | tail -1) || continue
  reported 1
  words=$(sed -E 's,(/home|/Users)/[^/]+,\1/USER,g' <<<"$words")
  out_has '^ +abort message: '
  [[ $("$crasher" --notes "$reports") == "5 abort message=$words" ]] ||
    fail "$way: \"$("$crasher" --notes "$reports")\" instead of \"$words\""
done

# Uncaught C++ exceptions: the type, and the text where it is data. No code of the exception runs.
if part_needs "${CXX:-c++}"; then
  way=throw
  "${CXX:-c++}" -O1 -shared -fPIC -o thrower.so "$top/tests/crash/thrower.cc"
  export CRASHER_LIBRARY=$work/thrower.so CRASHER_THROWS
  # A text that is cut ends with a whole character of two bytes.
  long=$(printf 'é%.0s' {1..2038})
  while IFS='|' read -r CRASHER_THROWS words; do
    crashes throw
    [[ $ended -eq 134 ]] || fail "$CRASHER_THROWS: ended with $ended"
    reported 1
    notes=$("$crasher" --notes "$reports" | grep '^5 C++ exception=' || :)
    [[ $notes == "${words:+5 C++ exception=$words}" ]] || fail "$CRASHER_THROWS: \"$notes\" instead of \"$words\""
  done <<WAYS
standard|std::logic_error: cannot open settings
derived|app::BadSettings: $long
rethrown|app::BadSettings: once more: /home/USER/cart
other|Other
number|i
terminated|
WAYS
fi

# A child of fork crashes: no report, and the parent's recording goes on.
way=child
crashes child
[[ $ended -eq 5 ]] || fail "child: ended with $ended"
reported 0

# Values, the last 64 breadcrumbs, and the callback's text.
way=noted
crashes noted
reported 1
"$crasher" --notes "$reports" >notes
{
  echo '1 user=anna'
  echo '1 screen=settings'
  for ((i = 6; i < 70; i++)); do echo "2 =step $i"; done
} >expected
diff expected notes >&2 || fail "the notes differ"
run 0 stack "$(find "$reports" -name '*.raw')"
out_has '^ +user: anna$'
out_has '^ +step 69$'
run 0 stack --json "$(find "$reports" -name '*.raw')"
cp out notes.json
# No text has the name of a home folder, and texts that are cut end with a whole character, keys too.
way=homes
rm -rf "$reports"
ends 139 "$crasher" homes "$reports"
reported 1
"$crasher" --notes "$reports" | LC_ALL=C sort >notes
x=$(printf 'x%.0s' {1..118})
LC_ALL=C sort >expected <<WAYS
1 file=/home/USER/cart and "/home/USER"
1 ${x:0:30}=second
2 =saves /Users/USER, /Users/Shared/x and /srv/home/USER/y
2 =$x
3 =from /home/USER
5 Exception=cannot open '/home/USER/cart'
WAYS
diff expected notes >&2 || fail "the texts differ"
way=callback
crashes callback
reported 1
[[ $("$crasher" --notes "$reports") == '3 =from the callback' ]] || fail "the callback's text: $("$crasher" --notes "$reports")"

# Values and breadcrumbs that other threads change at that moment are whole.
way=changing
for ((i = 0; i < 3; i++)); do
  rm -rf "$reports"
  ends 139 "$crasher" changing "$reports"
  reported 1
  "$crasher" --notes "$reports" >notes
  [[ $(grep -cE '^[12] [^=]*=([a-z])\1*$' notes) -gt 60 ]] || fail "$(wc -l <notes) notes"
  ! grep -vE '^[12] [^=]*=([a-z])\1*$' notes >&2 || fail "a note is torn"
done

# The main thread calls exit while another thread's crash is recorded: the report becomes whole.
way=meanwhile
rm -rf "$reports"
ends 139 "$crasher" meanwhile "$reports"
reported 1
[[ $("$crasher" --notes "$reports") == '3 =from the callback' ]] || fail "the report is not whole"

# A crash after the destructors, at the end of a process that has called exit, has a report and outweighs the clean end.
way=after-destructors
crashes after-destructors
[[ $ended -eq 139 ]] || fail "after-destructors: $ended"
reported 1
expect_frames '\(crashed\)' write_through_null crash_segv fault_in_write
last_is 'crashed, 1 in a row, lasted'$'\n''1 reports new'
[[ $(find "$reports" -name '*.open') == '' ]] || fail "an unfinished report is left: $(ls "$reports")"

# Threads that install the kit at once: one run, one report, and no file of the others.
way=installed-at-once
rm -rf "$reports"
ends 139 "$crasher" installed-at-once "$reports"
reported 1
[[ $(find "$reports" -name '*.open') == '' ]] || fail "an unfinished report is left: $(ls "$reports")"

# Threads that install and end it at once: no handler, descriptor or unfinished report is left.
way='ended-at-once'
rm -rf "$reports"
ends 0 "$crasher" ended-at-once "$reports"
reported 0
[[ $(find "$reports" -name '*.open') == '' ]] || fail "an unfinished report is left: $(ls "$reports")"

# Where the kit cannot be installed, it leaves no run.
way=refused
rm -rf "$reports"
ends 97 "$crasher" refused "$reports"
[[ -z $(ls "$reports") ]] || fail "it leaves $(ls "$reports")"

# Failure 28: a fault or a hang in the callback ends the process with the first signal; the report stays.
for way in callback-fault callback-hang; do
  rm -rf "$reports"
  begin=$SECONDS
  ends 139 "$crasher" "$way" "$reports"
  [[ $((SECONDS - begin)) -lt 30 ]] || fail "$way takes $((SECONDS - begin)) s"
  reported 1
  cause_has ' first registers'
done

# Failure 42: an earlier handler repairs the fault: no report, and the program goes on.
way=repaired
crashes repaired
[[ $ended -eq 6 && $(<says) == repair ]] || fail "repaired: $ended, $(<says)"
reported 0

# Failure 43: earlier handlers run exactly once. Failure 40: the exit status is the program's own.
way=earlier-exit
crashes earlier-exit
[[ $ended -eq 3 && $(<says) == 'right siginfo' ]] || fail "earlier-exit: $ended, $(<says)"
reported 1
way=earlier-default
crashes earlier-default
[[ $ended -eq 139 && $(<says) == earlier ]] || fail "earlier-default: $ended, $(<says)"
reported 1
way=earlier-nothing
crashes earlier-nothing
[[ $(<says) == earlier ]] || fail "the earlier handler runs $(grep -c earlier says) times"
reported 1
way=earlier-abort
crashes earlier-abort
[[ $ended -eq 134 && $(<says) == earlier ]] || fail "earlier-abort: $ended, $(<says)"
reported 1
# A handler that leaves by longjmp: a later crash has a report, too.
way=earlier-jump
crashes earlier-jump
[[ $ended -eq 134 ]] || fail "earlier-jump: $ended"
reported 1
[[ $cause == 'signal 6 '* ]] || fail "the second crash has no report"
way=earlier-jump-exit
crashes earlier-jump-exit
[[ $ended -eq 8 ]] || fail "earlier-jump-exit: $ended"
reported 0
last_is 'ended, 0 in a row, lasted'$'\n''0 reports'
# The thread that jumped has ended; another one crashes.
way=earlier-jump-thread
crashes earlier-jump-thread
[[ $ended -eq 134 ]] || fail "earlier-jump-thread: $ended"
reported 1
[[ $cause == 'signal 6 '* ]] || fail "the second crash has no report"
# The thread that jumped goes on; another one crashes. It neither waits for the first one nor leaves its report. An
# emulator hides that the thread's mask is restored.
if [[ ${USP_TEST_UNDER-} != qemu-* ]]; then
  way=earlier-jump-stays
  crashes earlier-jump-stays
  [[ $ended -eq 134 ]] || fail "earlier-jump-stays: $ended"
  reported 1
  [[ $cause == 'signal 6 '* ]] || fail "the second crash has no report"
fi
# The thread that jumped has no alternate stack, and crashes or exits deeper in its stack than before.
way=earlier-jump-deep
crashes earlier-jump-deep
[[ $ended -eq 134 ]] || fail "earlier-jump-deep: $ended"
reported 1
[[ $cause == 'signal 6 '* ]] || fail "the second crash has no report: $cause"
way=earlier-jump-deep-exit
crashes earlier-jump-deep-exit
[[ $ended -eq 8 ]] || fail "earlier-jump-deep-exit: $ended"
reported 0
# A handler that ends the process by another signal.
way=earlier-trap
crashes earlier-trap
[[ $ended -eq 132 && $(<says) == earlier ]] || fail "earlier-trap: $ended, $(<says)"
reported 1
[[ $cause == 'signal 11 '* ]] || fail "the report is not of the first signal: $cause"
# The standard actions have the same meaning with SA_SIGINFO.
way=siginfo
crashes siginfo
[[ $ended -eq 134 ]] || fail "siginfo: $ended"
reported 1
# An alarm that is pending while the program blocks it does not end the recording, and stays pending.
way=alarm
crashes alarm
[[ $ended -eq 139 && $(<says) == repair$'\n''still pending' ]] || fail "alarm: $ended, $(<says)"
reported 1

# Failure 41: signals that the program ignores stay ignored, before and after the kit is installed.
way=ignored
crashes ignored
[[ $ended -eq 7 ]] || fail "ignored: $ended"
reported 0

# The signal that ends the process has the original siginfo, at the original instruction.
if have_ptrace=$("$watch_signals" /bin/true 2>&1) && [[ -z $have_ptrace ]]; then
  for way in segv fpe ill; do
    rm -rf "$reports"
    "$watch_signals" "$crasher" "$way" "$reports" >seen || :
    [[ $(wc -l <seen) -eq 2 && $(sed -n 1p seen) == "$(sed -n 2p seen)" ]] ||
      fail "$way: the last signal differs from the first: $(cat seen)"
  done
fi

# Failure 49: installing does no work for each image.
rm -rf "$reports"
way=light
ends 0 "$crasher" light "$reports"

# How the last run ended.
rm -rf "$reports"
way=last
last_is 'no run, 0 in a row, unknown'$'\n''0 reports'
ends 0 "$crasher" exit "$reports"
last_is 'ended, 0 in a row, lasted'$'\n''0 reports'
ends 139 "$crasher" segv "$reports"
last_is 'crashed, 1 in a row, lasted'$'\n''1 reports new'
ends 134 "$crasher" abort "$reports"
last_is 'crashed, 2 in a row, lasted'$'\n''2 reports new new'
# Failure 48: the report of a crash can be marked and deleted by the next start; the verdict stays.
"$crasher" --sent "$reports"
last_is 'crashed, 2 in a row, lasted'$'\n''2 reports sent new'
"$crasher" --delete "$reports"
last_is 'crashed, 2 in a row, lasted, deleted'$'\n''1 reports new'
ends 0 "$crasher" _exit "$reports"
last_is 'unexplained, 0 in a row, unknown'$'\n''1 reports new'
ends 137 "$crasher" kill "$reports"
last_is 'unexplained, 0 in a row, unknown'$'\n''1 reports new'
CRASHER_VERSION=2.0 last_is 'updated, 0 in a row, unknown'$'\n''1 reports new'
run_file=$(find "$reports" -name '*.run')
sed -i 's/^boot .*/boot another/' "$run_file"
last_is 'restarted, 0 in a row, unknown'$'\n''1 reports new'

# The folder is a relative path, and the program changes its working folder.
way=moved
rm -rf "$reports"
ends 139 "$crasher" moved reports
reported 1
last_is 'crashed, 1 in a row, lasted'$'\n''1 reports new'
ends 0 "$crasher" moved-exit reports
last_is 'ended, 0 in a row, lasted'$'\n''1 reports new'
[[ ! -e $reports/reports ]] || fail "a second folder of reports"

# Limits: 20 reports, the oldest sent ones go first.
rm -rf "$reports"
for ((i = 0; i < 22; i++)); do ends 139 "$crasher" segv "$reports"; done
ends 0 "$crasher" exit "$reports"
last_is 'ended, 0 in a row, lasted'$'\n'"20 reports$(for ((i = 0; i < 20; i++)); do printf ' new'; done)"

# Failures 46 and 47: a report that was cut off at any byte is readable up to there, and marked; a damaged one, or a
# damaged run, never keeps the next start from going on.
way=torn
rm -rf "$reports"
ends 139 "$crasher" segv "$reports"
whole=$(find "$reports" -name '*.raw')
size=$(stat -c %s "$whole")
cp "$whole" saved
for ((cut = 0; cut < size; cut += size / 12 + 1)); do
  rm -f "$whole"
  head -c "$cut" saved >"${whole%.raw}.open"
  "$crasher" --last "$reports" >says || fail "cut at $cut: $(cat says)"
  [[ $cut -lt 16 ]] || [[ -e $whole ]] || fail "cut at $cut: no report"
  [[ $cut -lt 1000 ]] || cause=$("$crasher" --cause "$reports")
  [[ $cut -lt 1000 ]] || cause_has ' torn'
done
head -c 100 /dev/urandom >"$reports/0x1-1.run"
head -c 100 /dev/urandom >"$reports/0x2-1-1.raw"
ends 0 "$crasher" exit "$reports"

# In the directory, links and files of other users are no reports and no runs, however new their names are and however
# large they are. The program's own report stays.
way=strange
rm -rf "$reports"
ends 139 "$crasher" segv "$reports"
last_is $'crashed, 1 in a row, lasted\n1 reports new'
ln -s "$work/saved" "$reports/fffffffffffffff0-1-1.raw"
ln -s "$(find "$reports" -name '*.run')" "$reports/fffffffffffffff0-1.run"
mkfifo "$reports/fffffffffffffff1-1-1.raw"
mkdir "$reports/fffffffffffffff2-1-1.raw"
if [[ $(id -u) -eq 0 ]]; then
  cp saved "$reports/fffffffffffffff3-1-1.raw"
  truncate -s 1T "$reports/fffffffffffffff3-1-1.raw"
  printf 'unspool run 1\npid 1\n' >"$reports/fffffffffffffff3-1.run"
  chown 65534 "$reports"/fffffffffffffff3-*
fi
last_is $'crashed, 1 in a row, lasted\n1 reports new'
ends 0 "$crasher" exit "$reports"
last_is $'ended, 0 in a row, lasted\n1 reports new'
[[ $(stat -c %s saved) -eq $size ]] || fail "the file of a link was changed"

# The folder is removed, with the one above it, while the program runs: neither the end nor a crash makes it again.
for way in removed removed-exit; do
  mkdir -p above
  status=0
  { timeout 300 "$crasher" "$way" "$work/above" >says 2>err; } 2>/dev/null || status=$?
  [[ $status -eq $([[ $way == removed ]] && echo 139 || echo 0) ]] || fail "$way: exit status $status: $(cat err)"
  [[ ! -e above ]] || fail "$way: the folder was made again: $(ls -la above)"
done

# A file, and a link that leads to no folder, are no folders: nothing is made in their place.
way=no-folder
: >file
ln -sfn nowhere link
for folder in file link; do
  ends 97 "$crasher" segv "$work/$folder"
  grep -q 'usp_crash_install: not found' err || fail "$folder: $(cat err)"
done
[[ ! -e nowhere ]] || fail "the link's folder was made"

# The folder can no longer be changed when the program crashes: the report stays under the name of one that is not whole.
# The next start knows of the crash, and publishes the report once the folder can be changed.
if [[ $(id -u) -eq 0 ]] && part_needs setpriv && [[ ${USP_TEST_UNDER-} != qemu-* ]]; then
  way=read-only
  rm -rf "$reports"
  mkdir -m 700 "$reports"
  chown 65534 "$reports"
  chmod 711 "$work"
  as_other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  if "${as_other[@]}" "$crasher" --last "$reports" >says 2>err; then
    ends 139 "${as_other[@]}" "$crasher" read-only "$reports"
    last=$("${as_other[@]}" "$crasher" --last "$reports")
    [[ $last == 'crashed, 1 in a row, lasted, deleted'$'\n''0 reports' ]] || fail "read-only: $last: $(ls -la "$reports")"
    chmod 700 "$reports"
    last=$("${as_other[@]}" "$crasher" --last "$reports")
    [[ $last == 'crashed, 1 in a row, lasted'$'\n''1 reports new' ]] || fail "read-only: $last"
  fi
fi

# A damaged file of a run: its unfinished report is read up to where it was cut off, or removed if it was never begun.
way=damaged-run
rm -rf "$reports"
ends 137 "$crasher" kill "$reports"
open=$(find "$reports" -name '*.open')
run_file=$(find "$reports" -name '*.run')
head -c "$((size / 2))" saved >"$open"
echo damaged >"$run_file"
echo >"$reports/0x1-1-1.open"
last_is $'crashed, 1 in a row, unknown\n1 reports new'
ends 0 "$crasher" exit "$reports"
[[ -z $(find "$reports" -name '*.open') ]] || fail "an unfinished report is left: $(ls "$reports")"
[[ $(find "$reports" -name '*.raw' | wc -l) -eq 1 ]] || fail "not one report: $(ls "$reports")"
cause=$("$crasher" --cause "$reports")
cause_has ' torn'

# A folder with 20,000 unfinished reports of one run, which has no file: each is examined once. If each was compared with
# all others, that would take longer than the minute that `ends` waits.
way=many-unfinished
rm -rf "$reports"
mkdir -m 700 "$reports"
(cd "$reports" && seq -f '0x1-1-%.0f.open' 20000 | xargs touch)
ends 0 "$crasher" exit "$reports"
[[ -z $(find "$reports" -name '*.open') ]] || fail "unfinished reports are left: $(find "$reports" -name '*.open' | wc -l)"

# A run with the number of this very process, as in containers, has ended.
way=same-id
rm -rf "$reports"
mkdir "$reports"
ends 0 "$crasher" same-id "$reports"
[[ -z $(find "$reports" -name '*.open') ]] || fail "an unfinished report is left: $(ls "$reports")"

# A process of another pid namespace, whose number says nothing here, is alive while it has its file locked.
way=word
rm -rf "$reports"
mkfifo pipe
"$crasher" word "$reports" <pipe >word-output 2>err &
lives=$!
exec 7>pipe
wait_until grep -q ready word-output || fail "the program is not ready: $(cat word-output err)"
run_file=$(find "$reports" -name '*.run')
sed -i 's/^pid .*/pid 4194304/' "$run_file"
if [[ $("$crasher" --last "$reports") != 'no run, '* ]]; then
  fail "a living run has ended: $("$crasher" --last "$reports")"
fi
ends 0 "$crasher" exit "$reports"
echo >&7
exec 7>&-
status=0
{ wait "$lives"; } 2>/dev/null || status=$?
[[ $status -eq 139 ]] || fail "the living process ends with $status"
reported 1

# Killed at any moment of a crash: no report is visible that is not whole.
way=killed
for ((i = 1; i <= 8; i++)); do
  rm -rf "$reports"
  { timeout -s KILL "0.0$((i * 4 + 9))" "$crasher" workers "$reports" >says 2>err; } 2>/dev/null || :
  for file in "$reports"/*.raw; do
    [[ ! -e $file ]] || run 0 stack "$file"
    [[ ! -e $file || ! -s $work/err ]] || fail "a visible report is torn: $(cat "$work/err")"
  done
  ends 0 "$crasher" exit "$reports"
done

# A sandbox refuses to restore what a signal does: a fault ends the process by its signal, a signal that was sent by
# SIGKILL. Nothing hangs, and the report is whole.
if [[ ${USP_TEST_UNDER-} != qemu-* ]]; then
  way=without-actions
  crashes without-actions
  [[ $ended -eq 139 ]] || fail "$way: ended with $ended"
  reported 1
  cause_has '^signal 11 code 1 '
  way=raise-without-actions
  rm -rf "$reports"
  ends 137 "$crasher" raise-without-actions "$reports"
  reported 1
fi

# The limit for files is below what a report reserves, since the start or later: what fits is written.
if [[ ${USP_TEST_UNDER-} != qemu-* ]]; then
  way=small-limit
  rm -rf "$reports"
  ends 139 bash -c 'ulimit -f 64; exec "$@"' limited "$crasher" segv "$reports"
  reported 1
  cause_has '^signal 11 code 1 .* first registers'$'\n'
  way=limited
  crashes limited
  [[ $ended -eq 139 ]] || fail "$way: ended with $ended"
  last_is 'crashed, 1 in a row, lasted'$'\n''1 reports new'
  cause=$("$crasher" --cause "$reports")
  cause_has '^signal 11 code 1 .* torn'
fi

# A program that has used up its descriptors, which often is why it crashes, has a whole report.
if [[ ${USP_TEST_UNDER-} != qemu-* && ($(ulimit -H -n) == unlimited || $(ulimit -H -n) -gt 80) ]]; then
  way=descriptors
  crashes descriptors
  [[ $ended -eq 139 && $(<says) == 'limit kept' ]] || fail "$way: ended with $ended: $(<says)"
  reported 1
  expect_frames '\(crashed\)' write_through_null crash_segv
  out_lacks 'not all images could be listed|threads could not be listed'
fi

# Notes in JSON, as the schema describes them.
if part_needs python3; then
  python3 - notes.json <<'PYTHON' || fail "the notes in JSON differ"
import json, sys
notes = json.load(open(sys.argv[1]))["notes"]
assert notes[0] == {"kind": "value", "key": "user", "text": "anna"}, notes[0]
assert notes[-1]["kind"] == "breadcrumb" and notes[-1]["text"] == "step 69" and notes[-1]["time_ns"] > 0, notes[-1]
assert "key" not in notes[-1]
assert len(notes) == 66, len(notes)
PYTHON
  python3 - thrown.json <<'PYTHON' || fail "the exception in JSON differs"
import json, sys
exception = json.load(open(sys.argv[1]))["exception"]
assert [frame.get("symbol") for frame in exception["frames"]] == ["crash_abort", None], exception
assert exception["omitted"] == 0 and "image" not in exception["frames"][1], exception
PYTHON
fi
validate stacks notes.json thrown.json
verdict
