#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lines against llvm-symbolizer, eu-addr2line and llvm-gsymutil, on one large file with DWARF: time and memory, medians, and the
# ratios of one run. usage: lines.sh FILE, in the folder of the build; FILE has uncompressed debug sections (say, libjvm's of
# openjdk-17-dbg after llvm-objcopy --decompress-debug-sections).
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools llvm-symbolizer-19 llvm-gsymutil-19 llvm-readelf-19 python3
file=${1-${USP_BENCH_LINES-}}
[[ -f $file ]] || skip "no file: USP_BENCH_LINES names a large one with debug information"
dump=$PWD/tests/symbolize/lines_dump unspool=$PWD/tools/unspool
make_work
python3 - "$file" "$work" "$dump" "$unspool" <<'END'
import random, re, resource, statistics, os, subprocess, sys, time
file, work, dump, unspool = sys.argv[1:]
sections = subprocess.run(['llvm-readelf-19', '-SW', file], capture_output=True, text=True).stdout
low, size = next((int(m.group(1), 16), int(m.group(2), 16)) for m in
                 re.finditer(r'\] \.text +\w+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)', sections))
random.seed(1)
for name, count in ('one', 1), ('many', 60000):
    with open(f'{work}/{name}', 'w') as out:
        out.writelines('0x%x\n' % (low + random.randrange(size)) for _ in range(count))

def run(command, questions=None, times=3):
    """Median seconds of processor time and of the clock, and the memory in MB."""
    all_times = []
    for _ in range(times):
        begin = time.monotonic()
        pid = os.fork()
        if pid == 0:
            if questions:
                os.dup2(os.open(f'{work}/{questions}', os.O_RDONLY), 0)
            null = os.open('/dev/null', os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.execvp(command[0], command)
        _, _, used = os.wait4(pid, 0)
        all_times.append((used.ru_utime + used.ru_stime, time.monotonic() - begin, used.ru_maxrss / 1024))
    return [statistics.median(values) for values in zip(*all_times)]

def row(what, ours, theirs):
    print(f'{what:44} {ours[0]:7.3f} s {ours[2]:6.0f} MB   {theirs[0]:7.3f} s {theirs[2]:6.0f} MB   '
          f'{theirs[0] / max(ours[0], 0.001):6.1f} x, memory 1/{theirs[2] / ours[2]:.1f}')

llvm = ['llvm-symbolizer-19', '--inlines', '--obj=' + file]
print(f'{"processor time, medians":44} {"unspool":>21}   {"peer":>21}')
row('first answer (llvm-symbolizer)', run([dump, file], 'one'), run(llvm, 'one'))
many = run([dump, file], 'many', 1)
row('60,000 addresses (llvm-symbolizer)', many, run(llvm, 'many', 1))
if subprocess.run(['which', 'eu-addr2line'], capture_output=True).returncode == 0 and os.environ.get('USP_BENCH_SLOW'):
    row('60,000 addresses (eu-addr2line)', many, run(['eu-addr2line', '-i', '-f', '-e', file], 'many', 1))
build = run([unspool, 'index', '--threads', '2', '-o', work + '/store', file])
row('index, two threads (llvm-gsymutil)', build, run(['llvm-gsymutil-19', '--convert', file, '-o', work + '/gsym',
                                                   '--num-threads', '2', '--quiet'], None, 1))
index = next(os.path.join(d, 'index') for d, _, files in os.walk(work + '/store') if 'index' in files)
row('first answer of an index (llvm-symbolizer)', run([dump, '-s', work + '/store', file], 'one', 9), run(llvm, 'one'))
indexed = run([dump, '-s', work + '/store', file], 'many')
print(f'60,000 look-ups in an index: {60000 / indexed[0]:.0f} a second with start, reading and printing')
dwarf = sum(int(m.group(1), 16) for m in re.finditer(r'\] \.debug_\w+ +\w+ +[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+)', sections))
print(f'index {os.path.getsize(index)} bytes, GSYM {os.path.getsize(work + "/gsym")}, DWARF {dwarf}: '
      f'{100 * os.path.getsize(index) / dwarf:.1f} %; {dwarf / build[1] / 1e6:.0f} MB of DWARF a second by the clock')
END
