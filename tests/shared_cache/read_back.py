# SPDX-License-Identifier: MIT
"""Reads a made cache back by dyld's published structures, to test the writer. It has its own numbers: it shares nothing
with the writer, and it opens the files that the header names."""
import os
import struct


class File:
    def __init__(self, path):
        with open(path, 'rb') as file:
            self.data = file.read()
        self.path = path
        self.header = self.u32(0x10)
        self.mappings = [struct.unpack_from('<3Q2I', self.data, self.header + 32 * n) for n in range(self.u32(0x14))]
        self.uuid = self.data[0x58:0x68]

    def u32(self, at):
        return struct.unpack_from('<I', self.data, at)[0]

    def u64(self, at):
        return struct.unpack_from('<Q', self.data, at)[0]

    def text(self, at):
        return self.data[at:self.data.index(b'\0', at)].decode()


class ReadBack:
    def __init__(self, path):
        self.main = main = File(path)
        self.base, self.is_64 = main.mappings[0][0], '64_32' not in main.text(0)
        self.files, self.symbols_file = [main], None
        stem = path[:-12] if path.endswith('.development') else path
        if main.header >= 0x190:
            size = 56 if main.header > 0x1c8 else 24
            for n in range(main.u32(0x18c)):
                at = main.u32(0x188) + size * n
                suffix = main.text(at + 24) if size == 56 else '.%d' % (n + 1)
                file = File(stem + suffix)
                assert file.uuid == main.data[at:at + 16], suffix
                assert file.mappings[0][0] == self.base + main.u64(at + 16), suffix
                self.files.append(file)
            if main.header >= 0x1a0 and main.data[0x190:0x1a0] != bytes(16):
                self.symbols_file = File(stem + '.symbols')
                assert self.symbols_file.uuid == main.data[0x190:0x1a0]
        for file in self.files:
            self.check_mappings(file)
        old = main.header < 0x1c8
        at, count = (main.u32(0x18), main.u32(0x1c)) if old else (main.u32(0x1c0), main.u32(0x1c4))
        self.images = [(main.text(main.u32(at + 32 * n + 24)), main.u64(at + 32 * n)) for n in range(count)]

    def check_mappings(self, file):
        """What the kernel wants of a file: mappings that ascend, without a hole in the file, to the signature."""
        offset, last = 0, 0
        assert len(file.mappings) <= 8, file.path
        for address, size, file_offset, _, _ in file.mappings:
            assert address % 0x4000 == 0 and size % 0x4000 == 0 and file_offset == offset and address >= last, file.path
            offset, last = offset + size, address + size
        if file.header >= 0x68:
            assert file.u64(0x28) + file.u64(0x30) == len(file.data), file.path

    def read(self, address, size):
        for file in self.files:
            for begin, length, offset, _, _ in file.mappings:
                if begin <= address and address + size <= begin + length:
                    return file.data[offset + address - begin:offset + address - begin + size]
        raise ValueError('%#x is in no mapping' % address)

    def uuids(self):
        """Returns the uuid of each address by the list of texts."""
        main = self.main
        return {main.u64(at + 16): main.data[at:at + 16]
                for at in range(main.u64(0x88), main.u64(0x88) + 32 * main.u64(0x90), 32)}

    # ---- images
    def commands(self, address):
        header = self.read(address, 32)
        count, size = struct.unpack_from('<2I', header, 16)
        at, body = 0, self.read(address + (32 if self.is_64 else 28), size)
        for _ in range(count):
            command, length = struct.unpack_from('<2I', body, at)
            yield command, at, body[at:at + length]
            at += length

    def segments(self, address):
        for command, _, body in self.commands(address):
            if command == 0x19:
                yield (body[8:24].rstrip(b'\0').decode(), *struct.unpack_from('<4Q', body, 24))
            elif command == 1:
                yield (body[8:24].rstrip(b'\0').decode(), *struct.unpack_from('<4I', body, 24))

    def extract(self, address):
        """Returns the image as a Mach-O file of its own: segments one after the other, one flag cleared."""
        out, moved = bytearray(), {}
        for name, begin, size, offset, _ in self.segments(address):
            moved[name] = len(out)
            if name == '__LINKEDIT':
                shift = len(out) - offset
            out += self.read(begin, size)
        at = 32 if self.is_64 else 28
        struct.pack_into('<I', out, 24, struct.unpack_from('<I', out, 24)[0] & 0x7fffffff)
        for command, place, body in self.commands(address):
            here = at + place
            if command in (0x19, 1):
                name = body[8:24].rstrip(b'\0').decode()
                struct.pack_into('<Q' if self.is_64 else '<I', out, here + (40 if self.is_64 else 32), moved[name])
                self.move_sections(out, here, moved[name])
            elif command == 2:
                self.shift(out, here, shift, 8, 16)
            elif command == 0xb:
                self.shift(out, here, shift, 56)
            elif command in (0x26, 0x29, 0x80000033):
                self.shift(out, here, shift, 8)
            elif command == 0x80000022:
                self.shift(out, here, shift, 40)
        return bytes(out)

    def move_sections(self, out, here, offset):
        """Sections of an image in a cache have offsets of another file."""
        wide = self.is_64
        count = struct.unpack_from('<I', out, here + (64 if wide else 48))[0]
        begin = struct.unpack_from('<Q' if wide else '<I', out, here + 24)[0]
        for n in range(count):
            at = here + (72 + 80 * n if wide else 56 + 68 * n)
            address = struct.unpack_from('<Q' if wide else '<I', out, at + 32)[0]
            kind = struct.unpack_from('<I', out, at + (64 if wide else 56))[0] & 0xff
            if kind not in (1, 12):
                struct.pack_into('<I', out, at + (48 if wide else 40), offset + address - begin)

    @staticmethod
    def shift(out, here, shift, *places):
        for place in places:
            value = struct.unpack_from('<I', out, here + place)[0]
            if value:
                struct.pack_into('<I', out, here + place, value + shift)

    # ---- local symbols
    def local_symbols(self, address, file_offset):
        """Returns {(name, value)} of the image, found by its place and not by its index."""
        file = self.symbols_file or self.main
        info, layout = file.u64(0x48), '<IBBHQ' if self.is_64 else '<IBBHI'
        if not info:
            return None
        nlists, _, strings, _, entries, count = struct.unpack_from('<6I', file.data, info)
        wide = self.main.header >= 0x190
        for n in range(count):
            place, first, number = struct.unpack_from('<QII' if wide else '<3I', file.data, info + entries + n * (16 if wide else 12))
            if place == (address - self.base if wide else file_offset):
                size = struct.calcsize(layout)
                found = (struct.unpack_from(layout, file.data, info + nlists + size * k) for k in range(first, first + number))
                return {(file.text(info + strings + f[0]), f[4]) for f in found}
        return None

    # ---- pointers
    def pointers(self):
        """Returns {address of the slot: value} of all files by their slide info."""
        out = {}
        for file in self.files:
            if file.header >= 0x140:
                at, count = file.u32(0x138), file.u32(0x13c)
                for n in range(count):
                    address, size, offset, info, length = struct.unpack_from('<5Q', file.data, at + 56 * n)
                    if length:
                        self.decode(out, file, address, size, offset, info)
            elif file.u64(0x38):
                address, size, offset, _, _ = file.mappings[1]
                self.decode(out, file, address, size, offset, file.u64(0x38))
        return out

    def decode(self, out, file, address, size, offset, info):
        version = file.u32(info)
        if version == 1:
            toc, count, entries, _, width = struct.unpack_from('<5I', file.data, info + 4)
            for page in range(count):
                bits = info + entries + 128 * struct.unpack_from('<H', file.data, info + toc + 2 * page)[0]
                for word in range(1024):
                    if file.data[bits + word // 8] >> word % 8 & 1:
                        at = page * 0x1000 + word * 4
                        out[address + at] = file.u64(offset + at) if self.is_64 else file.u32(offset + at)
            return
        page_size = file.u32(info + 4)
        if version in (3, 5):
            count, add = file.u32(info + 8), file.u64(info + 16)
            for page in range(count):
                start = struct.unpack_from('<H', file.data, info + 24 + 2 * page)[0]
                at = page * page_size + start
                while start != 0xffff:
                    x = file.u64(offset + at)
                    delta = (x >> 51 if version == 3 else x >> 52) & 0x7ff
                    if version == 3:
                        value = (x & 0xffffffff) + add if x >> 63 else (x & 0x7f80000000000) << 13 | x & 0x7ffffffffff
                    else:
                        value = (x & 0x3ffffffff) + add | (0 if x >> 63 else (x >> 34 & 0xff) << 56)
                    out[address + at] = value
                    if not delta:
                        break
                    at += 8 * delta
            return
        starts, count, extras, _ = struct.unpack_from('<4I', file.data, info + 8)
        mask, add = struct.unpack_from('<2Q', file.data, info + 24)
        for page in range(count):
            start = struct.unpack_from('<H', file.data, info + starts + 2 * page)[0]
            if start == 0xffff or version == 2 and start & 0x4000:
                continue
            chains = [start]
            if start & 0x8000:
                at, chains = info + extras + 2 * (start & 0x3fff), []
                while True:
                    extra = struct.unpack_from('<H', file.data, at)[0]
                    chains.append(extra & 0x3fff)
                    if extra & 0x8000:
                        break
                    at += 2
            for chain in chains:
                self.follow(out, file, address, offset, page * page_size + chain * 4, version, mask, add)

    def follow(self, out, file, address, offset, at, version, mask, add):
        shift = (mask & -mask).bit_length() - 1 - 2
        while True:
            x = file.u64(offset + at) if self.is_64 else file.u32(offset + at)
            delta, value = (x & mask) >> shift, x & ~mask
            number = value & 0xffff8000 == 0 or value & 0x3fff8000 == 0x3fff8000 if version == 4 else not value
            if not number:
                out[address + at] = value + add
            if not delta:
                return
            at += delta
