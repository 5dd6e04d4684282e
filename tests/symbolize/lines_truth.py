#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the file, line and column of each instruction with what the compiler has said in its assembly.

A compiler's .loc directives say of each instruction where it comes from, before an assembler or a linker has touched it.
`label` puts a label in front of each instruction of an assembly file and writes what was said of it to a table; `check`
takes the addresses of these labels from the linked file, asks lines_dump, and compares. With --llvm it also compares the
whole chain of inlined calls with llvm-symbolizer's.
"""
import argparse
import os
import re
import subprocess
import sys

INSTRUCTION = re.compile(r'^\s+[a-zA-Z][\w.]*(\s|$)')
LOC = re.compile(r'^\s+\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?')
FILE = re.compile(r'^\s+\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
SECTION = re.compile(r'^\s+\.(?:(section|pushsection)\s+([^\s,]+(?:,\s*__\w+)?)|(text|data|bss)\b|(popsection|previous)\b)')


def label(source, to, table, prefix, pointers):
    """Writes the assembly with labels, and `label file line column` for each instruction. Where labels would be functions to
    a linker they begin with an L, and a section of pointers to them is what is left of them."""
    files, places, stack, section = {}, {}, [], '.text'
    count = 0
    with open(source) as lines, open(to, 'w') as out, open(table, 'w') as told:
        for line in lines:
            found = FILE.match(line)
            if found:
                name = found.group(3) if found.group(3) is not None else found.group(2)
                files[int(found.group(1))] = os.path.basename(name)
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
                places[section] = (int(found.group(1)), int(found.group(2)), int(found.group(3) or 0))
            is_code = INSTRUCTION.match(line) and not line.lstrip().startswith('.')
            if is_code and section in places and not section.startswith(('.debug', '__DWARF')):
                file, line_number, column = places[section]
                out.write(f'{prefix}{count}:\n')
                told.write(f'{prefix}{count} {files.get(file, "?")} {line_number} {column}\n')
                count += 1
            out.write(line)
        if pointers:
            out.write('\t.section __DATA,__usp_places\n\t.p2align 3\n')
            for i in range(count):
                out.write(f'\t.{"quad" if pointers == 8 else "long"} {prefix}{i}\n')
    return count


def read_answers(text):
    """What lines_dump has written: an address and its frames, for each."""
    answers = []
    for block in text.split('\n\n'):
        lines = block.strip('\n').split('\n')
        if lines != ['']:
            answers.append([line.split('\t') for line in lines[1:]])
    return answers


def ask_llvm(program, addresses):
    asked = subprocess.run(['llvm-symbolizer-19', '--inlines', '--no-demangle', '--functions=linkage', '--obj=' + program],
                           input=''.join('0x%x\n' % a for a in addresses), capture_output=True, text=True, check=True)
    answers = []
    for block in asked.stdout.split('\n\n'):
        lines = block.strip('\n').split('\n')
        if lines == ['']:
            continue
        frames = []
        for function, place in zip(lines[::2], lines[1::2]):
            path, line, column = place.rsplit(':', 2)
            frames.append((function, os.path.basename(path), int(line), int(column)))
        answers.append(frames)
    return answers


def same_chain(ours, theirs):
    """Whether two chains are equal but for what doc/symbolize.md says of names."""
    if len(ours) != len(theirs):
        return False
    for i, (frame, other) in enumerate(zip(ours, theirs)):
        name, _, file, line, column = frame[:5]
        if frame[5].startswith('declaration'):
            file, line, column = '??', '0', '0'
        if file == '-':
            file = '??'
        if (file, int(line), int(column)) != other[1:]:
            return False
        is_named = name == other[0] or name.endswith('::' + other[0]) or (name == '-' and other[0] == '??')
        # Another name of the same function, which the symbol table decides.
        if not is_named and i + 1 < len(ours):
            return False
    return True


def check(dump, program, table, llvm, nm, mask, places_file, pointers):
    expected = {}
    with open(table) as told:
        for line in told:
            name, file, number, column = line.rsplit(' ', 3)
            expected[name] = (file, int(number), int(column))
    places = []
    if places_file:
        with open(places_file, 'rb') as raw:
            content = raw.read()
        for i, name in enumerate(expected):
            places.append((int.from_bytes(content[i * pointers:(i + 1) * pointers], 'little') & mask, name))
    symbols = '' if places_file else subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) == 3:
            name = fields[2]
            if name in expected:
                places.append((int(fields[0], 16) & mask, name))
    places.sort()
    asked = subprocess.run([*dump, program], input=''.join('0x%x\n' % a for a, _ in places), capture_output=True, text=True,
                           check=True)
    answers = read_answers(asked.stdout)
    if len(answers) != len(places):
        sys.exit(f'{program}: {len(places)} questions, {len(answers)} answers')
    wrong = 0
    # Labels of what the linker has removed or folded stand at other code; of several at one address any may be right.
    by_address = {}
    for address, name in places:
        by_address.setdefault(address, set()).add(expected[name])
    for (address, name), frames in zip(places, answers):
        first = frames[0] if frames else ['-', '-', '-', '0', '0', 'none']
        got = (first[2], int(first[3]), int(first[4]))
        if first[5].startswith('declaration'):
            got = ('-', 0, 0)
        if got not in by_address[address]:
            wrong += 1
            if wrong <= 5:
                print(f'{program}: {name} at 0x{address:x} is {got}, and the compiler says {by_address[address]}')
    if llvm:
        theirs = ask_llvm(llvm, [a for a, _ in places])
        for (address, name), frames, other in zip(places, answers, theirs):
            if not same_chain(frames, other):
                wrong += 1
                if wrong <= 5:
                    print(f'{program}: {name} at 0x{address:x} is {frames}, and llvm-symbolizer says {other}')
    if not places:
        sys.exit(f'{program}: no instruction was compared')
    print(f'{os.path.basename(program)}: {len(places)} instructions, {wrong} wrong')
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
    checks = commands.add_parser('check')
    checks.add_argument('program')
    checks.add_argument('table')
    checks.add_argument('--dump', required=True)
    checks.add_argument('--llvm')
    checks.add_argument('--nm', default='llvm-nm-19')
    checks.add_argument('--places', help='the contents of the section of pointers')
    checks.add_argument('--pointers', type=int)
    checks.add_argument('--clear-low-bit', action='store_true', help='addresses of Thumb functions are odd')
    options = parser.parse_args()
    if options.command == 'label':
        if label(options.source, options.to, options.table, options.prefix, options.pointers) == 0:
            sys.exit(f'{options.source}: no instruction in it')
    elif check(options.dump.split(), options.program, options.table, options.llvm, options.nm, ~1 if options.clear_low_bit else ~0,
               options.places, options.pointers) > 0:
        sys.exit(1)


main()
