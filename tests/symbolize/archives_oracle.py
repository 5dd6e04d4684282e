#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what `unspool` says of an archive with what other tools say of its members.

    archives_oracle.py UNSPOOL elf|macho [--arch ARCH] ARCHIVE OBJECT...

The objects are the archive's members. Asked for are all functions (`unspool symbols`), which are those of llvm-readelf or
llvm-nm, with their addresses, in the right member and section; and names (`unspool symbolize`) at each function's first
and last byte and beside them, in a sample for a part of the sections. In ELF each section counts from 0: the names are those of the functions there that hold the
address, by the symbol table, for x86_64 addr2line's for the section, and llvm-symbolizer's where a file has only one. In
Mach-O they are those that the object has outside of the archive, which macho_oracle.py compares with llvm-symbolizer.

Ends with 1 after the first few differences.
"""
import argparse
import functools
import json
import os
import re
import subprocess
import sys

LEAST = 40
# At full size (USP_TEST_SCALE, tests/support/under.h) names are asked for in each section, in a sample in each 25th one
# of an object that has many: each takes runs of two programs.
STEP = 1 if int(os.environ.get("USP_TEST_SCALE") or 0) > 0 else 25
MANY = 16
differences = []


# An archive is listed once for all of its members.
@functools.lru_cache(maxsize=None)
def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def differ(*words):
    differences.append(" ".join(map(str, words)))
    if len(differences) == 5:
        sys.exit("\n".join(differences))


def listed(unspool, options, archive):
    """By image path the functions: address, size, name."""
    text = run(unspool, "symbols", "--json", "--demangle", "no", *options, archive)
    decoder, images = json.JSONDecoder(), {}
    while text := text.lstrip():
        answer, end = decoder.raw_decode(text)
        text = text[end:]
        assert answer["path"] not in images, answer["path"]
        images[answer["path"]] = {(int(s["address"], 16), s["size"], s["symbol"]) for s in answer["symbols"]}
    return images


def named(unspool, options, path, addresses):
    """The name and offset of each address, None where there is none."""
    words = [hex(address) for address in addresses]
    lines = run(unspool, "symbolize", "--demangle", "no", *options, "-o", path, text="\n".join(words)).splitlines()
    assert len(lines) == len(words), path
    answers = []
    for word, line in zip(words, lines):
        match = re.fullmatch(r"(.*) \(in .*\) \+ (\d+)", line)
        assert match or line == word, line
        answers.append((match[1], int(match[2])) if match else None)
    return answers


def around(functions):
    places = {a for start, size in functions for a in (start - 1, start, start + 1, start + size - 1, start + size)}
    return sorted(place for place in places if place >= 0)


# ---- ELF


class Object:
    """What llvm-readelf says: the sections of code that have any, by number, and the functions in each."""

    def __init__(self, path):
        self.sections, self.functions, self.labels = {}, {}, {}
        for line in run("llvm-readelf-19", "-SW", path).splitlines():
            match = re.match(r" *\[ *(\d+)\] (\S+) +PROGBITS +\w+ \w+ (\w+) \w+ +(\w*X\w*) ", line)
            if match and int(match[3], 16) > 0:
                self.sections[int(match[1])] = match[2]
        arm = "ARM" in run("llvm-readelf-19", "-h", path)
        for line in run("llvm-readelf-19", "-sW", path).splitlines():
            match = re.match(r" *\d+: (\w+) +(\d+) (\w+) +\w+ +\w+ +(\d+) (\S+)$", line)
            if not match or int(match[4]) not in self.sections or match[3] not in ("FUNC", "IFUNC", "NOTYPE"):
                continue
            start, size, number, name = int(match[1], 16), int(match[2]), int(match[4]), match[5]
            if match[3] == "NOTYPE" or size == 0:
                self.labels.setdefault(number, set()).add(name)
            else:
                start &= ~1 if arm else ~0
                self.functions.setdefault(number, []).append((start, size, name))


def check_elf(unspool, options, archive, path):
    member = f"{archive}({os.path.basename(path)})"
    wanted, images, total = Object(path), listed(unspool, options, archive), 0
    is_intel = "x86-64" in run("llvm-readelf-19", "-h", path)
    for position, (number, section) in enumerate(wanted.sections.items()):
        image = member if len(wanted.sections) == 1 else f"{member}:({section})"
        if image not in images:
            differ(image, "is not listed")
            continue
        functions, labels = wanted.functions.get(number, []), wanted.labels.get(number, set())
        total += len(functions)
        for start, size, _ in functions:
            aliases = {name for s, z, name in functions if (s, z) == (start, size)}
            if not any((start, size, name) in images[image] for name in aliases):
                differ(image, hex(start), aliases, "is not listed with its size")
        for _, _, name in images[image]:
            if name not in labels and name not in {f[2] for f in functions}:
                differ(image, name, "is listed and not there")
        if len(wanted.sections) > MANY and position % STEP != 0:
            continue
        addresses = around([f[:2] for f in functions])
        answers = named(unspool, options, image, addresses)
        for address, answer in zip(addresses, answers):
            holders = {(name, address - start) for start, size, name in functions if start <= address < start + size}
            if holders and answer not in holders or not holders and answer and answer[0] not in labels:
                differ(image, hex(address), answer, "and not one of", holders)
        if is_intel and addresses:
            theirs = run("addr2line", "-f", "-j", section, "-e", path, text="\n".join(map(hex, addresses))).splitlines()
            compare_with(image, addresses, answers, theirs[::2], functions, labels)
        if len(wanted.sections) == 1:
            theirs = run("llvm-symbolizer-19", "--no-inlines", "--no-demangle", "--functions=linkage", f"--obj={path}",
                         text="\n".join(map(hex, addresses)))
            theirs = [answer.split("\n")[0] for answer in theirs.strip().split("\n\n")]
            compare_with(image, addresses, answers, theirs, functions, labels)
    return total


def compare_with(image, addresses, answers, theirs, functions, labels):
    """Equal, but for the rules of doc/symbolize.md and doc/symbolize-apple.md: aliases, labels in functions, and what lies past a function's end."""
    assert len(theirs) == len(addresses), (image, len(theirs), len(addresses))
    for address, ours, their in zip(addresses, answers, theirs):
        holders = {name for start, size, name in functions if start <= address < start + size}
        if not holders or their in labels:
            continue
        if ours is None or {ours[0], their} - holders:
            differ(image, hex(address), ours, "but", their)


# ---- Mach-O


def check_macho(unspool, options, archive, path):
    member = f"{archive}({os.path.basename(path)})"
    images = listed(unspool, options, archive)
    alone = listed(unspool, [], path)[path]
    if images.get(member) != alone:
        differ(member, "has other functions than", path)
        return 0
    starts = {(start, name) for start, _, name in alone}
    missing = {}
    for line in run("llvm-nm-19", "--defined-only", path).splitlines():
        match = re.match(r"([0-9a-f]+) [tT] (.*)$", line)
        if match and not re.match(r"l|L", match[2]):
            missing.setdefault(int(match[1], 16), set()).add(match[2].removeprefix("_"))
    for start, aliases in missing.items():
        if not any((start, name) in starts or (start & ~1, name) in starts for name in aliases):
            differ(member, hex(start), aliases, "is not listed")
    addresses = around([(start, size) for start, size, _ in alone])
    if named(unspool, options, member, addresses) != named(unspool, [], path, addresses):
        differ(member, "has other names than", path)
    return len(alone)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("unspool")
    parser.add_argument("format", choices=["elf", "macho"])
    parser.add_argument("--arch")
    parser.add_argument("archive")
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()
    options = ["--arch", arguments.arch] if arguments.arch else []
    check = check_elf if arguments.format == "elf" else check_macho
    total = sum(check(arguments.unspool, options, arguments.archive, path) for path in arguments.objects)
    if total < LEAST:
        differ("only", total, "functions were compared")
    sys.exit("\n".join(differences) or None)


main()
