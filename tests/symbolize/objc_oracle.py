#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the method names that a stripped Mach-O file still gives with the symbol table of its unstripped twin.

objc_oracle.py --names PROGRAM --arch ARCH [--objdump FILE] [--foreign] --least N STRIPPED TWIN

Every byte of __text is asked for. Inside of a function that the twin calls -[...] or +[...] the answer must be that name and
the distance from its start; inside of any other function, and after them all, there must be none. With --objdump the
methods are also compared with those in llvm-objdump's output for the twin.

With --foreign, for files that Apple's tools have made, every method's start and its neighbours and 10,000 random addresses
are asked for, and an answer may differ by a rule of doc/symbolize-apple.md, section Objective-C:

    merged    the linker has merged the category into the class: the twin's name without the category
    thunk     the twin's name for a Swift method's entry ends in "To"
    part      what a compiler moved away (.cold.1) is a function of its own
"""
import argparse
import bisect
import random
import re
import subprocess
import sys

RANDOM_ADDRESSES = 10000


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def functions(twin, arch):
    """(start, names), ascending: the symbols of __text."""
    found = {}
    for line in run("llvm-nm-19", "--format=darwin", f"--arch={arch}", twin).splitlines():
        match = re.match(r"([0-9a-f]+) \(__TEXT,__text\) .*?(?:external|non-external)(?: \[[^]]*\])* (.*)", line)
        if match and not match[2].startswith("ltmp"):
            found.setdefault(int(match[1], 16), set()).add(match[2])
    return sorted(found.items())


def section(twin, arch):
    for line in run("llvm-objdump-19", "--macho", f"--arch={arch}", "--section-headers", twin).splitlines():
        fields = line.split()
        if len(fields) > 4 and fields[1] == "__text":
            return int(fields[3], 16), int(fields[3], 16) + int(fields[2], 16)
    sys.exit(f"{twin}: no __text")


def is_method(name):
    return name[:2] in ("-[", "+[") and name.endswith("]")


def without_category(name):
    return re.sub(r"\([^)]*\)", "", name, count=1)


def rule(names, answer):
    """What explains an answer (a method's name or None) inside of what the twin has these names for, or None."""
    methods = {name for name in names if is_method(name)}
    if answer in methods or (answer is None and not methods):
        if any(".cold." in name for name in names):
            return "part"
        return "equal" if methods else "neither"
    if answer in map(without_category, methods):
        return "merged"
    if answer is not None and not methods and any(name.endswith("To") for name in names):
        return "thunk"
    return None


def asked(low, high, starts, foreign):
    if not foreign:
        return [*range(low, high), high, low - 1]
    chance = random.Random(len(starts))
    near = {start + delta for start, names in starts if any(map(is_method, names)) for delta in (-1, 0, 1)}
    return sorted(near | {chance.randrange(low, high) for _ in range(RANDOM_ADDRESSES)} | {high, low - 1})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--least", type=int, required=True, help="how many methods there must be")
    parser.add_argument("--objdump", help="a file with the output of llvm-objdump --objc-meta-data")
    parser.add_argument("--foreign", action="store_true")
    parser.add_argument("stripped")
    parser.add_argument("twin")
    options = parser.parse_args()
    twin, arch = options.twin, options.arch

    starts = functions(twin, arch)
    begins = [start for start, _ in starts]
    low, high = section(twin, arch)
    addresses = asked(low, high, starts, options.foreign)
    allowed = {"equal", "neither", "merged", "thunk", "part"} if options.foreign else {"equal", "neither"}
    text = "".join(f"{address:x}\n" for address in addresses)
    given = run(options.names, options.stripped, arch, text=text).splitlines()
    counts, wrong = {}, 0
    if len(given) != len(addresses):
        sys.exit(f"{options.stripped}: {len(given)} answers to {len(addresses)} questions")
    for address, answer in zip(addresses, given):
        i = bisect.bisect_right(begins, address) - 1
        start, names = starts[i] if i >= 0 and low <= address < high else (address, set())
        name, distance = answer.rsplit(" + ", 1) if answer != "-" else (None, address - start)
        reason = rule(names, name) if int(distance) == address - start else None
        counts[reason] = counts.get(reason, 0) + 1
        if reason not in allowed:
            wrong += 1
            if wrong <= 5:
                print(f"{options.stripped}: {address:#x}: {answer} instead of {names} + {address - start}")

    by_start = dict(starts)
    methods = {name for _, names in starts for name in names if is_method(name)}
    listed = [line.split(" ", 1) for line in run(options.names, options.stripped, arch, "all").splitlines()]
    for start, name in listed:
        if rule(by_start.get(int(start, 16), set()), name) not in allowed:
            wrong += 1
            print(f"{options.stripped}: {start}: {name} instead of {by_start.get(int(start, 16))}")
    # Every function that is a method must be listed. Methods that share their code have one name.
    listed_starts = {int(start, 16) for start, _ in listed}
    unlisted = [names for start, names in starts if any(map(is_method, names)) and start not in listed_starts]
    if unlisted or (not options.foreign and {name for _, name in listed} != methods):
        wrong += 1
        print(f"{options.stripped}: not all methods: {unlisted[:5]}")
    if len(listed) < options.least:
        wrong += 1
        print(f"{twin}: {len(listed)} methods only")
    if options.objdump:
        with open(options.objdump, encoding="utf-8") as lines:
            dumped = {match[1] for match in (re.search(r"\bimp .*?([-+]\[.*\])", line) for line in lines) if match}
        if dumped != methods:
            wrong += 1
            print(f"{twin}: llvm-objdump differs: {sorted(dumped ^ methods)[:5]}")
    print(f"{options.stripped.rsplit('/', 1)[-1]} ({arch}): {len(addresses)} addresses, {len(listed)} methods:",
          ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=str)) + f"; {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
