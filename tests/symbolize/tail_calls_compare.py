# SPDX-License-Identifier: MIT
"""Compares the tail calls that usp_symbolize_stack infers with gdb's; see tail_calls.sh.

    tail_calls_compare.py STACKS PROGRAM COMMAND...     COMMAND is stack_dump with its options

STACKS is what tail_calls_gdb.py has written. Prints each pair of frames between which other functions are inferred than by gdb, and how
many pairs there are; fails unless all are equal, but for those where gdb does not know a callee, and some have tail calls."""

import collections
import json
import subprocess
import sys


PROGRAM_MAX = 1 << 40  # of the program's addresses as linked; libraries are loaded farther away


def own_frames(stack):
    """The frames of the program up to the first of another file, as [pc], and what gdb has inferred between them."""
    pcs, gaps, gap = [], [], []
    for pc, name, inferred in stack:
        if inferred:
            gap.append(name)
            continue
        if not 0 <= pc < PROGRAM_MAX:
            break
        if pcs:
            gaps.append(gap)
        pcs.append(pc)
        gap = []
    return pcs, gaps


def inferred_by_us(line):
    """By the number of the frame that called: names, without what compilers add to those of copies (.constprop.0)."""
    found = collections.defaultdict(list)
    for word in line.split():
        number, mark, name = word.partition("?")
        if mark:
            found[int(number)].append(name.split(".")[0])
    return found


def main():
    stacks = [json.loads(line) for line in open(sys.argv[1])]
    dump = subprocess.run(sys.argv[3:] + [sys.argv[2]], capture_output=True, text=True, check=True, input="".join(
        " ".join(f"{pc:x}" for pc in own_frames(frames)[0]) + "\n" for _, frames in stacks))
    lines = dump.stdout.splitlines()
    if len(lines) != len(stacks):
        sys.exit(f"{len(stacks)} stacks, {len(lines)} answers")
    seen, counts = set(), collections.Counter()
    for (knows_all, frames), line in zip(stacks, lines):
        pcs, gaps = own_frames(frames)
        ours = inferred_by_us(line)
        for i, gap in enumerate(gaps):
            if (pcs[i], pcs[i + 1]) in seen:
                continue
            seen.add((pcs[i], pcs[i + 1]))
            if gap == ours[i + 1]:
                counts["equal, with tail calls" if gap else "equal, without"] += 1
            elif not gap and not knows_all:
                counts["callees that gdb does not know"] += 1
            else:
                counts["different"] += 1
                print(f"{pcs[i]:#x} below {pcs[i + 1]:#x}: gdb {gap}, unspool {ours[i + 1]}")
    print(", ".join(f"{key} {counts[key]}" for key in sorted(counts)))
    sys.exit(counts["different"] > 0 or counts["equal, with tail calls"] < 10)


main()
