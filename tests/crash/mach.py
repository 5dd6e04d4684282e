# SPDX-License-Identifier: MIT
"""Writes the raw capture OLD as NEW, as the crash kit of an Apple system writes it after a Mach exception.

The crash's record gets the fields that only such reports have (doc/raw-format.md): mach.py OLD NEW CODE.
"""
import struct
import sys
import zlib

PROCESS, CRASH = 1, 10
BAD_ACCESS, DARWIN = 1, 2

old, new, code = sys.argv[1:]
with open(old, 'rb') as file:
    data = file.read()
out, at = data[:16], 16
while at < len(data):
    kind, size = struct.unpack_from('<II', data, at)
    payload = data[at + 8:at + 8 + size]
    if kind == PROCESS:
        payload = payload[:4] + struct.pack('<I', DARWIN) + payload[8:]
    elif kind == CRASH:
        address, = struct.unpack_from('<Q', payload, 16)
        payload += struct.pack('<IIQQ', BAD_ACCESS, 0, int(code, 0), address)
    record = struct.pack('<II', kind, len(payload)) + payload
    out += record + struct.pack('<I', zlib.crc32(record))
    at += 12 + size
with open(new, 'wb') as file:
    file.write(out)
