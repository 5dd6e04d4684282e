#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the job of contrib/spark with two executors, and the same job in one process on one core, in turn.

    measure.py DATA SPARK_SUBMIT UNSPOOL [ROUNDS]

DATA is a folder of make_reports.py with its store. UNSPOOL is the command, measured alone for comparison. Prints for each round and as medians: seconds by the clock, processor seconds of the
parts, reports a second; and what a worker has mapped. Processor time is read from /proc every tenth of a second, so up to
that much of each process is missing. Nothing here decides a test.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
JOB = os.path.join(HERE, '..', '..', 'contrib', 'spark')
TICK = os.sysconf('SC_CLK_TCK')
# Options for a job of minutes: the Java compiler and collector with the least start-up work.
JAVA = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'
OPTIONS = ['--conf', 'spark.sql.shuffle.partitions=2', '--conf', 'spark.ui.enabled=false', '--driver-java-options', JAVA,
           '--conf', 'spark.sql.files.maxPartitionBytes=512m',
           '--conf', f'spark.executor.extraJavaOptions={JAVA}', '--conf', 'spark.sql.parquet.compression.codec=gzip']


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read().decode(errors='replace')
    except OSError:
        return ''


def kind_of(pid):
    """Which part of the job a process is; '' when it has ended."""
    words = read(f'/proc/{pid}/cmdline').split('\0')
    name = os.path.basename(words[0])
    if not name:
        return ''
    if name == 'java':
        return 'executors' if '--executor-id' in words else 'driver'
    return 'Python' if name.startswith('python') else 'unspool' if '--records' in words else 'rest'


def watch(process):
    """Until it ends: {process id: (kind, processor seconds)} of it and all below it, and the workers' maps."""
    spent, maps, ours = {}, {}, {process.pid}
    while process.poll() is None:
        for name in os.listdir('/proc'):
            stat = read(f'/proc/{name}/stat').rpartition(')')[2].split() if name.isdigit() else []
            if len(stat) < 14 or not (int(name) in ours or int(stat[1]) in ours):
                continue
            ours.add(int(name))
            # A process that has ended and was not waited for has no command line any more.
            kind = kind_of(name) or spent.get(name, ('rest', 0))[0]
            spent[name] = kind, (int(stat[11]) + int(stat[12])) / TICK
            if kind in ('unspool', 'Python'):
                maps[name] = read(f'/proc/{name}/smaps') or maps.get(name, '')
        time.sleep(0.1)
    return spent, maps


def mapped(smaps):
    """Kilobytes of index: mapped, resident; and of the process's own memory."""
    size = resident = private = 0
    for entry in re.split(r'^(?=[0-9a-f]+-[0-9a-f]+ )', smaps, flags=re.M):
        values = {key: int(value) for key, value in re.findall(r'^(\w+): +(\d+) kB$', entry, re.M)}
        private += values.get('Private_Dirty', 0)
        if entry.partition('\n')[0].endswith('/index'):
            size += values['Size']
            resident += values['Rss']
    return size, resident, private


def run(command):
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        spent, maps = watch(process)
        if process.returncode != 0:
            said.seek(0)
            sys.exit(said.read().decode(errors='replace')[-4000:])
    sums = {}
    for kind, seconds in spent.values():
        sums[kind] = sums.get(kind, 0) + seconds
    return time.monotonic() - begin, sums, max((mapped(text) for text in maps.values()), default=(0, 0, 0))


def main():
    data, submit, unspool, *rest = sys.argv[1:]
    rounds, store = int(rest[0]) if rest else 3, f'{data}/store'
    with subprocess.Popen(f"cat '{data}'/reports/* | wc -l", shell=True, stdout=subprocess.PIPE) as counted:
        reports = int(counted.stdout.read())
    core = str(min(os.sched_getaffinity(0)))
    kinds = {
        'one process, one core': ['taskset', '-c', core, sys.executable, f'{JOB}/one_process.py', f'{data}/reports',
                                  f'{data}/one.parquet', store],
        'unspool alone, one core': ['taskset', '-c', core, 'sh', '-c', 'cat "$0"/reports/* | "$@" >/dev/null', data,
                                    unspool, 'symbolize', '--records', '--index', store],
        'Spark, two executors': [submit, '--master', 'local-cluster[2,1,1024]', *OPTIONS, f'{JOB}/fleet.py',
                                 f'{data}/reports', f'{data}/spark.parquet', store]}
    results = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind, program in kinds.items():
            seconds, sums, maps = run(program)
            results[kind].append(seconds)
            parts = ', '.join(f'{part} {value:.1f}' for part, value in sorted(sums.items()))
            print(f'{number}: {kind}: {seconds:.1f} s, load {os.getloadavg()[0]:.1f}; processor seconds: {parts} '
                  f'(all {sum(sums.values()):.1f}); index mapped {maps[0]} kB, resident {maps[1]} kB, '
                  f'private memory {maps[2]} kB', flush=True)
    for kind, seconds in results.items():
        middle = statistics.median(seconds)
        print(f'{kind}: median {middle:.1f} s, {reports / middle:.0f} reports a second')
    ratios = [one / spark for one, spark in zip(results['one process, one core'], results['Spark, two executors'])]
    print(f'Spark has {statistics.median(ratios):.2f} times the throughput of one process (median of the rounds)')


main()
