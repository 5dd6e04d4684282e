#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the goroutines of `unspool stack --goroutines --json` with Go's own dump of them (SIGQUIT,
GOTRACEBACK=system): their numbers, what they wait for, and the names of all frames with inlined calls.

usage: goroutines.py JSON DUMP"""
import json
import re
import sys


def plain(name):
    """The name as both write it: without the ABI, and without functions that Go makes, which its dump leaves out."""
    name = re.sub(r"\.abi(0|internal)$", "", name)
    return None if re.search(r"\.gowrap\d+$", name) else name


def own_account(path):
    """The goroutines of the dump: number -> (state, names)."""
    found, number = {}, None
    with open(path, encoding="utf-8") as dump:
        for line in dump:
            head = re.match(r"goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^],]*)[^]]*\]:$", line)
            if head:
                number = int(head[1])
                found[number] = (head[2], [])
            elif not line.strip():
                number = None
            elif number is not None and not line.startswith(("\t", "created by ")):
                found[number][1].append(plain(line[: line.rindex("(")]))
    return {n: (state, [f for f in names if f]) for n, (state, names) in found.items()}


def shown(path):
    """The goroutines of the JSON."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    found = {}
    for goroutine in report["goroutines"]:
        names = []
        for frame in goroutine["frames"]:
            names += [plain(call["symbol"]) for call in frame.get("inlined", [])]
            names.append(plain(frame["symbol"]))
        assert goroutine["ends"] == "the outermost frame was reached", goroutine
        found[goroutine["id"]] = (goroutine["waits_in"], [name for name in names if name])
    return found


def main():
    ours, own = shown(sys.argv[1]), own_account(sys.argv[2])
    wrong = 0
    # Goroutines that a thread runs, such as one in a system call, are in the report as that thread. Number 0 is a
    # thread's own stack.
    waiting = {n: g for n, g in own.items() if n != 0 and g[0] not in ("running", "syscall")}
    for number in sorted(ours.keys() | waiting.keys()):
        if ours.get(number) != waiting.get(number):
            wrong += 1
            print(f"goroutine {number}: shown {ours.get(number)}, by the program {waiting.get(number)}")
    states = {state for state, _ in ours.values()}
    for state in ("chan receive", "chan send", "select", "sleep", "IO wait"):
        if state not in states:
            wrong += 1
            print(f'no goroutine is shown that waits for "{state}": {sorted(states)}')
    print(f"{len(ours)} goroutines, {sum(len(names) for _, names in ours.values())} frames, {wrong} differences")
    return 1 if wrong else 0


sys.exit(main())
