#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the stacks of a running program, thread by thread and frame by frame, with gdb's:

    live.py UNSPOOL GDB COMMAND...

COMMAND says "ready" when it is where it should be. It is held by SIGSTOP while both look. Inlined functions are no frames of
their own here, and neither are functions that have left by a tail call; what gdb shows below a stack's known end (the caller of main, a thread's start routine) is not compared."""
import os
import re
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
ENOUGH = "the outermost frame was reached"


def state_of(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/stat", encoding="latin-1") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def hold(pid):
    os.kill(pid, signal.SIGSTOP)
    while any(state_of(pid, thread) not in "Tt" for thread in os.listdir(f"/proc/{pid}/task")):
        time.sleep(0.001)


def stacks_of_gdb(gdb, pid):
    options = ["-ex", "set debuginfod enabled off", "-ex", "set backtrace past-main on"]
    said = subprocess.run([gdb, "-nx", "-batch", *options, "-p", str(pid), "-ex", "python exec(__import__('os').environ['GDB_SCRIPT'])"],
                          env={**os.environ, "GDB_SCRIPT": GDB_SCRIPT}, capture_output=True, text=True)
    stacks = {}
    for line in said.stdout.splitlines():
        if line.startswith("STACK "):
            thread, *pcs = line.split()[1:]
            stacks[int(thread)] = [int(pc, 16) for pc in pcs]
    if not stacks:
        sys.exit(f"gdb shows no stack: {said.stderr.strip()[-300:]}")
    return stacks


def stacks_of_ours(unspool, pid):
    said = subprocess.run([unspool, "stack", "--no-symbols", "--max", "10000", str(pid)], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"unspool stack: {said.stderr.strip()}")
    stacks, ends, thread = {}, {}, None
    for line in said.stdout.splitlines():
        heading = re.match(r"Thread (\d+) ", line)
        frame = re.match(r"\d+ .*?\b0x([0-9a-f]{8,16}) ", line)
        if heading:
            thread = int(heading.group(1))
            stacks[thread], ends[thread] = [], ""
        elif frame and thread:
            stacks[thread].append(int(frame.group(1), 16))
        elif line.startswith("    ends: "):
            ends[thread] = line[len("    ends: "):]
    return stacks, ends


def code_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        maps = [line.split(maxsplit=2) for line in file]
    return [tuple(int(end, 16) for end in place.split("-")) for place, rights, _ in maps if "x" in rights]


def compare(thread, ours, theirs, end, code):
    # gdb has no description of some instructions of the 32-bit vdso. Where it finds a caller that is no code, it is not the
    # measure.
    def is_code(pc):
        return any(low <= pc < high for low, high in code)
    lost = next((i for i, pc in enumerate(theirs) if not is_code(pc)), None)
    if lost and end == ENOUGH and ours[:lost] == theirs[:lost] and len(ours) > lost and all(map(is_code, ours)):
        print(f"thread {thread}: gdb finds no caller of {theirs[lost - 1]:x}")
        return 0
    if ours == theirs[:len(ours)] and end == ENOUGH and len(theirs) - len(ours) <= BEHIND_THE_END_MAX:
        return 0
    print(f"thread {thread} (ends: {end})")
    for i in range(max(len(ours), len(theirs))):
        mine = f"{ours[i]:x}" if i < len(ours) else "-"
        other = f"{theirs[i]:x}" if i < len(theirs) else "-"
        print(f"  {i:3} {mine:>16} {other:>16}{'' if mine == other else '  <'}")
    return 1


def main():
    unspool, gdb, *command = sys.argv[1:]
    target = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        if target.stdout.readline().strip() != "ready":
            sys.exit(f"{command[0]} does not start")
        hold(target.pid)
        code = code_of(target.pid)
        ours, ends = stacks_of_ours(unspool, target.pid)
        theirs = stacks_of_gdb(gdb, target.pid)
    finally:
        target.kill()
        target.wait()
    if ours.keys() != theirs.keys():
        sys.exit(f"threads {sorted(ours)}, gdb has {sorted(theirs)}")
    wrong = sum(compare(thread, ours[thread], theirs[thread], ends[thread], code) for thread in ours)
    print(f"{os.path.basename(command[0])}: {len(ours)} threads, {sum(map(len, ours.values()))} frames, {wrong} stacks differ")
    sys.exit(1 if wrong else 0)


main()
