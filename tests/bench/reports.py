# SPDX-License-Identifier: MIT
"""The rows of reports.sh. usage: reports.py WORK UNSPOOL"""
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

import processes
from processes import in_turn, run, verdict

work, unspool = sys.argv[1:]
processes.folder = work
ROUNDS = 5
FUNCTIONS = 5000
BUILD_ID = '0123456789abcdef0123456789abcdef01234567'
FRAMES = 400000


def make_index(file):
    """An index with symbols only; the command says that it has no lines."""
    subprocess.run([unspool, 'index', '--quiet', '-o', work + '/store', file], stderr=subprocess.DEVNULL, check=True)


# ---- a library without debug information, and its index

random.seed(1)
with open(work + '/code.c', 'w') as out:
    out.writelines(f'int function_{i}(int x) {{ return x * {i} + {i % 7}; }}\n' for i in range(FUNCTIONS))
library, store = work + '/library.so', work + '/store'
subprocess.run(['gcc', '-O1', '-shared', '-fPIC', '-Wl,--build-id=0x' + BUILD_ID, '-o', library, work + '/code.c'], check=True)
make_index(library)
text = subprocess.run(['llvm-nm-19', library], capture_output=True, text=True, check=True).stdout
starts = [int(m[1], 16) for m in re.finditer(r'^([0-9a-f]+) T function_', text, re.M)]
assert len(starts) == FUNCTIONS

# ---- a log: frames between other lines

addresses = [random.choice(starts) + 4 for _ in range(FRAMES)]
with open(work + '/log', 'w') as out:
    for i, address in enumerate(addresses):
        out.write(f'2026-11-27T10:00:{i % 60:02d}.{i % 1000:03d}Z INFO worker-{i % 97} request {i} handled in 12 ms\n')
        out.write(f'      #{i % 20:02d} pc {address:016x}  /system/lib64/library.so (BuildId: {BUILD_ID})\n')
with open(work + '/addresses', 'w') as out:
    out.writelines(f'0x{address:x}\n' for address in addresses)
megabytes = os.path.getsize(work + '/log') / 1e6
ours, piped, theirs = in_turn(
    ([unspool, 'symbolize', '--quiet', '--log', work + '/log', '--index', store],),
    ([unspool, 'symbolize', '--quiet', '--log', '-', '--index', store], 'log'),
    (['llvm-symbolizer-19', '--no-inlines', '--functions=linkage', '--obj=' + library], 'addresses'), rounds=ROUNDS)
print(f'a log of {megabytes:.0f} MB, {FRAMES} frames: {ours[0]:.2f} s of processor time ({FRAMES / ours[0] / 1e6:.2f} million frames '
      f'a second), {theirs[0] / ours[0]:.1f} times as fast as llvm-symbolizer-19 with bare addresses ({theirs[0]:.2f} s); '
      f'{ours[1]:.1f} MB of memory, goal 16: {verdict(ours[1] <= 16)}; through a pipe {piped[0]:.2f} s, {piped[1]:.1f} MB')
sys.stdout.flush()

# ---- MetricKit: payloads of hangs and CPU exceptions, as trees of 40 nested frames, indented as Apple writes them


def tree(depth, samples):
    address = 0x104e5c000 + random.choice(starts) + 4
    frame = {'binaryUUID': '01234567-89AB-CDEF-0123-456789ABCDEF', 'offsetIntoBinaryTextSegment': address - 0x104e5c000,
             'sampleCount': samples, 'binaryName': 'library.so', 'address': address}
    if depth > 1:
        frame['subFrames'] = [tree(depth - 1, samples)]
    return frame


def payload():
    def diagnostic():
        stacks = [{'threadAttributed': n == 0, 'callStackRootFrames': [tree(40, 20)]} for n in range(4)]
        return {'version': '1.0.0', 'callStackTree': {'callStackPerThread': True, 'callStacks': stacks},
                'diagnosticMetaData': {'appVersion': '1.0', 'osVersion': 'iPhone OS 17.5.1 (21F90)', 'hangDuration': '2 sec'}}
    return {'timeStampBegin': '2026-11-26 10:00:00', 'timeStampEnd': '2026-11-27 10:00:00',
            'hangDiagnostics': [diagnostic(), diagnostic()], 'cpuExceptionDiagnostics': [diagnostic()]}


# The UUID has 16 bytes, so the index for it is of another library with the same code.
mach = work + '/metrickit.so'
subprocess.run(['gcc', '-O1', '-shared', '-fPIC', '-Wl,--build-id=0x' + BUILD_ID[:32], '-o', mach, work + '/code.c'], check=True)
make_index(mach)
sys.setrecursionlimit(10000)
os.mkdir(work + '/payloads')
size = compact = frames = 0
with open(work + '/records', 'w') as records:
    for i in range(400):
        data = payload()
        with open(f'{work}/payloads/{i}.json', 'w') as out:
            json.dump(data, out, indent=1)
            size += out.tell()
        compact += records.write(json.dumps(data, separators=(',', ':')) + '\n')
        frames += 3 * 4 * 40
answers = subprocess.run([unspool, 'symbolize', '--quiet', '--log', work + '/payloads/0.json', '--index', store],
                         capture_output=True, text=True, check=True).stdout
assert answers.count('"symbolName"') == 480, answers[:1000]
read_and_write = 'import glob, json, sys\nfor f in glob.glob(sys.argv[1] + "/*"): json.dump(json.load(open(f)), sys.stdout)'
ours, answered, theirs = in_turn(
    ([unspool, 'symbolize', '--quiet', '--log', work + '/payloads', '--index', store],),
    ([unspool, 'symbolize', '--records', '--index', store], 'records'),
    ([sys.executable, '-c', read_and_write, work + '/payloads'],), rounds=ROUNDS)
rate = size / ours[0] / 1e6
print(f'MetricKit, 400 payloads, {frames} frames, {size / 1e6:.0f} MB: {rate:.0f} MB a second of processor time, goal 100: '
      f'{verdict(rate >= 100)}, {ours[1]:.1f} MB of memory; as records of {compact / 1e6:.0f} MB {compact / answered[0] / 1e6:.0f} MB a '
      f'second; Python\'s json reads and writes them at {size / theirs[0] / 1e6:.0f} MB a second: {theirs[0] / ours[0]:.1f} times')
sys.stdout.flush()

# ---- Apple's crash reports as JSON: one of 1.7 MB, and 80 of 1 MB by one process and by two


def elapsed(arguments):
    begin = time.perf_counter()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - begin)


def write_ips(path, count):
    """A report of threads with 11 frames each and their registers, indented as Apple writes it."""
    def thread(n, frames):
        registers = {'x': [{'value': random.randrange(1 << 40)} for _ in range(29)], 'flavor': 'ARM_THREAD_STATE64'}
        return {'id': 1000 + n, 'queue': 'com.example.queue', 'threadState': registers, 'triggered': n == 0,
                'frames': [{'imageOffset': random.choice(starts) + 4, 'imageIndex': 0} for _ in range(frames)]}
    report = {'version': 2, 'procName': 'App', 'exception': {'type': 'EXC_CRASH', 'signal': 'SIGABRT'}, 'faultingThread': 0,
              'threads': [thread(n, min(11, count - first)) for n, first in enumerate(range(0, count, 11))],
              'usedImages': [{'source': 'P', 'arch': 'arm64', 'base': 0x104e5c000, 'size': 1 << 20, 'path': '/private/var/App',
                              'name': 'App', 'uuid': '01234567-89ab-cdef-0123-456789abcdef'}]}
    with open(path, 'w') as out:
        out.write('{"app_name":"App","bug_type":"309","os_version":"iPhone OS 17.5.1 (21F90)"}\n')
        json.dump(report, out, indent=2)
        return out.tell()


os.mkdir(work + '/ips')
size, frames = write_ips(work + '/one.ips', 6450), 6450
for i in range(80):
    write_ips(f'{work}/ips/{i}.ips', 3200)
one = [unspool, 'symbolize', '--quiet', '--log', work + '/one.ips', '--index', store]
many = [unspool, 'symbolize', '--quiet', '--log', work + '/ips', '--index', store]
answers = subprocess.run(one, capture_output=True, text=True, check=True).stdout
assert answers.count('"symbol"') == frames, answers[:1000]
(spent_by_one, _), (spent, memory), (spent_by_two, memory_of_two) = in_turn((one,), (many,), (many + ['--jobs', '2'],), rounds=11)
times = [(elapsed(many), elapsed(many + ['--jobs', '2'])) for _ in range(11)]
by_one, by_two = (statistics.median(side) for side in zip(*times))
rate = size / spent_by_one / 1e6
print(f'a crash report of {size / 1e6:.1f} MB, {frames} frames: {rate:.0f} MB a second of processor time with the start of the process, '
      f'goal 130: {verdict(rate >= 130)}; 80 of them by one process {1000 * spent:.0f} ms, {memory:.1f} MB; by --jobs 2 '
      f'{1000 * spent_by_two:.0f} ms, {memory_of_two:.1f} MB, goal 64: {verdict(memory_of_two <= 64)}; by the clock {by_one / by_two:.2f} '
      f'times as fast, goal 1.8 where two processors are idle: {verdict(by_one / by_two >= 1.8)}')
sys.stdout.flush()

# ---- one report, beside one build and beside 100,000

BUILDS = 100000
index = next(os.path.join(d, 'index') for d, _, files in os.walk(store) if 'index' in files and d.endswith(BUILD_ID[2:]))
with open(work + '/report', 'w') as out:
    out.write('pid: 1, tid: 1, name: worker\n')
    out.writelines(f'      #{i:02d} pc {a:016x}  /system/lib64/library.so (BuildId: {BUILD_ID})\n' for i, a in enumerate(addresses[:20]))
large = work + '/large'
for i in range(BUILDS):
    folder = f'{large}/{random.randrange(256):02x}/{random.randrange(1 << 152):038x}'
    os.makedirs(folder)
    # A file has a limited number of links.
    if i % 20000 == 0:
        linked = folder + '/index'
        shutil.copyfile(index, linked)
    else:
        os.link(linked, folder + '/index')
ours_folder = f'{large}/{BUILD_ID[:2]}/{BUILD_ID[2:]}'
os.makedirs(ours_folder)
shutil.copyfile(index, ours_folder + '/index')


def command(folder):
    return [unspool, 'symbolize', '--quiet', '--log', work + '/report', '--index', folder]


assert subprocess.run(command(large), capture_output=True, text=True, check=True).stdout.count('function_') == 20
times = [(elapsed(command(large)), elapsed(command(store))) for _ in range(21)]
in_large, in_small = (statistics.median(side) for side in zip(*times))
(spent, memory), (spent_in_small, _) = in_turn((command(large),), (command(store),), rounds=21)
calls = '; system calls were not counted, because strace is not installed'
if shutil.which('strace'):
    subprocess.run(['strace', '-f', '-o', work + '/trace', *command(large)], stdout=subprocess.DEVNULL, check=True)
    with open(work + '/trace') as file:
        traced = [line for line in file if '(' in line]
    # Before the report is opened the loader searches for libraries, in more places here than after an installation.
    first = next(i for i, line in enumerate(traced) if '/report"' in line and 'execve' not in line)
    count = len(traced) - first
    calls = f'; {count} system calls from the report on, goal 60: {verdict(count <= 60)} (with the start of the process {len(traced)})'
print(f'one report beside {BUILDS} builds: {in_large:.1f} ms by the clock, goal 6: {verdict(in_large <= 6)}; {1000 * spent:.1f} ms of '
      f'processor time, {memory:.1f} MB of memory; beside two builds {in_small:.1f} ms and {1000 * spent_in_small:.1f} ms{calls}')
