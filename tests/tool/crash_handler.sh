#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool crash-handler`, the program of a piped core_pattern: the report of a core from a pipe has the stacks of
# the core as a file, for its owner alone; root's child has no rights; whatever comes through the pipe, a report is
# written within the time limit; folders of other users are refused; the limits hold. The lane kernel-arm64 tests the
# real pattern.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gdb python3
[[ $(uname -s) == Linux ]] || skip "only for Linux"
cd "$work"
read -ra compiler <<<"${CC:-cc}"
"${compiler[@]}" -O1 -g -I"$top" -o crashes "$top/tests/tool/crashes.c" -lpthread || skip "no compiler"
folder=$work/reports

# crash PROGRAM HOW: makes a core in the kernel's order. The kernel's own core is taken if it can be had.
crash() {
  rm -f core core.gdb core.*
  { (ulimit -c unlimited && exec "$1" "$2" >/dev/null 2>&1) || :; } 2>/dev/null
  [[ ! -s core ]] || return 0
  gdb -nx -batch -readnever -ex run -ex "gcore core.gdb" -ex kill --args "$1" "$2" >gdb.out 2>&1 </dev/null || :
  [[ -s core.gdb ]] || fail "gdb writes no core: $(cat gdb.out)"
  python3 "$top/tests/tool/notes_first.py" core.gdb core
}

# handle STATUS ARGUMENT...: runs the command with a pipe as its input, which has what `input` prints. The newest report
# is $report.
# shellcheck disable=SC2317 # called by `handle`
input() { cat core; }
handle() {
  local expected=$1 status=0 found
  shift
  # A pipe whose reader ends early is not a failure.
  { input 2>/dev/null || :; } | "$unspool" crash-handler --directory "$folder" "$@" >out 2>err || status=$?
  [[ $status -eq $expected ]] || fail "crash-handler $*: exit status $status instead of $expected: $(cat out err)"
  [[ ! -s out ]] || fail "crash-handler prints: $(cat out)"
  report=''
  for found in "$folder"/*.raw; do report=$found; done
}

# ---- stacks, and what ended the process
for how in null overflow abort; do
  crash ./crashes $how
  run 0 stack --no-lines core
  cp out expected
  handle 0
  err_is_empty
  run 0 stack --no-lines "$report"
  diff expected out >difference || fail "$how: the report is not as the core: $(head -n 20 difference)"
done
crash ./crashes null
handle 0
run 0 stack --style ips "$report"
out_has '"type" ?: ?"SIGSEGV"'
out_has '"subtype" ?: ?"SEGV_MAPERR at 0x0000000000000008"'
cp out report.ips
run 0 report report.ips
out_has '^Exception Type: +SIGSEGV'
run 0 stack "$report"
out_has 'SIGSEGV, the address is not mapped \(SEGV_MAPERR\), fault address 0x8: a null pointer and an offset$'
out_has '^Thread [0-9]+ \(crashed\)$'
[[ $(grep -m 1 '^Thread' out) == *'(crashed)' ]] || fail "the crashed thread is not the first"

# ---- many threads: of each only the used part of its stack is kept
cat >many.c <<'END'
#include <pthread.h>
#include <unistd.h>
static pthread_barrier_t all;
static void *start(void *unused) {
    pthread_barrier_wait(&all);
    for (;;) pause();
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    pthread_barrier_init(&all, NULL, 301);
    for (int i = 0; i < 300; i++) pthread_create(&thread, &attributes, start, NULL);
    pthread_barrier_wait(&all);
    return *(volatile int *)8;
}
END
"${compiler[@]}" -O1 -g -o many many.c -lpthread
crash ./many ''
handle 0
run 0 stack --no-lines core
cp out expected
run 0 stack --no-lines "$report"
[[ $(grep -c '^Thread' out) -eq 301 ]] || fail "not 301 threads: $(grep -c '^Thread' out)"
diff expected out >difference || fail "many threads: the report is not as the core: $(head -n 20 difference)"

# ---- more program headers than the ELF header can count
crash ./crashes null
run 0 stack --no-lines core
cp out expected
python3 "$top/tests/tool/notes_first.py" core core.many 70000
mv core.many core
handle 0
run 0 stack --no-lines "$report"
diff expected out >difference || fail "many mappings: the report is not as the core: $(head -n 20 difference)"

# ---- files
[[ $(stat -c %a "$folder") == 700 ]] || fail "the folder's mode is $(stat -c %a "$folder")"
for file in "$folder"/*; do
  [[ $(stat -c '%a %u' "$file") == "600 $(id -u)" ]] || fail "$file: $(stat -c '%a %u' "$file")"
  [[ ${file##*/} =~ ^[0-9a-f]{16}-0-1\.raw$ ]] || fail "a file's name: $file"
done
[[ -z $(find "$folder" -name '.*' -type f) ]] || fail "files are left: $(ls -A "$folder")"

# ---- a name that is text of a hostile user
evil=$'\e[31m;$(touch x)\n'
cp crashes "$work/$evil"
crash "$work/$evil" null
handle 0
[[ ${report##*/} =~ ^[0-9a-f]{16}-0-1\.raw$ && ! -e x ]] || fail "a hostile name: $report"
run 0 stack "$report"
[[ $(grep -c $'\e' out) -eq 0 ]] || fail "an escape sequence reaches the terminal"

# ---- a process id that is another process's
crash ./crashes null
run 0 stack --no-lines core
cp out expected
handle 0 $$ 11
err_has "process $$ is not being dumped; only its core is read$"
[[ ${report##*/} == *-"$$"-1.raw ]] || fail "the process id is not in the name: $report"
run 0 stack --no-lines "$report"
diff expected out >difference || fail "a wrong process id: $(cat difference)"

# ---- what is not a core, and one that ends early: the report names process and signal
unreadable() {
  handle 1 999999999 6
  err_has "$1\$"
  run 1 stack "$report"
  out_has '^Process 999999999, .*, 0 threads, ended by SIGABRT$'
}
input() { :; }
unreadable 'standard input: not an ELF core'
input() { cat "$unspool"; }
unreadable 'standard input: .*'
input() { head -c 1000 core; }
unreadable 'standard input: offset 0x[0-9a-f]+: program headers needs [0-9]+ bytes, [0-9]+ are left'
input() { head -c 20000 core; }
handle 0 999999999 6
"$unspool" stack "$report" >out 2>err || :
out_has ', ended by SIGSEGV$'
out_has 'it was cut off$'
# The writer of a pipe without an end stays; the command does not wait for it.
mkfifo fifo
sleep 1000 >fifo &
running+=($!)
status=0
"$unspool" crash-handler --directory "$folder" --timeout 1 999999998 6 <fifo >out 2>err || status=$?
[[ $status -eq 1 ]] || fail "a pipe without an end: exit status $status"
err_has 'the core was not read within the limits; the report is incomplete$'
run 1 stack "$folder"/*-999999998-1.raw
out_has '^Process 999999998, .*, 0 threads, ended by SIGABRT$'
stop
rm fifo

# ---- what a hostile system can do, by a library that is loaded before the others
cat >hostile.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* HELD: an end of a process that a file system holds, after the process has closed its pipes. */
void _exit(int status) {
    if (getenv("HELD") == NULL) syscall(SYS_exit_group, status);
    for (int i = 3; i < 64; i++) close(i);
    for (;;) pause();
}
/* TRACED: fs.suid_dumpable is 1. */
int setresuid(uid_t a, uid_t b, uid_t c) {
    const int result = (int)syscall(SYS_setresuid, a, b, c);
    if (getenv("TRACED") != NULL) prctl(PR_SET_DUMPABLE, 1);
    return result;
}
/* STATUS: the file for each status of a process. The memory at an absolute path is by then another process's. */
static int found(int folder, const char *path, int flags) {
    const char *name = strrchr(path, '/'), *status = getenv("STATUS");
    name = name != NULL ? name + 1 : path;
    if (status != NULL && strcmp(name, "status") == 0) path = status;
    if (status != NULL && path[0] == '/' && strcmp(name, "mem") == 0) path = "/dev/null";
    return (int)syscall(SYS_openat, folder, path, flags, 0600);
}
int open(const char *path, int flags, ...) { return found(AT_FDCWD, path, flags); }
int open64(const char *path, int flags, ...) { return found(AT_FDCWD, path, flags); }
int openat(int folder, const char *path, int flags, ...) { return found(folder, path, flags); }
int openat64(int folder, const char *path, int flags, ...) { return found(folder, path, flags); }
END
hostile=''
"${compiler[@]}" -shared -fPIC -U_FORTIFY_SOURCE -o hostile.so hostile.c && hostile=$work/hostile.so
LD_PRELOAD=$hostile "$unspool" --version >/dev/null 2>&1 || hostile=''
if [[ -n $hostile ]]; then
  # The child's report is there, but the child does not end.
  rm -rf "$folder"
  status=0
  HELD=1 LD_PRELOAD=$hostile "$unspool" crash-handler --directory "$folder" --timeout 5 <core >out 2>err || status=$?
  [[ $status -eq 1 ]] || fail "a child that does not end: exit status $status: $(cat err)"
  err_has 'the core was not read within the limits; the report is incomplete$'
  run 0 stack --no-lines "$folder"/*.raw
  diff expected out >difference || fail "a child that does not end: $(cat difference)"

  # The memory is that of the process whose status was read, also if another one has its id then.
  cat >waits.c <<'END'
#include <unistd.h>
__attribute__((noinline)) int inner(void) { return write(1, "ready\n", 6) == 6 ? pause() + 1 : 1; }
__attribute__((noinline)) int middle(void) { return inner() + 1; }
int main(void) { return middle() + 1; }
END
  "${compiler[@]}" -O1 -g -fno-optimize-sibling-calls -o waits waits.c
  start ./waits
  waits=$pid
  gdb -nx -batch -readnever -p "$waits" -ex "gcore waits.gdb" >gdb.out 2>&1 </dev/null || :
  [[ -s waits.gdb ]] || fail "gdb writes no core: $(cat gdb.out)"
  python3 "$top/tests/tool/notes_first.py" waits.gdb waits.core
  # A process can have many groups, in a line before those that are read.
  {
    printf 'Groups:\t%s \n' "$(seq -s ' ' 4294900000 4294902000)"
    grep -v -e CoreDumping -e Groups "/proc/$waits/status"
    printf 'CoreDumping:\t1\n'
  } >waits.status
  rm -rf "$folder"
  input() { head -c 16384 waits.core; }
  STATUS=$work/waits.status LD_PRELOAD=$hostile handle 0 "$waits" 11
  "$unspool" stack --no-lines "$report" >out 2>err || :
  for name in inner middle main; do out_has " $name( |\$)"; done
  out_has '"waits"'
  stop
fi

# ---- signals that the starter has ignored
if env --ignore-signal=CHLD true 2>/dev/null; then
  status=0
  env --ignore-signal=CHLD --ignore-signal=ALRM "$unspool" crash-handler --directory "$folder" <core >out 2>err || status=$?
  [[ $status -eq 0 ]] || fail "with SIGCHLD ignored: exit status $status: $(cat err)"
fi

# ---- limits: the newest reports stay
input() { :; }
rm -rf "$folder"
for pid in 999999991 999999992 999999993; do handle 1 --max-reports 2 $pid 11; done
[[ $(printf '%s\n' "$folder"/*.raw | sed 's/.*-\(9*[0-9]\)-1.raw/\1/' | tr '\n' ' ') == '999999992 999999993 ' ]] ||
  fail "--max-reports 2: $(ls "$folder")"
handle 1 --max-bytes 1 999999994 11
[[ -z $(ls "$folder") ]] || fail "--max-bytes 1: $(ls "$folder")"

# ---- folders
refused() {
  local status=0
  "$unspool" crash-handler --directory "$1" 1 6 <core >out 2>err || status=$?
  [[ $status -eq 3 ]] || fail "$1: exit status $status"
  [[ ! -d $1 || -z $(ls -A "$1/") ]] || fail "$1: $(ls -A "$1/")"
}
mkdir open
chmod 777 open
refused open
err_has 'open: other users may write into it; reports are not written there$'
mkdir aim
ln -s aim link
refused link
refused none/below
if [[ $(id -u) -eq 0 ]]; then
  mkdir other
  chown 65534 other
  refused other
  err_has 'other: it belongs to another user; reports are not written there$'
fi

# ---- root's child has given up all rights before it reads the core
if [[ $(id -u) -eq 0 ]]; then
  mkfifo fifo
  rm -rf "$folder"
  TRACED=1 LD_PRELOAD=$hostile "$unspool" crash-handler --directory "$folder" <fifo >out 2>err &
  handler=$!
  running+=("$handler")
  exec {writer}>fifo
  status=''
  # shellcheck disable=SC2317,SC2329 # called by wait_until
  is_another_user() {
    child=$(cat "/proc/$handler/task/$handler/children" 2>/dev/null) || :
    status=$(cat "/proc/${child%% *}/status" 2>/dev/null) || :
    [[ -n $child && $status == *$'\nUid:\t65534\t'* ]]
  }
  wait_until is_another_user || fail "root's child keeps its user"
  for line in 'Uid:\t65534\t65534\t65534\t65534' 'Gid:\t65534\t65534\t65534\t65534' 'Groups:\t' 'CapPrm:\t0000000000000000' \
    'CapEff:\t0000000000000000' 'NoNewPrivs:\t1'; do
    [[ $status == *$'\n'"$(printf '%b' "$line")"* ]] || fail "the child's status lacks $line: $status"
  done
  # If it never ends, nothing keeps the kernel's pipe open, for whose end the kernel waits.
  ! find "/proc/${child%% *}/fd" -lname "$PWD/fifo" | grep . >&2 || fail "the child has the kernel's pipe"
  # It does not keep the folder, which it could read by that.
  ! find "/proc/${child%% *}/fd" -lname "$folder" | grep . >&2 || fail "the child has the folder of the reports"
  # Other processes of "nobody" cannot trace it. The dumpable flag is set after the user.
  # shellcheck disable=SC2317,SC2329 # called by wait_until
  cannot_be_traced() { [[ $(stat -c %u "/proc/${child%% *}/environ") -eq 0 ]]; }
  wait_until cannot_be_traced || fail "the child can be traced"
  cat core >&"$writer"
  exec {writer}>&-
  wait "$handler" || fail "the handler ends with $?: $(cat err)"
  run 0 stack --no-lines "$folder"/*.raw
  diff expected out >difference || fail "by root's child: $(cat difference)"
fi

# ---- usage
for arguments in '' '--directory' '--directory x y' '--directory x 1 2 3' '--directory x --max-reports 0' \
  '--directory x --timeout none'; do
  read -ra words <<<"$arguments"
  run 2 crash-handler "${words[@]}"
  err_has 'See .unspool crash-handler --help.\.$'
  [[ ! -e x ]] || fail "$arguments: makes a folder"
done
run 0 crash-handler --help
out_has 'core_pattern'
verdict
