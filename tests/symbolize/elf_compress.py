# SPDX-License-Identifier: MIT
"""Compresses .symtab and .strtab of a little-endian ELF64 file, which no tool does without harm: elf_compress.py WAY IN OUT"""
import struct
import subprocess
import sys
import zlib

SHT_SYMTAB, SHT_STRTAB, SHF_COMPRESSED = 2, 3, 0x800


def pack(way, data):
    if way == 'zlib':
        return struct.pack('<IIQQ', 1, 0, len(data), 8) + zlib.compress(data)
    packed = subprocess.run(['zstd', '-q', '-c'], input=data, capture_output=True, check=True).stdout
    return struct.pack('<IIQQ', 2, 0, len(data), 8) + packed


def main():
    way, source, target = sys.argv[1:]
    data = bytearray(open(source, 'rb').read())
    table, = struct.unpack_from('<Q', data, 40)
    size, count = struct.unpack_from('<HH', data, 58)
    headers = [table + i * size for i in range(count)]
    symtab = next(h for h in headers if struct.unpack_from('<I', data, h + 4)[0] == SHT_SYMTAB)
    strtab = headers[struct.unpack_from('<I', data, symtab + 40)[0]]
    for header in (symtab, strtab):
        flags, = struct.unpack_from('<Q', data, header + 8)
        offset, length = struct.unpack_from('<QQ', data, header + 24)
        packed = pack(way, bytes(data[offset:offset + length]))
        data[offset:offset + length] = bytes(length)
        struct.pack_into('<Q', data, header + 8, flags | SHF_COMPRESSED)
        struct.pack_into('<QQ', data, header + 24, len(data), len(packed))
        data += packed
    open(target, 'wb').write(data)


main()
