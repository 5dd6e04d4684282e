#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares `unspool profile` with `perf script` on recordings with stack dumps that perf makes here: a C program with 60
# frames, a Python interpreter, with and without inlined calls and lines, and a shell that starts many programs. Also
# compares `unspool profile` of the interpreter's recording with one of ten times as long. USP_BENCH_PYTHON names an
# interpreter with debug information (default: the one that python3 starts), on which the rows with lines depend: what
# debug information it has is printed. USP_BENCH_RECORDING names a recording to use instead of all these. Prints processor time with all
# processes that were started (perf starts addr2line, and does not always wait for it), as medians of rounds in turn, and
# the largest process's peak of memory. Run in the build folder; takes a few minutes.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools perf python3
make_work
# Use the program itself, because Libtool's script around it takes a tenth of the time.
unspool=$PWD/tools/unspool
if [[ -x tools/.libs/unspool ]]; then
  unspool=$PWD/tools/.libs/unspool
  export LD_LIBRARY_PATH=$PWD/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
seconds=${USP_BENCH_SECONDS:-5}
# A python3 that is a script (pyenv) would be recorded with its shells.
python=${USP_BENCH_PYTHON:-$(python3 -c 'import sys; print(sys.executable)')}
cat >"$work/deep.c" <<'END_OF_C'
#include <stdlib.h>
#include <time.h>
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
    while (clock() < atol(argv[1]) * CLOCKS_PER_SEC) sum += descend(50 + (int)(sum % 8));
    return 0;
}
END_OF_C
cat >"$work/busy.py" <<'END_OF_PYTHON'
import collections, hashlib, json, pickle, random, re, sys, time, zlib
random.seed(1)

def tree(depth):
    return {str(i): tree(depth - 1) for i in range(4)} if depth else [random.random() for _ in range(3)]

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

while time.process_time() < float(sys.argv[1]):
    made = tree(4)
    text = json.dumps(made)
    json.loads(text), fib(16), re.findall(r'(\d+)\.(\d+)', text)
    re.sub(r'[0-9]+', lambda match: match.group()[::-1], text[:3000])
    pickle.loads(pickle.dumps(made)), zlib.compress(text.encode()), hashlib.sha256(text.encode()).hexdigest()
    sorted(collections.Counter(text).items(), key=lambda item: -item[1])
END_OF_PYTHON
recordings=()
if [[ -n ${USP_BENCH_RECORDING-} ]]; then
  recordings=("recording=$USP_BENCH_RECORDING")
else
  read -ra cc <<<"${CC:-cc}"
  "${cc[@]}" -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o "$work/deep" "$work/deep.c"
  record=(perf record -q -e cpu-clock -F 999 --call-graph dwarf)
  "${record[@]}" -o "$work/trial" true >/dev/null 2>&1 || skip "perf may not record here"
  "${record[@]}" -o "$work/deep.data" "$work/deep" "$seconds"
  "${record[@]}" -o "$work/python.data" "$python" "$work/busy.py" "$seconds"
  "${record[@]}" -o "$work/long.data" "$python" "$work/busy.py" "$((10 * seconds))"
  # shellcheck disable=SC2016 # the shell that is recorded expands it
  "${record[@]}" -F 5000 -o "$work/many.data" bash -c 'for i in {1..600}; do /bin/true; /bin/ls >/dev/null; done'
  recordings=("C=$work/deep.data" "Python=$work/python.data" "Programs=$work/many.data" "long=$work/long.data")
fi
python3 - "$unspool" "${USP_BENCH_ROUNDS:-5}" "$python" "${recordings[@]}" <<'END_OF_PYTHON'
import ctypes, os, re, statistics, subprocess, sys
unspool, rounds, python, *recordings = sys.argv[1:]
PR_SET_CHILD_SUBREAPER = 36
# Processes that a command has started and left come to this one, so that their time counts.
if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
    sys.exit('prctl fails')
null = os.open(os.devnull, os.O_RDWR)

def spend(command):
    """The processor time of a command and of all that it has started, and the peak of the largest in MB."""
    process = os.posix_spawnp(command[0], command, os.environ,
                              file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in (0, 1, 2)])
    seconds = peak = 0
    while True:
        try:
            ended, status, used = os.wait4(-1, 0)
        except ChildProcessError:
            return seconds, peak / 1024
        if ended == process and status != 0:
            sys.exit(f'{" ".join(command)}: status {status}')
        seconds += used.ru_utime + used.ru_stime
        peak = max(peak, used.ru_maxrss)

def compare(name, what, goal, ours, theirs):
    pairs = [(spend(ours), spend(theirs)) for _ in range(int(rounds))]
    ratio = statistics.median(b[0] / a[0] for a, b in pairs)
    (a, a_peak), (b, b_peak) = ([statistics.median(column) for column in zip(*side)] for side in zip(*pairs))
    verdict = '' if goal is None else f', goal {goal}: {"reached" if ratio >= goal else "missed"}'
    print(f'{name}, {what}: unspool {a:.3f} s, {a_peak:.0f} MB; perf script {b:.3f} s, {b_peak:.0f} MB: '
          f'{ratio:.1f} times as long{verdict}', flush=True)

def count_samples(path):
    return len(subprocess.run(['perf', 'script', '-i', path, '-F', 'tid'], capture_output=True).stdout.splitlines())

def compare_length(what, ours, short, long):
    """A recording, and one with more samples of the same program: time and memory of unspool."""
    (a, a_peak), (b, b_peak) = ([statistics.median(column) for column in zip(*side)] for side in
                                zip(*((spend([*ours, short]), spend([*ours, long])) for _ in range(int(rounds)))))
    more = count_samples(long) / count_samples(short)
    print(f'Python, {more:.1f} times the samples, {what}: {a:.3f} s, {a_peak:.0f} MB; {b:.3f} s, {b_peak:.0f} MB: '
          f'{b / a:.1f} times as long, goal {more:.1f}: {"reached" if b / a <= more else "missed"}; '
          f'{b_peak / a_peak:.2f} times the memory, goal 1', flush=True)

def debug_information(path):
    """The size of a file's debug information, or of that of its separate file, as text."""
    def size_in(file):
        sections = subprocess.run(['readelf', '-SW', file], capture_output=True, text=True).stdout
        found = re.search(r'\.debug_info\s+PROGBITS\s+\S+\s+\S+\s+(\S+)\s+\S+(.*)', sections)
        packed = ', compressed' if found and ' C' in found[2][:4] else ''
        return f'{int(found[1], 16) / 1e6:.1f} MB{packed}' if found else None
    notes = subprocess.run(['readelf', '-n', path], capture_output=True, text=True).stdout
    build_id = re.search(r'Build ID: (..)(\w+)', notes)
    separate = f'/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug' if build_id else ''
    return size_in(path) or size_in(separate) or 'none'

def say_conditions(python):
    files = [os.path.realpath(python)]
    linked = subprocess.run(['ldd', files[0]], capture_output=True, text=True).stdout
    files += re.findall(r'=> (\S*/lib(?:python|c\.so)\S*)', linked)
    print('debug information:', '; '.join(f'{file}: {debug_information(file)}' for file in files))

goals = {'C': (8, None), 'Python': (6, 20)}
paths = dict(recording.split('=', 1) for recording in recordings)
long = paths.pop('long', None)
if long is not None:
    say_conditions(python)
folded = [unspool, 'profile', '--quiet', '--format', 'folded']
for name, path in paths.items():
    script = ['perf', 'script', '-i', path]
    names_goal, lines_goal = goals.get(name, (None, None))
    print(f'{name}: {os.path.getsize(path) / 1e6:.1f} MB, {count_samples(path)} samples')
    compare(name, 'names', names_goal, [*folded, path], [*script, '--no-inline'])
    compare(name, 'names, inlined calls, lines', lines_goal, [*folded, '--lines', path], script)
if long is not None:
    compare_length('names', folded, paths['Python'], long)
    compare_length('names, inlined calls, lines', [*folded, '--lines'], paths['Python'], long)
END_OF_PYTHON
