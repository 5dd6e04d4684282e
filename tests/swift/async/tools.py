# SPDX-License-Identifier: MIT
"""Counts the true and the false frames that tools show of one thread, which stands in observe() of scenes.swift.

    tools.py TRUTH OWN MAPS NAME=FILE...
                                     OWN: the program's own functions, one a line; MAPS: its /proc/PID/maps
                                     FILE: the thread's frames in short style, one a line, innermost first, then its async callers

The truth is the program's own: the functions that await the innermost one, and that one. A frame is true when the truth has it at
this place. It is false when it is one of the program's own functions and the truth does not have it there, or when its address,
which a tool writes as ?0x… where it has no name, is not code. Other frames do not count: those of the compiler, the runtime and
what starts a scene. Prints each tool's name, its true and its false frames."""
import sys

from compare import UNCOUNTED, base


def longest(truth, found):
    """The length of the longest common subsequence."""
    row = [0] * (len(truth) + 1)
    for name in found:
        before = row[:]
        for i, wanted in enumerate(truth):
            row[i + 1] = before[i] + 1 if name == wanted else max(before[i + 1], row[i])
    return row[-1]


def is_code(name, maps):
    """Also for null, with which tools end a stack."""
    address = int(name[1:].replace("null", "0"), 16)
    return address == 0 or any(begin <= address < end for begin, end in maps)


truth = sys.argv[1].split(";")
own = set(open(sys.argv[2]).read().split("\n"))
maps = [[int(a, 16) for a in line.split()[0].split("-")] for line in open(sys.argv[3]) if "x" in line.split()[1]]
for tool, path in (argument.split("=", 1) for argument in sys.argv[4:]):
    names = [line.rstrip("\n") for line in open(path)]
    counted = [base(n) for n in names if not UNCOUNTED.match(n)]
    counted = [n for n in counted if n in own or (n[:1] == "?" and not is_code(n, maps))]
    true = longest(truth, counted)
    print(tool, true, len(counted) - true)
