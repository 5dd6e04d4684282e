#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what other readers say of made caches with the dylibs in them: DyldExtractor with llvm-nm, and the Rust
crate `object`. This shows that the writer's caches are caches, not only what the library takes for one.

usage: readers.py FOLDER DYLDEX OBJECT_READER    FOLDER/ARCH has the dylibs"""
import os
import re
import struct
import subprocess
import sys

from harness import NAMES, Harness, check

# What each reader can read: see doc/system-symbols.md. DyldExtractor finds local symbols by sharedRegionStart (header of
# 0xf8 bytes) and leaves out
# local symbols that the image itself has, and knows no slide info 5, no pages with several chains and no 32 bits; `object` 0.30 knows no local symbols outside of the images, no
# entries of 56 bytes, and of 32-bit images none under their own magic.
DYLDEX = [
    ('arm64', '--header 0xf8 --slide 2'),
    ('arm64', '--header 0x140 --slide 2 --gap'),
    ('arm64', '--header 0x1c8 --slide 2 --layout whole --locals symbols --locals-order 2,0,1'),
    ('arm64', '--header 0x200 --slide 2 --layout apart --locals symbols'),
    ('arm64', '--header 0x228 --slide 2 --layout apart --linkedit-distance 0x140000000 --locals symbols'),
    ('arm64e', '--header 0x140 --slide 3'),
    ('arm64e', '--header 0x1c8 --slide 3 --layout whole --locals symbols'),
    ('x86_64', '--header 0x140 --slide 2'),
    ('x86_64', '--header 0x228 --slide 2 --layout apart --locals symbols'),
]
OBJECT = [
    ('arm64', '--header 0x140 --slide 2 --locals kept'),
    ('arm64', '--header 0x1c8 --slide 2 --layout whole --locals kept'),
    ('arm64', '--header 0x1c8 --slide 2 --layout whole --locals symbols'),
    ('arm64e', '--header 0x1c8 --slide 5 --layout whole --locals kept'),
    ('x86_64', '--header 0x1c8 --slide 2 --layout whole --locals kept'),
]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def symbols_of(path):
    rows = (line.split(' ', 2) for line in output('llvm-nm-19', '-n', path).splitlines() if line[0] != ' ')
    return {(int(address, 16), name) for address, _, name in rows}


def segments_of(data):
    at = 32
    for _ in range(struct.unpack_from('<I', data, 16)[0]):
        command, size = struct.unpack_from('<II', data, at)
        if command == 0x19:
            yield struct.unpack_from('<4Q', data, at + 24)
        at += size


def check_pointers(path, image):
    """Compares the pointers in the data of an extracted image, which DyldExtractor has freed of slide info."""
    with open(path, 'rb') as file:
        data = file.read()
    segments, compared = list(segments_of(data)), 0
    for slot, value in image['pointers']:
        for address, _, offset, size in segments:
            if address <= slot < address + size:
                found = struct.unpack_from('<Q', data, offset + slot - address)[0]
                check(found == value, image['path'], hex(slot), hex(found), hex(value))
                compared += 1
    check(compared == len(image['pointers']) > 5, image['path'], compared, 'pointers')


def check_dyldex(harness, dyldex):
    for arch, form in DYLDEX:
        made, compared = harness.make(arch, form), 0
        for name in NAMES:
            image, path = made.images[name], os.path.join(harness.work, 'extracted')
            output(dyldex, '-v', '0', '-e', image['path'], '-o', path, made.path)
            expected = {(address, symbol) for symbol, address, *_ in image['symbols']}
            found = {f for f in symbols_of(path) if f[1] != '<redacted>'}
            check(found == expected, arch, form, name, sorted(found ^ expected))
            compared += len(found)
            # It has written the tables of stubs and of Objective-C anew in the other images.
            if name == NAMES[0]:
                check_pointers(path, image)
        print('DyldExtractor agrees: %s %s: %d symbols' % (arch, form, compared))


def check_object(harness, reader):
    for arch, form in OBJECT:
        made = harness.make(arch, form)
        files = [made.file(f['suffix']) for f in made.truth['files']]
        if '--locals symbols' in form:
            files.append(made.file('.symbols'))
        images, found = {}, None
        for line in output(reader, *files).splitlines():
            match = re.fullmatch(r'I (\S+) (\w+)', line)
            if match:
                found = images.setdefault(match[1], (match[2], set()))
            else:
                _, address, name = line.split(' ', 2)
                if name != '<redacted>':
                    found[1].add((int(address, 16), name))
        expected = {i['path']: (i['uuid'].replace('-', ''),
                                {(address, symbol) for symbol, address, kind, _ in i['symbols']
                                 if kind == 'export' or '--locals kept' in form}) for i in made.truth['images']}
        check(images == expected, arch, form, images, expected)
        print('object agrees: %s %s: %d images' % (arch, form, len(images)))


if __name__ == '__main__':
    work = Harness(None, sys.argv[1])
    check_dyldex(work, sys.argv[2])
    check_object(work, sys.argv[3])
