# SPDX-License-Identifier: MIT
"""Runs the programs of crash.sh, and watches the report that one of them writes."""
import glob
import os
import shutil
import statistics
import struct
import subprocess
import sys
import time
import zlib

STACK, FRAMES, END = 5, 6, 7  # records of doc/raw-format.md


def words(line):
    return [int(word) for word in line.split()[1:]]


def watch(descriptor):
    """Returns when the first stack was whole in the file, and when the report was."""
    at, first, count = 16, None, 0
    until = time.monotonic() + 20
    while time.monotonic() < until:
        header = os.pread(descriptor, 8, at)
        kind, size = struct.unpack('<II', header) if len(header) == 8 else (0, 0)
        if kind == 0:
            continue
        # A record that is being written is not whole.
        record = os.pread(descriptor, size + 12, at)
        if len(record) < size + 12 or zlib.crc32(record[:-4]) != int.from_bytes(record[-4:], 'little'):
            continue
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if kind == STACK:
            count = struct.unpack_from('<I', record, 16)[0]
        if kind == FRAMES and first is None and sum(struct.unpack_from('<II', record, 8)) == count:
            first = now
        if kind == END:
            return first, now
        at += 12 + size
    raise SystemExit('the report has no end')


def run(work, kind):
    folder = work + '/reports'
    shutil.rmtree(folder, ignore_errors=True)
    found = {}
    with subprocess.Popen([work + '/crash', kind, work + '/libraries', folder], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found[line.split()[0]] = words(line)[0]
            if line.startswith('pss') and kind == 'kit':
                descriptor = os.open(glob.glob(folder + '/*.open')[0], os.O_RDONLY)
                # Reads all the time, also before the fault: waking up would take longer than the report.
                first, whole = watch(descriptor)
                os.close(descriptor)
        if kind == 'kit':
            found['first'] = first - found['fault']
            found['whole'] = whole - found['fault']
    return found


def printed(command):
    """Returns what a command prints, as numbers by name; nothing if it cannot be measured here."""
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return {line.split()[0]: words(line)[0] for line in result.stdout.splitlines()} if result.returncode == 0 else {}


FAULTHANDLER = '''
import ctypes, faulthandler, sys, time
loaded = [ctypes.CDLL(f"{sys.argv[1]}/{i}.so") for i in range(400)]
begin = time.perf_counter_ns()
faulthandler.enable()
print("install", time.perf_counter_ns() - begin)
'''


def median(rows, pick):
    values = [pick(row) for row in rows]
    return statistics.median(values)


def show(what, value, unit, goal):
    print(f'{what}: {value:.3f} {unit}, goal {goal}: {"reached" if value <= goal else "MISSED"}')


def main():
    work, rounds = sys.argv[1], int(sys.argv[2])
    rows = []
    for _ in range(rounds):
        row = {kind: run(work, kind) for kind in ('kit', 'none', 'snapshot')}
        row['backward'] = printed([work + '/crash_cxx', 'backward', work + '/libraries'])
        row['faulthandler'] = printed([sys.executable, '-c', FAULTHANDLER, work + '/libraries'])
        rows.append(row)
    show('install', median(rows, lambda r: r['kit']['install']) / 1e6, 'ms', 1)
    for peer in ('backward', 'faulthandler'):
        if all('install' in row[peer] for row in rows):
            print('  %s: %.3f ms' % (peer, median(rows, lambda r: r[peer]['install']) / 1e6))
        else:
            print(f'  {peer}: not installed')
    show('crashed thread in the file', median(rows, lambda r: r['kit']['first']) / 1e6, 'ms', 1)
    show('all 200 threads', median(rows, lambda r: r['kit']['whole'] / r['snapshot']['snapshot']),
         'times the first usp_snapshot_create_self', 1.2)
    print('  %.1f ms, and %.1f ms; goal 8 ms' % (median(rows, lambda r: r['kit']['whole']) / 1e6,
                                                 median(rows, lambda r: r['snapshot']['snapshot']) / 1e6))
    show('memory', median(rows, lambda r: r['kit']['pss'] - r['none']['pss']), 'KB Pss', 300)
    print('  %d KB of it private' % median(rows, lambda r: r['kit']['private'] - r['none']['private']))
    throws = printed([work + '/crash_cxx', 'throw', work + '/reports'])
    show('a caught C++ throw', throws['with'] / throws['throw'], 'times that without the kit', 1.3)


main()
