#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the rows of call frame information that cfi_rows finds with those that readelf shows:

    cfi_oracle.py READELF CFI_ROWS FILE eh|eh-indexed|debug [LEAST]

Each row of each FDE is asked for at the first address for which it holds and at the last one. Fails when a row differs, or
when readelf shows fewer than LEAST."""
import re
import subprocess
import sys

HEADER = re.compile(r"^[0-9a-f]{8,16} [0-9a-f]{8,16} [0-9a-f]{8,16} (CIE|FDE)(.*)$")
ROW = re.compile(r"^[0-9a-f]{8,16} (?!ZERO)\S")
# The library's rules hold no vector, floating-point or system registers.
IGNORED = re.compile(r"^(xmm|st|mm|ymm|v|d|s|f|q)\d+$|^(mxcsr|fcr|fcsr|fsr|z\d+|p\d+|ffr|vg)$")
# readelf's names of registers that the library names differently.
OTHER_NAMES = {"x86_64": {}, "arm64": {}, "i386": {}, "armv7": {"r13": "sp", "r14": "lr", "r15": "pc"}}


def entries(text, section):
    """(kind, key, parent, low, high, rows) of each entry; a row is (location, CFA, {register: place})."""
    inside = False
    entry = None
    columns = []
    for line in text.splitlines():
        if line.startswith("Contents of the "):
            inside = line.split()[3] == section
        if not inside:
            continue
        header = HEADER.match(line)
        if header:
            if entry:
                yield entry
            kind, rest = header.groups()
            key = int(line.split()[0], 16)
            entry = [kind, key, None, 0, 0, []]
            if kind == "FDE":
                cie, low, high = re.search(r"cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)", rest).groups()
                entry[2:5] = int(cie, 16), int(low, 16), int(high, 16)
        elif line.split()[:2] == ["LOC", "CFA"]:
            columns = line.split()[2:]
        elif entry and ROW.match(line):
            words = re.sub(r"r\d+ \((\w+)\)", r"\1", line).split()
            entry[5].append((int(words[0], 16), words[1], dict(zip(columns, words[2:]))))
    if entry:
        yield entry


def canonical(cfa, places, renamed):
    known = {}
    named = re.match(r"\w+", cfa).group()
    cfa = renamed.get(named, named) + cfa[len(named):]
    for register, place in places.items():
        if not IGNORED.match(register) and place != "u":
            known[renamed.get(register, register)] = renamed.get(place, place)
    return cfa, known


def expected_rows(text, section, renamed):
    """{address: row}; an address that two FDEs describe is left out, and counted."""
    cies, found, twice = {}, {}, 0
    for kind, key, parent, low, high, rows in entries(text, section):
        if kind == "CIE":
            cies[key] = rows
            continue
        if low >= high or low == 0:
            continue
        # An FDE without instructions has its CIE's row.
        rows = rows or [(low, *row[1:]) for row in cies[parent][-1:]]
        bounds = [row[0] for row in rows[1:]] + [high]
        for (first, cfa, places), end in zip(rows, bounds):
            # Of several rows for one address the last one applies; an empty range has no row.
            if first >= end:
                continue
            for pc in {first, end - 1}:
                if pc in found:
                    twice += 1
                found[pc] = canonical(cfa, places, renamed)
    return found, twice


def main():
    readelf, program, path, mode = sys.argv[1:5]
    least = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    section = ".debug_frame" if mode == "debug" else ".eh_frame"
    said = subprocess.run([readelf, "-h", path], check=True, capture_output=True, text=True).stdout
    machine = re.search(r"Machine:\s+(.*)", said).group(1)
    arch = {"Advanced": "x86_64", "Intel": "i386", "AArch64": "arm64", "ARM": "armv7"}[machine.split()[0]]
    # readelf's exit status is ignored: it also reports separate debug information that was not found.
    text = subprocess.run([readelf, "--debug-dump=frames-interp", path], capture_output=True, text=True).stdout
    found, twice = expected_rows(text, section, OTHER_NAMES[arch])
    order = sorted(found)
    got = subprocess.run(program.split() + [path, mode], input="".join(f"{pc:x}\n" for pc in order), check=True,
                         capture_output=True, text=True).stdout.splitlines()
    if len(got) != len(order):
        sys.exit(f"{path}: {len(got)} rows of {len(order)}")
    wrong = 0
    for pc, line in zip(order, got):
        address, *rest = line.split()
        row = (rest[0], dict(word.split("=") for word in rest[1:]))
        if int(address, 16) != pc or row != found[pc]:
            wrong += 1
            if wrong <= 5:
                print(f"{path}: {pc:x}: {row}, readelf says {found[pc]}")
    if wrong or twice or len(order) < least:
        sys.exit(f"{path} ({mode}): {wrong} of {len(order)} rows differ, {twice} addresses are described twice")
    print(f"{path} ({mode}): {len(order)} rows")


main()
