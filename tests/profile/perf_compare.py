# SPDX-License-Identifier: MIT
"""Compares the stacks of `unspool profile` with those of `perf script`, as counts of equal stacks.

    perf_compare.py UNSPOOL FILE

Frames of the kernel count as one kind: unspool does not name them. Exit status 0: they are equal."""
import collections
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_perf(path):
    stacks, name, frames = collections.Counter(), None, []
    for line in run("perf", "script", "--no-inline", "--no-demangle", "-F", "comm,tid,ip,sym,dso", "-i", path).splitlines() + [""]:
        frame = re.match(r"\s+([0-9a-f]+) (.*) \((.*)\)$", line)
        if frame:
            address, symbol, image = frame.groups()
            # perf shows the version of a symbol, too.
            frames.append("[kernel]" if "kallsyms" in image or int(address, 16) >> 47 else symbol.split("@")[0])
        elif line.strip():
            name = line.split()[0]
        elif name is not None:
            stacks[";".join([name] + frames[::-1])] += 1
            name, frames = None, []
    return stacks


def of_unspool(unspool, path):
    stacks = collections.Counter()
    for line in run(unspool, "profile", "--quiet", "--format", "folded", "--demangle", "no", path).splitlines():
        stack, count = line.rsplit(" ", 1)
        frames = stack.split(";")
        stacks[";".join("[kernel]" if re.match(r"\[kernel|0xffff|\[.*\]\+0x", f) else f for f in frames)] += int(count)
    return stacks


def add_callers(theirs, ours):
    """Functions of the compiler's crtstuff have no unwind table: perf's stacks end there, unspool reads their code."""
    for stack in list(theirs - ours):
        name, *frames = stack.split(";")
        if frames and frames[0] in ("deregister_tm_clones", "register_tm_clones", "frame_dummy", "__do_global_dtors_aux"):
            longer = next((s for s in ours - theirs if s.startswith(name + ";") and s.endswith(";" + ";".join(frames))), stack)
            theirs[longer] += theirs.pop(stack)


unspool, path = sys.argv[1:]
ours, theirs = of_unspool(unspool, path), of_perf(path)
add_callers(theirs, ours)
for stack in sorted(set(ours) | set(theirs)):
    if ours[stack] != theirs[stack]:
        print(f"unspool {ours[stack]}, perf script {theirs[stack]}: {stack}")
print(f"{sum(ours.values())} samples, {len(ours)} different stacks, {sum(s.count(';') * n for s, n in ours.items())} frames")
sys.exit(0 if ours == theirs and sum(ours.values()) > 20 else 1)
