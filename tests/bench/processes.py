# SPDX-License-Identifier: MIT
"""Processor time and memory of whole processes, for lines.py and reports.py. Runs in the folder of the build."""
import os
import statistics
import subprocess
import sys

folder = ''  # of input with a relative path


def run(command, questions=None, statuses=(0,)):
    """Seconds of processor time, and MB of memory, of one process."""
    told, tell = os.pipe()
    with open(os.path.join(folder, questions) if questions else os.devnull) as file:
        subprocess.run(['tests/bench/spent', str(tell), *command], stdin=file, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, pass_fds=(tell,), check=True)
    os.close(tell)
    with open(told) as file:
        seconds, kilobytes, status = file.read().split()
    if int(status) not in statuses:
        sys.exit(f'{" ".join(command)}: status {status}')
    return float(seconds), int(kilobytes) / 1024


def in_turn(*commands, rounds=3):
    """The medians of each, run in turn."""
    results = [[] for _ in commands]
    for _ in range(rounds):
        for result, command in zip(results, commands):
            result.append(run(*command))
    return [tuple(statistics.median(values) for values in zip(*result)) for result in results]


def verdict(is_reached):
    return 'reached' if is_reached else 'MISSED'
