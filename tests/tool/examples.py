#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of doc/reports.md, for examples.sh: examples.py UNSPOOL DOCUMENT WORK FORMAT...

An example is a fenced block that is marked with the name of a format. A line that begins with "-> " is what the line
before it becomes; several replace it by several. The document describes the files that the examples are about; this
script makes them in the folder WORK. A block marked "report" is what `unspool report` shows of the example before it.
"""
import json
import os
import re
import struct
import subprocess
import sys

unspool, document, work, *formats = sys.argv[1:]
ID = '0123abcd456789abcdef0123456789ab'
BUILD_ID = ID + '01234567'
KERNEL_ID = 'fedcba9876543210fedcba9876543210'
failures = 0


def fail(what):
    global failures
    failures += 1
    print(what)


def write_elf(path, linked, name, at, size):
    """An ELF file for x86_64 that is linked at an address and has one function, at an offset of both file and memory."""
    code, end = 0x1000, 0x3000
    note = struct.pack('<III4s', 4, len(BUILD_ID) // 2, 3, b'GNU') + bytes.fromhex(BUILD_ID)
    strings = b'\0' + name.encode() + b'\0'
    names = b'\0.note.gnu.build-id\0.text\0.symtab\0.strtab\0.shstrtab\0'
    symbols = bytes(24) + struct.pack('<IBBHQQ', 1, 0x12, 0, 2, linked + at, size)
    tables, places = b'', []
    for table in symbols, strings, names:
        places.append((end + len(tables), len(table)))
        tables += table + bytes(-len(table) % 8)
    rows = [(0, 0, 0, 0, 0, 0, 0, 0), (names.index(b'.note'), 7, 2, 0x200, len(note), 0, 0, 0),
            (names.index(b'.text'), 1, 6, code, end - code, 0, 0, 0), (names.index(b'.symtab'), 2, 0, *places[0], 4, 1, 24),
            (names.index(b'.strtab'), 3, 0, *places[1], 0, 0, 0), (names.index(b'.shstrtab'), 3, 0, *places[2], 0, 0, 0)]
    sections = b''.join(struct.pack('<IIQQQQIIQQ', n, kind, flags, linked + offset if flags else 0, offset, length, link, info,
                                    8 if kind else 0, entry) for n, kind, flags, offset, length, link, info, entry in rows)
    header = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1', 3, 62, 1, linked + code, 64, end + len(tables), 0, 64, 56, 2, 64,
                         len(rows), 5)
    segments = struct.pack('<IIQQQQQQ', 1, 5, 0, linked, linked, end, end, 0x1000)
    segments += struct.pack('<IIQQQQQQ', 4, 4, 0x200, linked + 0x200, linked + 0x200, len(note), len(note), 4)
    image = bytearray(end)
    image[:len(header + segments)] = header + segments
    image[0x200:0x200 + len(note)] = note
    with open(path, 'wb') as out:
        out.write(image + tables + sections)


def write_kernel(path, name, at):
    """A Mach-O file for arm64 whose code has a segment of its own, as in a kernel, with one function in it."""
    text, code, size = 0xfffffe0007004000, 0xfffffe0007010000, 0x1000

    def segment(name, address, memory, offset, length, protection, *sections):
        return struct.pack('<II16sQQQQiiII', 0x19, 72 + 80 * len(sections), name, address, memory, offset, length, protection,
                           protection, len(sections), 0) + b''.join(sections)

    section = struct.pack('<16s16sQQIIIIIIII', b'__text', b'__TEXT_EXEC', code, size, size, 2, 0, 0, 0x80000400, 0, 0, 0)
    strings = b'\0' + name.encode() + b'\0'
    table = struct.pack('<IBBHQ', 1, 0xf, 1, 0, code + at)
    commands = [segment(b'__TEXT', text, size, 0, size, 1), segment(b'__TEXT_EXEC', code, size, size, size, 5, section),
                segment(b'__LINKEDIT', code + size, size, 2 * size, len(table) + len(strings), 1),
                struct.pack('<IIIIII', 2, 24, 2 * size, 1, 2 * size + len(table), len(strings)),
                struct.pack('<II16s', 0x1b, 24, bytes.fromhex(KERNEL_ID))]
    header = struct.pack('<IIIIIIII', 0xfeedfacf, 0x0100000c, 0, 2, len(commands), sum(map(len, commands)), 0, 0)
    with open(path, 'wb') as out:
        # The code consists of instructions without an effect.
        out.write((header + b''.join(commands)).ljust(size, b'\0') + b'\x1f\x20\x03\xd5' * (size // 4) + table + strings)


def blocks(lines):
    """The fenced blocks of a document: what each is marked with, the number of its line, its lines."""
    mark = None
    for number, line in enumerate(lines, 1):
        if not line.startswith('```'):
            if mark is not None:
                inside.append(line)
        elif mark is None:
            mark, begin, inside = line[3:], number, []
        else:
            yield mark, begin, inside
            mark = None


def divide(lines):
    """The text before and after."""
    before, after, has_answer = [], [], False
    for line in lines:
        if not line.startswith('-> '):
            before.append(line)
            after.append(line)
        else:
            if not has_answer:
                after.pop()
            after.append(line[3:])
        has_answer = line.startswith('-> ')
    return before, after


def run(text, *arguments, files='files'):
    done = subprocess.run([unspool, *arguments, '--search', work + '/' + files], input=text.encode(), capture_output=True)
    if done.returncode != 0:
        fail(f'{" ".join(arguments)}: status {done.returncode}: {done.stderr.decode()}')
    return done.stdout.decode('utf-8', 'replace')


def compare(where, expected, found):
    if found != expected:
        fail(f'{where}: the document has\n{expected}\nand the command writes\n{found}')


os.mkdir(work + '/files')
write_elf(work + '/files/prog', 0, 'inner', 0x11dc, 0x40)
write_elf(work + '/files/vmlinux', 0xffffffff81000000, 'inner', 0x11dc, 0x40)
write_kernel(work + '/files/kernel', '_inner', 0x1dc)
with open(work + '/files/App.sym', 'w') as out:
    out.write(f'MODULE mac arm64 {ID.upper()}0 App\nFUNC 5f2d 40 0 -[View draw]\n')

# The same builds with lines and inlined calls.
os.mkdir(work + '/lined')
SOURCES = 'FILE 0 /src/a.c\nINLINE_ORIGIN 0 helper\n'
for name, module, function, start in (('App', f'mac arm64 {ID}0', '-[View draw]', 0x5f2d), ('prog', f'Linux x86_64 {BUILD_ID}', 'inner', 0x11dc)):
    with open(f'{work}/lined/{name}.sym', 'w') as out:
        out.write(f'MODULE {module} {name}\n{SOURCES}FUNC {start:x} 40 0 {function}\nINLINE 0 14 0 0 {start + 2:x} 20\n{start:x} 40 9 0\n')

seen, before, lined = set(), '', 0
with open(document, encoding='utf-8') as file:
    lines = file.read().split('\n')
for mark, number, inside in blocks(lines):
    where = f'{os.path.basename(document)}:{number}: {mark}'
    if mark == 'report':
        compare(where, '\n'.join(inside) + '\n', run(before, 'report', '-').rstrip('\n') + '\n')
    if mark not in formats:
        continue
    before, after = ('\n'.join(part) + '\n' for part in divide(inside))
    if before == after:
        fail(f'{where}: shows nothing')
    compare(where, after, run(before, 'symbolize', *(['--records'] if mark == 'record' else ['--log', '-'])))
    seen.add(mark)
    # A run leaves what an earlier one has written; lines for frames that have names by now are added once.
    options = ['symbolize', *(['--records'] if mark == 'record' else ['--log', '-'])]
    if mark != 'record':
        compare(where + ' twice', after, run(after, *options))
    once = run(after, *options, files='lined')
    compare(where + ' twice, with lines', once, run(once, *options, files='lined'))
    lined += 'a.c' in once
    if mark != 'record':
        reports = json.loads(run(before, 'report', '--json', '-'))['reports']
        if mark not in [report['format'] for report in reports]:
            fail(f'{where}: is read as {[report["format"] for report in reports]}')
for name in sorted(set(formats) - seen):
    fail(f'{os.path.basename(document)}: has no example of the format {name}')
if lined < 5:
    fail(f'names of {lined} formats get lines')
print(f'{len(seen)} formats, {lined} with lines for given names')
sys.exit(1 if failures else 0)
