#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the names that the library gives with llvm-symbolizer's, for Mach-O files.

    macho_oracle.py --names PROGRAM --arch ARCH [--twin FILE] [--least N] [--show RULE] [--llvm SUFFIX] FILE...

Asked of each file are every function start of the twin (the same file before it was stripped; default FILE), its neighbours, and
10,000 random addresses in and around the code (a sample: 1,000, see tests/support/under.h). Each answer is equal to llvm-symbolizer's (name and start), or the
difference is one of the rules of doc/symbolize-apple.md, section Mach-O, which are checked here one by one by other tools'
output:

    outside   the address lies in no section of code: no name
    section   llvm-symbolizer's symbol begins in another section: no name, or a stub's
    stub      DYLD-STUB$$ and what llvm-objdump finds in the indirect symbol table for the address
    bound     a function without a name begins between the symbol and the address: no name
    unbound   the file does not say where functions begin, nor does its table name all of them (__unwind_info says nothing
              where neighbours are unwound alike): no name where the instructions do not lead
    size      the address lies past the size that the debug map gives the function: no name
    private   llvm-symbolizer's symbol is a label (L…, l…): the function around it, or no name where the linker made a
              function of the label
    alias     another symbol with the same start, preferred by the rules
    export    a name that only the exports have: the twin's symbol table has the same, or llvm-objdump reads it there
    method    Objective-C's metadata names a method, maybe without its category, which a linker may have merged into the
              class, or the thunk of a Swift method, whose own symbol ends in "To": where the symbol was stripped, or
              past the size that the debug map gives it
    cut       llvm-symbolizer, which takes a size in the debug map for a symbol's address, has none: the symbol below
    neither   llvm-symbolizer has no name either

Whatever the file, no address has another name than in the twin, unless it is a stub. Writes one line of counts for each; ends
with 1 after the first few differences that no rule explains, or when fewer than N (--least) answers were equal.
"""
import argparse
import bisect
import functools
import json
import os
import random
import re
import subprocess
import sys

RANDOM_ADDRESSES = 10000 if int(os.environ.get("USP_TEST_SCALE") or 0) >= 1 else 1000


# A file that is its own twin is read once.
@functools.lru_cache(maxsize=None)
def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Sections:
    def __init__(self, lines):
        self.ranges = sorted((int(low, 16), int(high, 16)) for low, high, _ in (line.split(None, 2) for line in lines))

    def of(self, address):
        for low, high in self.ranges:
            if low <= address < high:
                return low, high
        return None


class Symbols:
    """What llvm-nm says: by address the names with the letter of their kind."""

    def __init__(self, nm, path, arch):
        self.by_start = {}
        for line in run(nm, "--no-sort", f"--arch={arch}", path).splitlines():
            match = re.match(r"([0-9a-f]+) (\w) (.*)$", line)
            if match:
                name = match[3].removeprefix("_")
                self.by_start.setdefault(int(match[1], 16), {})[name] = match[2]

    def names(self, start):
        return self.by_start.get(start, {})


def ours(program, path, arch, addresses):
    answers = {}
    for line in run(program, path, arch, text="\n".join(map(hex, addresses))).splitlines():
        fields = line.split(" ", 3)
        address = int(fields[0], 16)
        if fields[1] == "-":
            answers[address] = None
        else:
            answers[address] = (fields[3].split("\t")[0], int(fields[1], 16), int(fields[2]))
    return answers


def theirs(llvm, path, arch, addresses):
    command = [f"llvm-symbolizer{llvm}", f"--obj={path}", f"--default-arch={arch}", "--no-inlines", "--no-demangle",
               "--output-style=JSON"]
    answers = {}
    for line in run(*command, text="\n".join(map(hex, addresses))).splitlines():
        answer = json.loads(line)
        symbol = answer.get("Symbol", [{}])[0]
        name, start = symbol.get("FunctionName", ""), symbol.get("StartAddress", "")
        answers[int(answer["Address"], 16)] = (name, int(start, 16)) if name and start else None
    return answers


def stubs_of(llvm, path, arch):
    found, inside = {}, False
    for line in run(f"llvm-objdump{llvm}", "--macho", f"--arch={arch}", "--indirect-symbols", path).splitlines():
        if line.startswith("Indirect symbols for"):
            inside = "stub" in line
        match = re.match(r"(0x[0-9a-f]+)\s+\d+ (\S+)$", line)
        if match and inside:
            found[int(match[1], 16)] = match[2].removeprefix("_")
    return found


def exports_of(llvm, path, arch):
    """The exports: (address, name)."""
    found = set()
    for line in run(f"llvm-objdump{llvm}", "--macho", f"--arch={arch}", "--exports-trie", path).splitlines():
        match = re.match(r"(0x[0-9A-Fa-f]+)\s+(\S+)$", line)
        if match:
            found.add((int(match[1], 16), match[2].removeprefix("_")))
    return found


def debug_map(nm, path, arch):
    """Sizes of functions by (start, name), out of the pairs of N_FUN."""
    sizes, function = {}, None
    for line in run(nm, "-a", "--no-sort", f"--arch={arch}", path).splitlines():
        match = re.match(r"([0-9a-f]+) - \w+ \w+\s+FUN ?(.*)$", line)
        if not match:
            continue
        if match[2]:
            function = int(match[1], 16), match[2].removeprefix("_")
        elif function is not None:
            sizes[function] = max(sizes.get(function, 0), int(match[1], 16))
            function = None
    return sizes


def preferred(names, name):
    """Global before hidden and local before weak, which llvm-nm does not tell apart from global."""
    kinds = names.values()
    return name in names and (names[name].isupper() or not any(kind.isupper() for kind in kinds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--twin")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--show", help="a rule: what it explained is written out")
    parser.add_argument("--llvm", default="-19")
    parser.add_argument("files", nargs="+", metavar="FILE")
    given = parser.parse_args()
    return max(compare(given, path) for path in given.files)


def compare(given, path):
    arch, twin = given.arch, given.twin or path
    nm = f"llvm-nm{given.llvm}"

    sections = Sections(run(given.names, "--code", path, arch).splitlines())
    starts = sorted(int(line, 16) for line in run(given.names, "--starts", path, arch).splitlines())
    twin_symbols, symbols = Symbols(nm, twin, arch), Symbols(nm, path, arch)
    sizes = debug_map(nm, path, arch)
    stubs = stubs_of(given.llvm, path, arch)
    exports = exports_of(given.llvm, path, arch)

    known = {start for start in twin_symbols.by_start if sections.of(start)} | set(starts) | set(stubs)
    asked = {start + delta for start in known for delta in (-1, 0, 1)}
    low, high = sections.ranges[0][0] - 256, sections.ranges[-1][1] + 256
    chance = random.Random(arch + path.rsplit("/", 1)[-1])
    asked |= {chance.randrange(max(low, 0), high) for _ in range(RANDOM_ADDRESSES)}
    asked = sorted(address for address in asked if address >= 0)

    mine, llvm = ours(given.names, path, arch, asked), theirs(given.llvm, path, arch, asked)
    reference = ours(given.names, twin, arch, asked) if twin != path else mine
    begins = starts or sorted(start for start in twin_symbols.by_start if sections.of(start))
    names_all = any(kind in "ts" for names in symbols.by_start.values() for kind in names.values())
    counts, unexplained = {}, []

    def bounded(start, address):
        """Whether a function begins after the symbol and up to the address."""
        i = bisect.bisect_right(begins, address)
        return i > 0 and begins[i - 1] > start

    def is_method(my):
        names = twin_symbols.names(my[1])
        return my[0][:2] in ("-[", "+[") and any(
            my[0] in (name, re.sub(r"\(.*?\)", "", name, count=1)) or re.match(r"\$[sS].*To$", name) for name in names)

    named_starts = sorted(start for start in symbols.by_start if sections.of(start))

    def nearest(address):
        i = bisect.bisect_right(named_starts, address)
        return named_starts[i - 1] if i > 0 else None

    def rule(address):
        my, their, section = mine[address], llvm[address], sections.of(address)
        if not starts and my is not None and bounded(my[1], address):
            return None
        is_stub = my is not None and my[0].startswith("DYLD-STUB$$")
        if my is not None and not is_stub and reference[address] is not None and my[:2] != reference[address][:2]:
            # If a name was stripped, its alias may be left.
            if my[1] != reference[address][1] or (my[0] not in twin_symbols.names(my[1]) and not is_method(my)):
                return None
        if section is None:
            return "outside" if my is None else None
        if is_stub:
            return "stub" if stubs.get(my[1]) == my[0].removeprefix("DYLD-STUB$$") else None
        if my is not None and their is not None and my[:2] == their:
            return "equal"
        if my is not None and their is not None and my[1] == their[1]:
            if 0 < sizes.get((my[1], my[0]), 0) <= address - my[1]:
                return "method" if is_method(my) else None
            return "alias" if preferred(symbols.names(my[1]), my[0]) else exported(my)
        if my is not None:
            if their is not None and their[0][0] in "Ll" and my[1] < their[1] and not bounded(my[1], address):
                return "private"
            if their is None and sizes and nearest(address) == my[1] and my[0] in symbols.names(my[1]):
                return "cut"
            return exported(my)
        if their is None:
            return "neither"
        if not section[0] <= their[1] <= address:
            return "section"
        if bounded(their[1], address):
            return "bound"
        if their[0][0] in "Ll" and their[1] in starts:
            return "private"
        size = max((sizes.get((their[1], name), 0) for name in symbols.names(their[1])), default=0)
        if 0 < size <= address - their[1]:
            return "size"
        return "unbound" if not starts and not names_all and address != their[1] else None

    def exported(my):
        """The symbol table lacks what the exports or the metadata have."""
        if my[0] in symbols.names(my[1]):
            return None
        if is_method(my):
            return "method"
        return "export" if my[0] in twin_symbols.names(my[1]) or (my[1], my[0]) in exports else None

    def describe(address):
        return f"{address:#x}: ours {mine[address]}, llvm {llvm[address]}, twin {reference[address]}"

    shown = []
    for address in asked:
        name = rule(address)
        if name is None:
            unexplained.append(describe(address))
        else:
            counts[name] = counts.get(name, 0) + 1
            if name == given.show:
                shown.append(describe(address))
    print(f"{path.rsplit('/', 1)[-1]} ({arch}): {len(asked)} addresses;",
          ", ".join(f"{name} {counts[name]}" for name in sorted(counts)))
    if given.show:
        for line in shown[:20]:
            print("  shown:", line)
    for line in unexplained[:10]:
        print("  unexplained:", line)
    named = sum(answer is not None for answer in mine.values())
    if named < given.least:
        print(f"  only {named} have a name, expected are {given.least}")
        return 1
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
