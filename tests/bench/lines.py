# SPDX-License-Identifier: MIT
"""The rows of lines.sh. usage: lines.py FILE WORK LINES_DUMP UNSPOOL LINES"""
import os
import random
import re
import statistics
import struct
import subprocess
import sys

import processes
from processes import in_turn, run, verdict

file, work, dump, unspool, lines = sys.argv[1:]
processes.folder = work
ROUNDS = 3
LLVM = ['llvm-symbolizer-19', '--inlines', '--obj=' + file]


def row(what, ours, theirs, goal, memory_goal=None):
    times, memory = theirs[0] / max(ours[0], 1e-4), theirs[1] / ours[1]
    print(f'{what}: unspool {ours[0]:.3f} s, {ours[1]:.0f} MB; peer {theirs[0]:.3f} s, {theirs[1]:.0f} MB: '
          f'{times:.1f} times as fast, goal {goal}: {verdict(times >= goal)}' +
          (f'; 1/{memory:.1f} of the memory, goal 1/{memory_goal}: {verdict(memory >= memory_goal)}' if memory_goal else ''))
    sys.stdout.flush()


def sections_of(path):
    text = subprocess.run(['llvm-readelf-19', '-SWn', path], capture_output=True, text=True).stdout
    found = re.findall(r'\] (\S+) +\w+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ', text)
    build_id = re.search(r'Build ID: ([0-9a-f]+)', text)
    return {name: (int(address, 16), int(size, 16)) for name, address, size in found}, build_id and build_id[1]


# ---- questions

sections, build_id = sections_of(file)
low, size = sections['.text']
dwarf = sum(s for name, (_, s) in sections.items() if name.startswith('.debug'))
random.seed(1)
for name, count in ('one', 1), ('some', 3000), ('many', 60000):
    with open(f'{work}/{name}', 'w') as out:
        out.writelines('0x%x\n' % (low + random.randrange(size)) for _ in range(count))
print(f'{os.path.basename(file)}: {dwarf / 1e6:.0f} MB of debug information, {size / 1e6:.0f} MB of code; processor time')

# ---- without an index

# The command, because it demangles names as llvm-symbolizer does.
COMMAND = [unspool, 'symbolize', '-i', '--index', work + '/none', '-o', file]
ours, theirs = in_turn((COMMAND, 'many'), (LLVM, 'many'))
row('60,000 addresses, llvm-symbolizer', ours, theirs, 5, 4)
slow = 'many' if os.environ.get('USP_BENCH_SLOW') else 'some'
ours, theirs = in_turn(([dump, file], slow), (['eu-addr2line', '-i', '-f', '-e', file], slow, range(256)), rounds=1)
row(f'{"60,000" if slow == "many" else "3,000"} addresses, eu-addr2line', ours, theirs, 5, 4)
ours, theirs = in_turn((COMMAND, 'one'), (LLVM, 'one'), rounds=9)
row('first answer, llvm-symbolizer', ours, theirs, 4)

# ---- the index

store, gsym = work + '/store', work + '/gsym'
builds = []
for _ in range(ROUNDS):
    subprocess.run(['rm', '-rf', store, gsym])
    builds.append((run([unspool, 'index', '--quiet', '--threads', '2', '-o', store, file]),
                   run(['llvm-gsymutil-19', '--convert', file, '-o', gsym, '--num-threads', '2', '--quiet'])))
ours, theirs = (tuple(statistics.median(values) for values in zip(*side)) for side in zip(*builds))
row('index, two threads, llvm-gsymutil', ours, theirs, 2)
print(f'  {dwarf / ours[0] / 1e6:.0f} MB of debug information a second of processor time, gsymutil {dwarf / theirs[0] / 1e6:.0f}; '
      f'goal 150 by the clock on two free processors, which is 75: {verdict(dwarf / ours[0] / 1e6 >= 75)}; '
      f'memory {ours[1] * 1048576 / dwarf:.2f} of the debug information, goal 1: {verdict(ours[1] * 1048576 <= dwarf)}')

indexed, theirs = in_turn(([unspool, 'symbolize', '-i', '--index', store, '-o', file], 'one'), (LLVM, 'one'), rounds=9)
print(f'first answer from an index: {1000 * indexed[0]:.1f} ms, goal 5: {verdict(indexed[0] <= 0.005)}; '
      f'llvm-symbolizer {1000 * theirs[0]:.0f} ms')

# ---- look-ups

with open(work + '/gsym-one', 'w') as one, open(work + '/gsym-many', 'w') as many:
    addresses = open(work + '/many').read().split()
    one.write(f'{addresses[0]} {gsym}\n')
    many.writelines(f'{a} {gsym}\n' for a in addresses)


def look_ups(*arguments):
    text = subprocess.run([lines, *arguments], stdin=open(work + '/many'), capture_output=True, text=True, check=True).stdout
    return int(text.split()[0])


ask_gsym = ['llvm-gsymutil-19', '--addresses-from-stdin', '--quiet']
ours_printed, ours_start, gsym_printed, gsym_start = in_turn(
    ([dump, '-s', store, file], 'many'), ([dump, '-s', store, file], 'one'), (ask_gsym, 'gsym-many'), (ask_gsym, 'gsym-one'))
alone = look_ups(file, store)
ours_rate, gsym_rate = (60000 / max(a[0] - b[0], 1e-4) for a, b in ((ours_printed, ours_start), (gsym_printed, gsym_start)))
print(f'look-ups in an index: {alone} a second, goal 800000: {verdict(alone >= 800000)}; reading and printing {ours_rate:.0f}, '
      f'llvm-gsymutil {gsym_rate:.0f}: {ours_rate / gsym_rate:.1f} times as fast, goal 1: {verdict(ours_rate >= gsym_rate)}')

# ---- sizes

index = next(os.path.join(d, 'index') for d, _, files in os.walk(store) if 'index' in files)
with open(index, 'rb') as raw:
    header = raw.read(256)
names = ('map', 'directory', 'blocks', 'strings', 'symbols', 'checksums')
parts = {name: struct.unpack_from('<Q', header, 104 + 16 * i)[0] for i, name in enumerate(names)}
with open(gsym, 'rb') as raw:
    gsym_strings = struct.unpack_from('<I', raw.read(48), 24)[0]
ours_lines = parts['map'] + parts['directory'] + parts['blocks']
gsym_lines = os.path.getsize(gsym) - gsym_strings
peers = [('GSYM', gsym_lines, os.path.getsize(gsym))]
# Runs in a separate process, because memory that this process has used counts for processes that it starts.
make_symcache = """
import sys
from symbolic import Archive, SymCache
with open(sys.argv[2], 'wb') as out:
    SymCache.from_object(next(Archive.open(sys.argv[1]).iter_objects())).dump_into(out)
"""
# The package looks up one address a call, so this includes the call from Python and the objects that it makes.
ask_symcache = """
import sys, time
from symbolic import SymCache
cache, addresses = SymCache.open(sys.argv[1]), [int(line, 16) for line in open(sys.argv[2])]
begin = time.process_time()
found = sum(len(cache.lookup(address)) for address in addresses)
print(f'symcache: {len(addresses) / (time.process_time() - begin):.0f} look-ups a second by Python, '
      f'{found / len(addresses):.1f} frames each (informative)')
"""
if subprocess.run([sys.executable, '-c', make_symcache, file, work + '/symcache'], capture_output=True).returncode == 0:
    with open(work + '/symcache', 'rb') as raw:
        strings = struct.unpack_from('<I', raw.read(72), 60)[0]
    subprocess.run([sys.executable, '-c', ask_symcache, work + '/symcache', work + '/many'], check=True)
    sys.stdout.flush()
    peers.append(('symcache', os.path.getsize(work + '/symcache') - strings, os.path.getsize(work + '/symcache')))
else:
    print('symcache: Python has no package symbolic')
print(f'index {os.path.getsize(index) / 1e6:.1f} MB, {100 * os.path.getsize(index) / dwarf:.1f} % of the debug information, goal 15: '
      f'{verdict(os.path.getsize(index) <= 0.15 * dwarf)} (' + ', '.join(f'{n} {s / 1e6:.2f}' for n, s in parts.items()) + ')')
for name, part, whole in peers:
    print(f'  lines and inlined calls {ours_lines / 1e6:.2f} MB, {name} {part / 1e6:.2f} of {whole / 1e6:.2f} without strings: '
          f'{verdict(ours_lines < part)}')

# ---- symbols alone

FUNCTIONS = 400000
with open(work + '/many.s', 'w') as out:
    out.write('.text\n.globl _start\n_start:\n')
    for i in range(FUNCTIONS):
        own = f'function{i}'
        name = f'_ZN5bench{len(own)}{own}IiSt6vectorIlSaIlEEE3runEiPKc'
        out.write(f'.globl {name}\n.type {name}, %function\n{name}:\n.skip {16 + i % 7 * 8}\n.size {name}, . - {name}\n')
subprocess.run(['gcc', '-nostdlib', '-static', '-o', work + '/named', work + '/many.s'], check=True)
with open(work + '/named-addresses', 'w') as out:
    low, size = sections_of(work + '/named')[0]['.text']
    out.writelines('0x%x\n' % (low + random.randrange(size)) for _ in range(10000))
ours, theirs = in_turn(([unspool, 'symbolize', '-o', work + '/named'], 'named-addresses'),
                       (['llvm-symbolizer-19', '--no-inlines', '--demangle', '--obj=' + work + '/named'], 'named-addresses'))
row('10,000 addresses among 400,000 symbols, demangled, llvm-symbolizer', ours, theirs, 3)
ours, theirs = in_turn(([unspool, 'symbols', work + '/named'],), (['llvm-nm-19', '-C', work + '/named'],))
row('400,000 symbols listed and demangled, llvm-nm -C', ours, theirs, 1)

# ---- a log

subprocess.run(['llvm-objcopy-19', '--strip-debug', file, work + '/names-only'], check=True)
run([unspool, 'index', '--quiet', '-o', work + '/names-store', work + '/names-only'])
low, size = sections['.text']
with open(work + '/log', 'w') as out:
    for i in range(400000):
        if i % 20 == 0:
            out.write(f'pid: 1, tid: {i}, name: worker\n')
        out.write(f'      #{i % 20:02d} pc {low + random.randrange(size):016x}  /system/lib64/library.so (BuildId: {build_id})\n')
with_lines, without = in_turn(([unspool, 'symbolize', '--log', '-', '--index', store], 'log'),
                              ([unspool, 'symbolize', '--log', '-', '--index', work + '/names-store'], 'log'))
print(f'400,000 frames of a log: with lines {with_lines[0]:.2f} s, without {without[0]:.2f} s: {with_lines[0] / without[0]:.2f} '
      f'times, goal 2: {verdict(with_lines[0] <= 2 * without[0])}')
