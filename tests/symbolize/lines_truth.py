#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the function, path, line and column of each instruction with what the compiler has said in its assembly.

A compiler's labels and .loc directives say of each instruction where it comes from, before an assembler or a linker has touched
it. `label` puts a label in front of each instruction of an assembly file and writes what was said of it to a table; `check`
takes the addresses of these labels from the linked file, asks lines_dump, and compares. With --llvm it also compares the whole
chain of inlined calls with llvm-symbolizer's, by the rules of lines_oracle.py.
"""
import argparse
import collections
import json
import os
import re
import sys

import lines_oracle

INSTRUCTION = re.compile(r'^\s+[a-zA-Z][\w.]*(\s|$)')
LOC = re.compile(r'^\s+\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?')
FILE = re.compile(r'^\s+\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
SECTION = re.compile(r'^\s+\.(?:(section|pushsection)\s+([^\s,]+(?:,\s*__\w+)?)|(text|data|bss)\b|(popsection|previous)\b)')
# Symbols of functions. Symbols that begin with .L, and in Mach-O with an L or an l, are the assembler's.
LABEL = re.compile(r'^(?:"([^"]+)"|((?!\.L)[A-Za-z_$.][\w.$]*)):')
MACHO_LABEL = re.compile(r'^(?:"([^"]+)"|(_[\w.$]*)):')

Said = collections.namedtuple('Said', 'function path line column is_silent')


def label(source, to, table, prefix, pointers, folder):
    """Writes the assembly with labels, and what is said of each instruction as JSON, one a line. Where labels would be functions
    to a linker they begin with an L, and a section of pointers to them is what is left of them."""
    is_macho = prefix.startswith('L')
    files, places, functions, stack, section = {}, {}, {}, [], '.text'
    silent = set()  # sections in which a function has begun and no .loc has followed
    count = 0
    with open(source) as lines, open(to, 'w') as out, open(table, 'w') as told:
        for line in lines:
            found = FILE.match(line)
            if found:
                # A directory, relative to the compiler's, which is the first one of version 5; and a name in it.
                parts = [part for part in found.groups()[1:] if part is not None]
                if found.group(1) == '0' and len(parts) == 2:
                    folder = parts.pop(0)
                files[int(found.group(1))] = os.path.join(folder, *parts)
            found = SECTION.match(line)
            if found:
                if found.group(1) == 'pushsection':
                    stack.append(section)
                if found.group(2):
                    section = found.group(2)
                elif found.group(3):
                    section = '.' + found.group(3)
                elif stack:
                    section = stack.pop()
            found = LOC.match(line)
            if found:
                silent.discard(section)
                places[section] = (int(found.group(1)), int(found.group(2)), int(found.group(3) or 0))
            found = (MACHO_LABEL if is_macho else LABEL).match(line)
            if found:
                name = found.group(1) or found.group(2)
                functions[section] = name[1:] if is_macho and name.startswith('_') else name
                silent.add(section)
            is_code = INSTRUCTION.match(line) and not line.lstrip().startswith('.')
            if is_code and not section.startswith(('.debug', '__DWARF')):
                out.write(f'{prefix}{count}:\n')
                said = [f'{prefix}{count}', functions.get(section, ''), '', 0, 0, section in silent]
                if section in places:
                    file, line_number, column = places[section]
                    said[2:5] = files.get(file, '?'), line_number, column
                told.write(json.dumps(said) + '\n')
                count += 1
            out.write(line)
        if pointers:
            out.write('\t.section __DATA,__usp_places\n\t.p2align 3\n')
            for i in range(count):
                out.write(f'\t.{"quad" if pointers == 8 else "long"} {prefix}{i}\n')
    return count


def find_places(options, names):
    """(address, name) of each label: by the symbol table, or by the section of pointers to them."""
    mask = ~1 if options.clear_low_bit else ~0
    if options.places:
        with open(options.places, 'rb') as raw:
            content = raw.read()
        size = options.pointers
        found = [(int.from_bytes(content[i * size:(i + 1) * size], 'little') & mask, name) for i, name in enumerate(names)]
        # The loader sets pointers to functions that another image may replace.
        found = [place for place in found if place[0] != 0]
    else:
        fields = [line.split() for line in lines_oracle.output('llvm-nm-19', options.program).splitlines()]
        found = [(int(f[0], 16) & mask, f[2]) for f in fields if len(f) == 3 and f[2] in names]
    return sorted(found)


def check(options):
    said = {}
    with open(options.table) as told:
        for line in told:
            name, *rest = json.loads(line)
            said[name] = Said(*rest)
    places = find_places(options, said)
    if not places:
        sys.exit(f'{options.program}: no instruction was compared')
    addresses = [address for address, _ in places]
    symbols = lines_oracle.Symbols(options.llvm or options.program, ())
    answers = lines_oracle.ask_ours(options.dump.split(), options.program, addresses)
    wrong = 0

    def report(name, address, frames, who, other):
        nonlocal wrong
        wrong += 1
        if wrong <= 5:
            print(f'{options.program}: {name} at 0x{address:x} is {lines_oracle.show(frames)}, and {who}: {other}')

    # Labels of functions that the linker has removed or folded lie at other code. If several labels have one address,
    # any of them may be right.
    by_address = collections.defaultdict(set)
    for address, name in places:
        by_address[address].add(said[name])
        # Of a function that the compiler has made itself it says nothing. The line table may go on with the last row of the
        # function before, if the debug information describes this one.
        if said[name].is_silent:
            by_address[address].add(Said(said[name].function, '', 0, 0, True))
    for (address, name), frames in zip(places, answers):
        expected = by_address[address]
        innermost, outermost = frames[0], frames[-1]
        if (innermost.path, innermost.line, innermost.column) not in {(s.path, s.line, s.column) for s in expected}:
            report(name, address, frames, 'the compiler says', expected)
        # Code without debug information has the name of a label here.
        elif innermost.path and not any(
                outermost.function == s.function or symbols.are_aliases(outermost.function, s.function) for s in expected):
            report(name, address, frames, 'the compiler says', expected)
    folded = {address for address, expected in by_address.items() if len({s.function for s in expected}) > 1}
    if options.folded and not folded:
        sys.exit(f'{options.program}: no function was folded')
    if options.llvm:
        rules = lines_oracle.Rules(options.llvm, symbols, options.stray)
        theirs = lines_oracle.ask_llvm(options.llvm, addresses)
        for (address, name), frames, other in zip(places, answers, theirs):
            if rules.explain(frames, other) is None:
                # It may have chosen another one of the folded functions.
                if address in folded and other[0][1:4] in {(s.path, s.line, s.column) for s in by_address[address]}:
                    continue
                report(name, address, frames, 'llvm-symbolizer says', lines_oracle.show(other))
    print(f'{os.path.basename(options.program)}: {len(places)} instructions, {wrong} wrong')
    return wrong


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest='command', required=True)
    labels = commands.add_parser('label')
    labels.add_argument('source')
    labels.add_argument('to')
    labels.add_argument('table')
    labels.add_argument('--prefix', default='usp_at_')
    labels.add_argument('--pointers', type=int, help='so many bytes each')
    labels.add_argument('--folder', default=os.getcwd(), help='where the compiler was called, as the debug information has it')
    checks = commands.add_parser('check')
    checks.add_argument('program')
    checks.add_argument('table')
    checks.add_argument('--dump', required=True)
    checks.add_argument('--llvm', help='the file that llvm-symbolizer is asked of')
    checks.add_argument('--stray', action='store_true', help='inlined calls lie outside of their functions (DWARF 2)')
    checks.add_argument('--folded', action='store_true', help='instructions of folded functions must be among them')
    checks.add_argument('--places', help='the contents of the section of pointers')
    checks.add_argument('--pointers', type=int)
    checks.add_argument('--clear-low-bit', action='store_true', help='addresses of Thumb functions are odd')
    options = parser.parse_args()
    if options.command == 'label':
        if label(options.source, options.to, options.table, options.prefix, options.pointers, options.folder) == 0:
            sys.exit(f'{options.source}: no instruction in it')
    elif check(options) > 0:
        sys.exit(1)


main()
