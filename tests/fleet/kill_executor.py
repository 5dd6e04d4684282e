#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the job of contrib/spark on a local cluster and kills one of its executors in the middle.

    kill_executor.py COMMAND...     (spark-submit with its arguments; the job's interface must be at port 4040 or above)

The executor is killed with SIGKILL when at least two tasks are done, four are not, and it runs one of them. Fails unless
Spark has noticed that the executor is lost.
"""
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request


def parents():
    """Process id to its parent's, of all processes."""
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat') as stat:
                    found[int(name)] = int(stat.read().rpartition(')')[2].split()[1])
            except OSError:
                pass
    return found


def executors(root):
    """The executors below a process: number to process id."""
    above, found = parents(), {}
    for pid in above:
        try:
            with open(f'/proc/{pid}/cmdline') as file:
                words = file.read().split('\0')
        except OSError:
            continue
        ancestor = pid
        while ancestor > 1 and ancestor != root:
            ancestor = above.get(ancestor, 0)
        if ancestor == root and '--executor-id' in words and os.path.basename(words[0]) == 'java':
            found[words[words.index('--executor-id') + 1]] = pid
    return found


def ask(port, path):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/api/v1/{path}', timeout=5) as answer:
        return json.load(answer)


def busy_executor(port):
    """The number of an executor that is in the middle of the work, or None."""
    for application in ask(port, 'applications'):
        base = f'applications/{application["id"]}'
        stages = [(stage['numCompleteTasks'], stage['numTasks']) for stage in ask(port, f'{base}/stages?status=active')]
        if not any(done >= 2 and tasks - done >= 4 for done, tasks in stages):
            continue
        for executor in ask(port, f'{base}/executors'):
            if executor['id'] != 'driver' and executor['activeTasks'] > 0 and executor['completedTasks'] > 0:
                return executor['id']
    return None


def main():
    port, killed, lost = 4040 + os.getpid() % 1000, None, False
    command = sys.argv[1:]
    at = next(i for i, word in enumerate(command) if word.endswith('spark-submit')) + 1
    command[at:at] = ['--conf', 'spark.ui.enabled=true', '--conf', f'spark.ui.port={port}']
    job = subprocess.Popen(command)
    while job.poll() is None:
        time.sleep(0.2)
        try:
            if killed is None and (busy := busy_executor(port)) is not None:
                pid = executors(job.pid)[busy]
                os.kill(pid, signal.SIGKILL)
                killed = busy
                print(f'killed executor {busy}, process {pid}', flush=True)
            elif killed is not None and not lost:
                application = ask(port, 'applications')[0]['id']
                every = ask(port, f'applications/{application}/allexecutors')
                lost = any(executor['id'] == killed and not executor['isActive'] for executor in every)
                if lost:
                    print(f'Spark has lost executor {killed}', flush=True)
        except (OSError, ValueError, KeyError, IndexError):
            pass  # the interface is not up yet, or not any more
    if job.returncode != 0 or killed is None or not lost:
        sys.exit(f'status {job.returncode}, killed {killed}, noticed {lost}')


main()
