#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the method names that a stripped Mach-O file still gives with the symbol table of its unstripped twin.

objc_oracle.py --names PROGRAM --arch ARCH --objdump FILE --least N STRIPPED TWIN

Every byte of __text is asked for. Inside of a function that the twin calls -[...] or +[...] the answer must be that name and
the distance from its start; inside of any other function, and behind them all, there must be none. With --objdump the
methods are also compared with those in llvm-objdump's output for the twin.
"""
import argparse
import re
import subprocess
import sys


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def functions(twin):
    """(start, name), ascending: the symbols of __text."""
    found = {}
    for line in run("llvm-nm-19", "--format=darwin", twin).splitlines():
        match = re.match(r"([0-9a-f]+) \(__TEXT,__text\) (?:.*?)(?:external|non-external)(?: \S+\])? (.*)", line)
        if match and not match[2].startswith("ltmp"):
            start, name = int(match[1], 16), match[2]
            found[start] = name
    return sorted(found.items())


def section(twin):
    for line in run("llvm-objdump-19", "--macho", "--section-headers", twin).splitlines():
        fields = line.split()
        if len(fields) > 4 and fields[1] == "__text":
            return int(fields[3], 16), int(fields[3], 16) + int(fields[2], 16)
    sys.exit(f"{twin}: no __text")


def is_method(name):
    return name[:2] in ("-[", "+[")


def expected(twin):
    low, high = section(twin)
    starts = functions(twin)
    position = -1
    for address in range(low, high):
        while position + 1 < len(starts) and starts[position + 1][0] <= address:
            position += 1
        start, name = starts[position] if position >= 0 else (0, "")
        yield address, f"{name} + {address - start}" if is_method(name) else "-"
    yield high, "-"
    yield low - 1, "-"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--least", type=int, required=True, help="how many methods there must be")
    parser.add_argument("--objdump", help="a file with the output of llvm-objdump --objc-meta-data")
    parser.add_argument("stripped")
    parser.add_argument("twin")
    options = parser.parse_args()

    wanted = list(expected(options.twin))
    text = "".join(f"{address:x}\n" for address, _ in wanted)
    given = run(options.names, options.stripped, options.arch, text=text).splitlines()
    wrong = 0
    if len(given) != len(wanted):
        sys.exit(f"{options.stripped}: {len(given)} answers to {len(wanted)} questions")
    for (address, name), answer in zip(wanted, given):
        if name != answer:
            wrong += 1
            if wrong <= 5:
                print(f"{options.stripped}: {address:#x}: {answer} instead of {name}")

    methods = {name for _, name in functions(options.twin) if is_method(name)}
    listed = {line.split(" ", 1)[1] for line in run(options.names, options.stripped, options.arch, "all").splitlines()}
    if listed != methods:
        wrong += 1
        print(f"{options.stripped}: other methods: {sorted(listed ^ methods)[:5]}")
    if len(methods) < options.least:
        wrong += 1
        print(f"{options.twin}: {len(methods)} methods only")
    if options.objdump:
        with open(options.objdump, encoding="utf-8") as lines:
            dumped = {match[1] for match in (re.search(r"\bimp .*?([-+]\[.*\])", line) for line in lines) if match}
        if dumped != methods:
            wrong += 1
            print(f"{options.twin}: llvm-objdump differs: {sorted(dumped ^ methods)[:5]}")
    print(f"{options.stripped}: {len(wanted)} addresses, {len(methods)} methods, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
