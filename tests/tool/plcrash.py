#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes reports of PLCrashReporter, by the fields of PLCrashReport.proto: a whole one, a part of it, damaged ones, one
of a later version, one of many frames.

plcrash.py FOLDER"""
import random
import sys

work = sys.argv[1]


def varint(value):
    out = b''
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields):
    return b''.join(field(number, value) for number, value in fields)


cpu = message((1, 1), (2, 0x100000c), (3, 2))
frame = lambda pc, *symbol: message((3, pc), *([(6, message((1, symbol[0]), (2, symbol[1])))] if symbol else []))
image = lambda base, path, uuid: message((1, base), (2, 0x10000), (3, path), (4, bytes.fromhex(uuid)), (5, cpu))
report = message(
    (1, message((1, 1), (2, '17.5.1'), (3, 6), (4, 1767323045), (5, '21F90'))),
    (2, message((1, 'com.example.App'), (2, '7'), (3, '1.0'))),
    (3, message((1, 0), (2, frame(0x100000100)), (2, frame(0x100000204, 'main\n', 0x100000200)), (3, 0))),
    (3, message((1, 1), (2, frame(0x190000010)), (2, frame(0x8)), (3, 1), (4, message((1, 'x0'), (2, 8))), (4, message((1, 'pc'), (2, 0x190000010))))),
    (4, image(0x190000000, '/usr/lib/libz.dylib', '1123abcd456789abcdef0123456789ab')),
    (4, image(0x100000000, '/private/App.app/App', '0123abcd456789abcdef0123456789ab')),
    (5, message((1, 'NSRangeException'), (2, 'index 5 beyond bounds'), (3, frame(0x100000300)))),
    (6, message((1, 'SIGSEGV'), (2, 'SEGV_ACCERR'), (3, 8), (4, message((1, 1), (2, 2))))),
    (7, message((1, 'App'), (2, 4711), (3, '/private/App.app/App'), (4, 'launchd'), (5, 1), (6, 1))),
    (8, message((1, 'iPhone14,2'), (2, cpu), (3, 6), (4, 6))), (9, message((1, 0), (2, bytes(range(1, 17))))), (10, 'custom'))
whole = b'plcrash\1' + report
open(work + '/whole.plcrash', 'wb').write(whole)
open(work + '/cut.plcrash', 'wb').write(whole[:whole.index(b'SIGSEGV')])
open(work + '/next.plcrash', 'wb').write(b'plcrash\2' + report)
random.seed(5)
for i in range(12):
    damaged = bytearray(whole)
    for _ in range(3):
        damaged[random.randrange(8, len(damaged))] = random.randrange(256)
    open(f'{work}/damaged-{i}.plcrash', 'wb').write(damaged[:random.randrange(9, len(damaged))])
# Four bytes become a frame; their number is limited.
frames = field(2, frame(5)) * 2000000
open(work + '/many.plcrash', 'wb').write(b'plcrash\1' + field(3, message((1, 0)) + frames))
