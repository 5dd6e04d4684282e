#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the stacks of a running program, and of its core, thread by thread and frame by frame, with gdb's:

    live.py [--core FILE] UNSPOOL GDB COMMAND...

COMMAND says "ready" when it is where it should be. It is held by SIGSTOP while both look; FILE becomes the core that gdb
writes of it then. Inlined functions are no frames of their own here, and neither are functions that have left by a tail
call. Not compared is what gdb shows below a stack's known end (the caller of main, a thread's start routine), and what it
shows behind code that no file holds (a just-in-time compiler's) or behind an address that is no code: there it is lost,
and a line says so."""
import os
import re
import select
import signal
import subprocess
import sys
import time

GDB_SCRIPT = r"""
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    pcs = []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append("%x" % frame.pc())
        frame = frame.older()
    print("STACK", thread.ptid[1], *pcs)
"""
BEHIND_THE_END_MAX = 3
LONG_ENOUGH = 120  # seconds for a program to get where it should be
ENOUGH = "the outermost frame was reached"


def state_of(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/stat", encoding="latin-1") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def code_of_files(pid):
    """The executable mappings that have a name: a file, or the vdso."""
    ranges = []
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split(maxsplit=5)
            if "x" in words[1] and len(words) == 6:
                ranges.append([int(end, 16) for end in words[0].split("-")])
    return ranges


def trusted(pcs, ranges):
    """How many of gdb's frames count: those before the first that is in no file's code."""
    return next((i for i, pc in enumerate(pcs) if not any(low <= pc < high for low, high in ranges)), len(pcs))


def hold(pid):
    os.kill(pid, signal.SIGSTOP)
    while any(state_of(pid, thread) not in "Tt" for thread in os.listdir(f"/proc/{pid}/task")):
        time.sleep(0.001)


def stacks_of_gdb(gdb, pid, core):
    options = ["-ex", "set debuginfod enabled off", "-ex", "set backtrace past-main on"]
    script = ["-ex", "python exec(__import__('os').environ['GDB_SCRIPT'])"]
    script += ["-ex", f"generate-core-file {core}"] if core else []
    said = subprocess.run([gdb, "-nx", "-batch", *options, "-p", str(pid), *script],
                          env={**os.environ, "GDB_SCRIPT": GDB_SCRIPT}, capture_output=True, text=True)
    stacks = {}
    for line in said.stdout.splitlines():
        if line.startswith("STACK "):
            thread, *pcs = line.split()[1:]
            stacks[int(thread)] = [int(pc, 16) for pc in pcs]
    if not stacks:
        sys.exit(f"gdb shows no stack: {said.stderr.strip()[-300:]}")
    return stacks


def stacks_of_ours(unspool, where):
    said = subprocess.run([unspool, "stack", "--no-symbols", "--max", "10000", where], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"unspool stack: {said.stderr.strip()}")
    stacks, ends, thread = {}, {}, None
    for line in said.stdout.splitlines():
        heading = re.match(r"Thread (\d+)\b", line)
        frame = re.match(r"\d+ .*?\b0x([0-9a-f]{8,16}) ", line)
        if heading:
            thread = int(heading.group(1))
            stacks[thread], ends[thread] = [], ""
        elif frame and thread:
            stacks[thread].append(int(frame.group(1), 16))
        elif line.startswith("    ends: "):
            ends[thread] = line[len("    ends: "):]
    return stacks, ends


def compare(thread, ours, theirs, end, known):
    """1 when they differ; `known`: how many of theirs count."""
    if known < len(theirs):
        print(f"thread {thread}: gdb is lost behind frame {known - 1}, ours has {len(ours)} (ends: {end})")
        if ours[:known] == theirs[:known]:
            return 0
    elif ours == theirs[:len(ours)] and end == ENOUGH and len(theirs) - len(ours) <= BEHIND_THE_END_MAX:
        return 0
    print(f"thread {thread} (ends: {end})")
    for i in range(max(len(ours), len(theirs))):
        mine = f"{ours[i]:x}" if i < len(ours) else "-"
        other = f"{theirs[i]:x}" if i < len(theirs) else "-"
        print(f"  {i:3} {mine:>16} {other:>16}{'' if mine == other else '  <'}")
    return 1


def compare_all(what, found, theirs, ranges):
    ours, ends = found
    if ours.keys() != theirs.keys():
        print(f"{what}: threads {sorted(ours)}, gdb has {sorted(theirs)}")
        return 1
    wrong = sum(compare(t, ours[t], theirs[t], ends[t], trusted(theirs[t], ranges)) for t in ours)
    print(f"{what}: {len(ours)} threads, {sum(map(len, ours.values()))} frames, {wrong} stacks differ")
    return wrong


def main():
    arguments = sys.argv[1:]
    core = arguments[1] if arguments[0] == "--core" else None
    unspool, gdb, *command = arguments[2:] if core else arguments
    name = os.path.basename(command[0])
    target = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        if not select.select([target.stdout], [], [], LONG_ENOUGH)[0] or target.stdout.readline().strip() != "ready":
            sys.exit(f"{command[0]} does not start")
        hold(target.pid)
        ranges = code_of_files(target.pid)
        ours = stacks_of_ours(unspool, str(target.pid))
        theirs = stacks_of_gdb(gdb, target.pid, core)
    finally:
        target.kill()
        target.wait()
    wrong = compare_all(name, ours, theirs, ranges)
    if core:
        wrong += compare_all(f"{name}'s core", stacks_of_ours(unspool, core), theirs, ranges)
        os.unlink(core)
    sys.exit(1 if wrong else 0)


main()
