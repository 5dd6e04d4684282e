#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares `unspool profile` with `perf script`, frame by frame, on recordings that perf makes here: call chains, stack
# dumps, compressed and through a pipe. Skipped without perf, or where it may not record.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools perf python3 nm readelf
# perf keeps the recorded files below it.
export HOME=$work/home
mkdir "$HOME"
read -ra cc <<<"${CC:-cc}"
cat >"$work/deep.c" <<'END'
#include <stdlib.h>
static volatile unsigned long sum;
__attribute__((noinline)) static unsigned long work(unsigned long x) {
    for (int i = 0; i < 1000; i++) sum += x * (unsigned long)i;
    return sum;
}
__attribute__((noinline)) static unsigned long descend(int depth) {
    const unsigned long result = depth == 0 ? work(sum) : descend(depth - 1);
    return result + 1;
}
int main(int argc, char **argv) {
    (void)argc;
    for (long n = atol(argv[1]); n > 0; n--) sum += descend(30 + (int)(n % 8));
    return 0;
}
END
"${cc[@]}" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o "$work/deep" "$work/deep.c"
"${cc[@]}" -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/framed" "$work/deep.c"
record=(perf record -q -e cpu-clock -F 997)
"${record[@]}" -o "$work/trial" "$work/deep" 1 >/dev/null 2>&1 || skip "perf may not record here"

# record_main NAME PROGRAM OPTION...: records the program until most of the stacks go through main: at first there may be
# few samples, all of them before main, on a busy machine. The recording "piped" is written to a pipe.
record_main() {
  local name=$1 program=$2 rounds=30000 out=$work/$1 through_main others
  shift 2
  [[ $name != piped ]] || out=-
  for _ in 1 2 3 4 5; do
    "${record[@]}" "$@" -o "$out" "$work/$program" "$rounds" | cat >"$work/stdout"
    [[ $name != piped ]] || mv "$work/stdout" "$work/$name"
    "$unspool" profile --quiet --format folded "$work/$name" >"$work/out" || : >"$work/out"
    through_main=$(awk '/;main;descend;/ { n += $NF } END { print n + 0 }' "$work/out")
    others=$(awk '!/;main;descend;/ { n += $NF } END { print n + 0 }' "$work/out")
    [[ $through_main -le $((others + 4)) ]] || return 0
    rounds=$((rounds * 3))
  done
  fail "$name: of its stacks, $through_main go through main, and $others do not"
}

record_main chains framed -g
record_main dumps deep --call-graph dwarf
record_main packed deep -z --call-graph dwarf
record_main piped deep --call-graph dwarf
record_main with-ids deep --buildid-mmap --call-graph dwarf
for name in chains dumps packed piped with-ids; do
  python3 "$top/tests/profile/perf_compare.py" "$unspool" "$work/$name" ||
    fail "$name: the stacks differ from those of perf script"
done
# From a pipe, which cannot be read twice.
"$unspool" profile --quiet --format folded - <"$work/piped" >"$work/out"
grep -q ';main;descend;' "$work/out" || fail "a pipe has no stacks"

# A program that was built anew since it was recorded: perf keeps the recorded file by its build id.
cp "$work/deep" "$work/renewed"
record_main before renewed --call-graph dwarf
"${cc[@]}" -O0 -Dwork=other -Ddescend=others -o "$work/renewed" "$work/deep.c"
"$unspool" profile --quiet --format folded "$work/before" >"$work/out"
grep -q ';main;descend;' "$work/out" || fail "a program that was built anew has no names from the file that perf keeps"
mv "$HOME/.debug" "$work/kept"
"$unspool" profile --quiet --format folded "$work/before" >"$work/out"
! grep -q ';main;' "$work/out" || fail "a program that was built anew has the names of the wrong build"
"$unspool" profile --quiet --format folded --buildid-dir "$work/kept" "$work/before" >"$work/out"
grep -q ';main;descend;' "$work/out" || fail "--buildid-dir: no names"
mv "$work/kept" "$HOME/.debug"

# Of several events the first of the list is shown, although a page fault comes before the clock.
perf record -q -e cpu-clock -e page-faults -F 997 -o "$work/several" "$work/framed" 30000 >/dev/null 2>&1
"$unspool" profile --quiet --format folded "$work/several" >"$work/out"
shown=$(awk '{ n += $NF } END { print n + 0 }' "$work/out")
perf script -F event -i "$work/several" >"$work/events" 2>/dev/null
clock=$(grep -c '^ *cpu-clock' "$work/events")
[[ $(head -n 1 "$work/events") == *page-faults* ]] || echo "the first sample is not a page fault"
[[ $clock -gt 0 && $shown -eq $clock ]] || fail "of several events $shown samples are shown, not the $clock of the first one"

# perf inject --jit makes a file of each function that generated code has announced. They have names, and callers.
if [[ $(uname -m) == x86_64 ]]; then
  cat >"$work/generates.c" <<'END'
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
int main(int argc, char **argv) {
    /* push rbp; mov rbp, rsp; mov eax, edi; dec eax; jne to before it; pop rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf8, 0xff, 0xc8, 0x75, 0xfc, 0x5d, 0xc3};
    char path[4096];
    const uint32_t pid = (uint32_t)getpid();
    if (argc < 3) return 1;
    snprintf(path, sizeof path, "%s/jit-%u.dump", argv[2], pid);
    FILE *dump = fopen(path, "w+");
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (dump == NULL || at == MAP_FAILED) return 1;
    const struct {
        uint32_t magic, version, size, machine, padding, pid;
        uint64_t time, flags;
    } header = {0x4a695444, 1, 40, 62, 0, pid, now(), 0};
    fwrite(&header, sizeof header, 1, dump);
    fflush(dump);
    /* perf finds the file by this. */
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    memcpy(at, code, sizeof code);
    const struct {
        uint32_t id, size;
        uint64_t time;
        uint32_t pid, tid;
        uint64_t address, code, code_size, index;
    } load = {0, 56 + 10 + sizeof code, now(), pid, pid, (uint64_t)at, (uint64_t)at, sizeof code, 0};
    fwrite(&load, 56, 1, dump);
    fwrite("generated", 10, 1, dump);
    fwrite(code, sizeof code, 1, dump);
    fflush(dump);
    for (int n = atoi(argv[1]); n > 0; n--) ((int (*)(int))at)(100000);
    return 0;
}
END
  "${cc[@]}" -O1 -g -o "$work/generates" "$work/generates.c"
  for mode in fp dwarf; do
    rounds=5000
    for _ in 1 2 3 4; do
      "${record[@]}" -k mono --call-graph "$mode" -o "$work/generated" "$work/generates" "$rounds" "$work"
      perf inject --jit -i "$work/generated" -o "$work/injected" 2>"$work/error" ||
        fail "perf inject --jit: $(<"$work/error")"
      "$unspool" profile --quiet --format folded "$work/injected" >"$work/out"
      ! grep -q ';main;generated[; ]' "$work/out" || break
      rounds=$((rounds * 4))
    done
    grep -q ';main;generated[; ]' "$work/out" || fail "$mode: a function of generated code has no name and caller"
  done
fi

# A file that is cut off: its whole samples, and the status. Most of all samples go through main, so some of the first
# half do.
head -c "$(($(stat -c %s "$work/dumps") / 2))" "$work/dumps" >"$work/cut"
status=0
"$unspool" profile --quiet --format folded "$work/cut" >"$work/out" 2>"$work/error" || status=$?
[[ $status -eq 1 ]] || fail "a recording that is cut off: exit status $status"
grep -q ';main;descend;' "$work/out" || fail "a recording that is cut off has no stacks"
grep -q 'shorter than its header says\|ends inside a record' "$work/error" || fail "the message about a cut recording: $(<"$work/error")"
verdict
