#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the stacks of a running program, and of its core, thread by thread and frame by frame, with gdb's and with
eu-stack's (elfutils):

    live.py [--core FILE] [--eu-stack EU_STACK] UNSPOOL GDB COMMAND...

COMMAND says "ready" when it is where it should be. It is held by SIGSTOP while all look; FILE becomes the core that gdb
writes of it then. Inlined functions are not frames of their own here, and neither are functions that have left by a tail
call. Not compared is
- what a tool shows below a stack's known end (the caller of main, a thread's start routine);
- what a tool shows after code that no file holds (a just-in-time compiler's) or after an address that is not code: there
  it is lost, and a line says so. Ours may go on by frame records, and may end nowhere but in such code;
- what only ours shows where eu-stack ends for a reason of its own, and a line says which:
  . it says that it has no table for a frame. Where that frame keeps a frame record, ours goes on;
  . the process is one of 32 bits. Where call frame information says "what lies there" (DW_OP_deref, as for a main that
    aligns its stack), eu-stack takes 8 bytes for the address, and stops as nothing is there."""
import argparse
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
PAST_THE_END_MAX = 3
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


def is_of_32_bits(pid):
    """By EI_CLASS (System V gABI chapter 4, "ELF Identification")."""
    with open(f"/proc/{pid}/exe", "rb") as file:
        return file.read(5)[4] == 1


def trusted(pcs, ranges):
    """How many of a tool's frames count: those before the first that is in no file's code."""
    return next((i for i, pc in enumerate(pcs) if not any(low <= pc < high for low, high in ranges)), len(pcs))


def hold(pid):
    os.kill(pid, signal.SIGSTOP)
    while any(state_of(pid, thread) not in "Tt" for thread in os.listdir(f"/proc/{pid}/task")):
        time.sleep(0.001)


def stacks_of_gdb(gdb, pid, core):
    # Without the debug files of libraries, whose reading takes most of the time: rules and symbols are in the libraries.
    options = ["-iex", "set debug-file-directory", "-ex", "set debuginfod enabled off", "-ex", "set backtrace past-main on"]
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
    return stacks, {}


def stacks_of_eu_stack(eu_stack, is_narrow, *where):
    """And of the threads whose stacks may end too early, why."""
    environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    said = subprocess.run([eu_stack, "-q", "-n", "0", *where], env=environment, capture_output=True, text=True)
    stacks, thread = {}, None
    for line in said.stdout.splitlines():
        heading = re.match(r"TID (\d+):", line)
        frame = re.match(r"#\d+ +0x([0-9a-f]+)", line)
        if heading:
            thread = int(heading.group(1))
            stacks[thread] = []
        elif frame and thread:
            stacks[thread].append(int(frame.group(1), 16))
    if not stacks:
        sys.exit(f"eu-stack shows no stack: {said.stderr.strip()[-300:]}")
    early = {thread: "a process of 32 bits" for thread in stacks} if is_narrow else {}
    without_table = re.findall(r" tid (\d+) at .*: No DWARF information found", said.stderr)
    return stacks, early | {int(thread): "it has no table there" for thread in without_table}


def stacks_of_ours(unspool, where):
    said = subprocess.run([unspool, "stack", "--no-symbols", "--max", "10000", "--timeout", "60000", where], capture_output=True, text=True)
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


def compare(tool, thread, ours, end, theirs, ranges, early):
    """How many frames were compared, -1 when some differ; `early`: why theirs may end before ours."""
    known = trusted(theirs, ranges)
    may_end = end == ENOUGH or (ours and trusted(ours[-1:], ranges) == 0)
    if known < len(theirs) and may_end:
        print(f"thread {thread}: {tool} is lost after frame {known - 1}, ours has {len(ours)} (ends: {end})")
        if ours[:known] == theirs[:known]:
            return known
    elif ours == theirs[:len(ours)] and end == ENOUGH and len(theirs) - len(ours) <= PAST_THE_END_MAX:
        return len(ours)
    elif early and may_end and theirs == ours[:known]:
        print(f"thread {thread}: {tool} ends after frame {known - 1} ({early}), ours has {len(ours)} (ends: {end})")
        return known
    print(f"thread {thread} (ends: {end})")
    for i in range(max(len(ours), len(theirs))):
        mine = f"{ours[i]:x}" if i < len(ours) else "-"
        other = f"{theirs[i]:x}" if i < len(theirs) else "-"
        print(f"  {i:3} {mine:>16} {other:>16}{'' if mine == other else '  <'}")
    return -1


def compare_all(what, tool, found, measure, ranges):
    """How many stacks differ."""
    ours, ends = found
    theirs, early = measure
    if ours.keys() != theirs.keys():
        print(f"{what}: threads {sorted(ours)}, {tool} has {sorted(theirs)}")
        return 1
    counts = [compare(tool, t, ours[t], ends[t], theirs[t], ranges, early.get(t)) for t in ours]
    wrong = counts.count(-1)
    print(f"{what}, {tool}: {len(ours)} stacks, {sum(counts) + wrong} frames compared, {wrong} stacks differ")
    return wrong


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--core")
    parser.add_argument("--eu-stack")
    parser.add_argument("unspool")
    parser.add_argument("gdb")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    given = arguments()
    name = os.path.basename(given.command[0])
    target = subprocess.Popen(given.command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        if not select.select([target.stdout], [], [], LONG_ENOUGH)[0] or target.stdout.readline().strip() != "ready":
            sys.exit(f"{given.command[0]} does not start")
        hold(target.pid)
        ranges = code_of_files(target.pid)
        is_narrow = is_of_32_bits(target.pid)
        ours = stacks_of_ours(given.unspool, str(target.pid))
        measures = {}
        if given.eu_stack:
            measures["eu-stack"] = stacks_of_eu_stack(given.eu_stack, is_narrow, "-p", str(target.pid))
            hold(target.pid)
        measures["gdb"] = stacks_of_gdb(given.gdb, target.pid, given.core)
    finally:
        target.kill()
        target.wait()
    wrong = sum(compare_all(name, tool, ours, measures[tool], ranges) for tool in measures)
    if given.core:
        ours = stacks_of_ours(given.unspool, given.core)
        if given.eu_stack:
            measures["eu-stack"] = stacks_of_eu_stack(given.eu_stack, is_narrow, "--core", given.core)
        wrong += sum(compare_all(f"{name}'s core", tool, ours, measures[tool], ranges) for tool in measures)
        os.unlink(given.core)
    sys.exit(1 if wrong else 0)


main()
