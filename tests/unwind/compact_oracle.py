#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the library decodes of compact unwind with what LLVM's tools say of the same functions.

    compact_oracle.py --rules PROGRAM --arch ARCH [--least N] [--not-linked NAME] [--lossy] OBJECT [IMAGE]
    compact_oracle.py --rules PROGRAM --arch ARCH [--least N] --foreign IMAGE

The object was compiled with -femit-dwarf-unwind=always: it has both an encoding (llvm-objdump --unwind-info) and CFI
(llvm-dwarfdump --eh-frame) of each function. The rule that the library makes of the encoding is the CFI's last row, that
of the function's body; a function that has no encoding has only one row. In the image, where a linker has put encodings into pages and folded those of neighbours, each
function has at its first byte, in its middle and at its last byte the same answer as in the object, for the range that
llvm-objdump lists; and where the answer is that the CFI has it, there is an FDE of the function at that offset.

Of a foreign image, which comes without objects, each entry that llvm-objdump lists is found by its first and its last
byte, and its answer is that of its encoding alone.

Writes one line of counts. Ends with 1 after differences, or when there were fewer than N functions of a kind.
"""
import argparse
import bisect
import re

from cfi_rows import Findings, parse_rule, read_fdes, run, show


def object_encodings(path):
    """{start: (length, encoding)}"""
    found = re.findall(
        r"start:\s+0x([0-9a-f]+) \S+\s+length:\s+0x([0-9a-f]+)\s+compact encoding:\s+0x([0-9a-f]+)",
        run("llvm-objdump-19", "--unwind-info", path),
    )
    return {int(start, 16): (int(length, 16), int(encoding, 16)) for start, length, encoding in found}


def text_offset(path):
    """Of __text in the file."""
    match = re.search(r"Name: __text \(.*?Offset: (\d+)", run("llvm-readobj-19", "--sections", path), re.S)
    return int(match[1])


def names_of(path):
    """{address: name} of functions; an object's first function may have a label of the assembler's as well."""
    names = {}
    for line in run("llvm-nm-19", path).splitlines():
        match = re.match(r"([0-9a-f]+) [tT] (_f\d+|_main)$", line)
        if match:
            names[int(match[1], 16)] = match[2]
    return names


def compare_object(findings, options, counts):
    """Returns {name: (length, the library's answer)}."""
    encodings = object_encodings(options.object)
    fdes = read_fdes("--eh-frame", options.object, swap_i386=options.arch == "i386")
    names = sorted(names_of(options.object).items())
    offset = text_offset(options.object)
    question = "".join(f"{offset + start:x} {encodings.get(start, (0, 0))[1]:x}\n" for start, _ in names)
    answers = run(options.rules, "--encodings", options.arch, options.object, text=question).splitlines()
    if not len(names) == len(fdes) == len(answers):
        findings.add(f"{len(names)} functions, {len(fdes)} FDEs, {len(answers)} answers")
    by_name = {}
    for (start, name), (_, low, high, rows), line in zip(names, fdes, answers):
        answer = line.split(" ", 1)[1]
        length, encoding = encodings.get(start, (high - low, 0))
        by_name[name] = (length, answer)
        if high - low != length:
            findings.add(f"{name}: {length} bytes by its encoding, {high - low} by its FDE")
        kind = f"mode {encoding >> 24 & 0xf}"
        counts[kind] = counts.get(kind, 0) + 1
        if answer.startswith("cfi") or (encoding == 0 and answer == "none" and len(rows) == 1):
            continue
        rule = parse_rule(answer) if answer.startswith("cfa=") else None
        if rule is None or rule != rows[-1][1]:
            findings.add(f"{name} {encoding:#x}: {answer}: {show(rule)}, CFI: {show(rows[-1][1])}")
    return by_name


def image_encodings(path):
    """[(offset from the image's header, encoding)], ascending."""
    found = re.findall(r"function offset=0x([0-9a-f]+), encoding\S*?=0x([0-9a-f]+)", run("llvm-objdump-19", "--unwind-info", path))
    return [(int(offset, 16), int(encoding, 16)) for offset, encoding in found]


def compare_image(findings, options, by_name, counts):
    fdes = {offset: start for offset, start, _, _ in read_fdes("--eh-frame", options.image)}
    encodings = image_encodings(options.image)
    header = int(re.search(r"([0-9a-f]+) T __mh_execute_header", run("llvm-nm-19", options.image))[1], 16)
    places = {name: address for address, name in names_of(options.image).items()}
    missing = [name for name in by_name if name not in places]
    if missing not in ([], [options.not_linked]):
        findings.add(f"not in the image: {missing[:5]}")
    asked = [
        (name, places[name], n)
        for name, (length, _) in by_name.items()
        if name in places
        for n in (0, length // 2, length - 1)
    ]
    answers = run(options.rules, options.image, text="".join(f"{at + n:x}\n" for _, at, n in asked)).splitlines()
    if len(answers) != len(asked):
        findings.add(f"{len(answers)} answers to {len(asked)} addresses of the image")
    for (name, at, n), line in zip(asked, answers):
        _, start, end, answer = line.split(" ", 3)
        i = bisect.bisect_right(encodings, (at + n - header, 1 << 32)) - 1
        low, encoding = encodings[i][0] + header, encodings[i][1]
        expected = by_name[name][1]
        kind = "linked" if encoding else "linked without an encoding"
        counts[kind] = counts.get(kind, 0) + 1
        if answer.startswith("cfi"):
            # Linkers refer to the CFI of functions without an encoding as well.
            right = not expected.startswith("cfa") and fdes.get(int(answer.split()[1], 16)) == at == low
        elif encoding == 0:
            right = answer == "none" and (expected == "none" or options.lossy)
        else:
            right = answer == expected
        if encoding and not (int(start, 16) == low <= at + n < int(end, 16)):
            right = False
        if i + 1 < len(encodings) and encoding and int(end, 16) != encodings[i + 1][0] + header:
            right = False
        if not right:
            findings.add(f"{name} + {n:#x}: {line}; {encoding:#x} since {low:#x}; in the object {expected}")


def compare_foreign(findings, options, counts):
    encodings = image_encodings(options.object)
    headers = run("llvm-objdump-19", "--private-headers", options.object)
    text = int(re.search(r"segname __TEXT\s+vmaddr (0x[0-9a-f]+)", headers)[1], 16)
    question = "".join(f"{offset:x} {encoding:x}\n" for offset, encoding in encodings)
    expected = run(options.rules, "--encodings", options.arch, options.object, text=question).splitlines()
    asked = []
    for i, (offset, encoding) in enumerate(encodings):
        kind = f"mode {encoding >> 24 & 0xf}"
        counts[kind] = counts.get(kind, 0) + 1
        asked.append((offset, offset, encoding, expected[i]))
        if i + 1 < len(encodings):
            asked.append((encodings[i + 1][0] - 1, offset, encoding, expected[i]))
    answers = run(options.rules, options.object, text="".join(f"{text + at:x}\n" for at, *_ in asked)).splitlines()
    if len(answers) != len(asked):
        findings.add(f"{len(answers)} answers to {len(asked)} addresses of the image")
    for (at, start, encoding, wanted), line in zip(asked, answers):
        _, low, _, answer = line.split(" ", 3)
        if answer != wanted.split(" ", 1)[1] or answer.startswith("corrupt"):
            findings.add(f"{text + at:#x}: {line}, by its encoding {wanted}")
        if encoding & 0xFFFFFF and int(low, 16) != text + start:
            findings.add(f"{text + at:#x}: {line}, llvm-objdump: {text + start:#x}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--not-linked", help="a function of the object that the image may lack")
    parser.add_argument("--lossy", action="store_true", help="the linker drops encodings")
    parser.add_argument("--foreign", action="store_true", help="a foreign image instead of an object")
    parser.add_argument("object")
    parser.add_argument("image", nargs="?")
    options = parser.parse_args()
    findings, counts = Findings(), {}
    if options.foreign:
        compare_foreign(findings, options, counts)
    else:
        by_name = compare_object(findings, options, counts)
        if options.image:
            compare_image(findings, options, by_name, counts)
    for kind, count in {"any": sum(counts.values())}.items() if options.foreign else counts.items():
        if count < options.least:
            findings.add(f"only {count} of {kind}")
    findings.end(f"{options.object}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))


main()
