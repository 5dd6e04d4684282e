#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads an index file by doc/index-format.md alone, and prints the source frames at the beginning of each entry, as lines_dump does.
So a difference between that page and what the library writes and reads shows.

usage: index_format.py INDEX
"""
import bisect
import re
import struct
import sys


class Index:
    def __init__(self, content):
        self.b = content
        assert content[:8] == b'USPINDEX' and self.u32(8) == 2 and self.u64(16) == len(content)
        assert self.u32(12) == checksum(content[:12] + bytes(4) + content[16:256]), 'checksum of the header'
        names = ('map', 'directory', 'blocks', 'strings', 'symbols', 'checksums')
        self.sections = {name: (self.u64(96 + 16 * i), self.u64(104 + 16 * i)) for i, name in enumerate(names)}
        self.check_pages()
        self.strings = self.read_strings()
        self.symbols = self.read_symbols()
        self.read_map()
        at, size = self.sections['directory']
        ends = [self.u64(at + 8 * i) for i in range(size // 8)]
        assert len(ends) == self.block_count + 1 and ends[-1] == self.sections['blocks'][1]
        self.blocks = [Block(self, self.sections['blocks'][0] + ends[i], ends[i + 1] - ends[i]) for i in range(self.block_count)]

    def u32(self, at):
        return struct.unpack_from('<I', self.b, at)[0]

    def u64(self, at):
        return struct.unpack_from('<Q', self.b, at)[0]

    def number(self, at, width):
        return int.from_bytes(self.b[at:at + width], 'little')

    def varint(self, at):
        value = shift = 0
        while True:
            byte = self.b[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value, at

    def zigzag(self, at):
        value, at = self.varint(at)
        return (value // 2 if value % 2 == 0 else -((value + 1) // 2)), at

    def check_pages(self):
        covered, size = self.sections['checksums']
        assert covered + size == len(self.b) and self.u32(80) == checksum(self.b[covered:])
        for i in range((covered + 8191) // 8192):
            page = self.b[256 if i == 0 else 8192 * i:min(8192 * (i + 1), covered)]
            assert self.u32(covered + 4 * i) == checksum(page), f'checksum of page {i}'

    def read_strings(self):
        at, size = self.sections['strings']
        count, longest, width = self.u64(at), self.u32(at + 8), self.b[at + 12]
        groups = (count + 15) // 16
        first = at + 16 + width * groups
        strings, p = [b''], first
        for i in range(count):
            if i % 16 == 0:
                assert p == first + self.number(at + 16 + width * (i // 16), width)
            common, p = self.varint(p)
            more, p = self.varint(p)
            assert i % 16 != 0 or common == 0
            strings.append(strings[-1][:common] + self.b[p:p + more])
            p += more
        assert p + 8 == at + size and max(map(len, strings)) == longest
        assert all(a < b for a, b in zip(strings[1:], strings[2:])), 'strings are not sorted'
        return [text.decode() for text in strings]

    def read_symbols(self):
        at, _ = self.sections['symbols']
        count = self.u64(at)
        groups = (count + 63) // 64
        first = p = at + 8 + 16 * groups
        symbols, start = [], 0
        self.other_names = {}
        for i in range(count):
            if i % 64 == 0:
                start = self.u64(at + 8 + 16 * (i // 64))
                assert p == first + self.u64(at + 16 + 16 * (i // 64))
            distance, p = self.varint(p)
            size, p = self.varint(p)
            name, p = self.varint(p)
            start += distance
            if size % 8 != 0:
                symbols.append((start, size // 8, self.strings[name]))
            elif size // 8 == 1:
                self.other_names.setdefault(start, set()).add(self.strings[name])
        return symbols

    def read_map(self):
        at, size = self.sections['map']
        self.base, span = self.u64(at), self.u64(at + 8)
        entries, buckets, words = self.u32(at + 16), self.u32(at + 20), self.u32(at + 24)
        shift, start_width, value_width = self.b[at + 28:at + 31]
        self.block_count = self.u32(at + 32)
        p = at + 40
        firsts = [self.u32(p + 4 * i) for i in range(buckets + 1)]
        p += 4 * (buckets + 1)
        self.starts = [self.number(p + start_width * i, start_width) for i in range(entries)]
        p += start_width * entries
        self.values = [self.number(p + value_width * i, value_width) for i in range(entries)]
        p += value_width * entries
        self.sets = [self.u32(p + 4 * i) for i in range(words)]
        assert p + 4 * words + 8 == at + size and self.starts == sorted(self.starts) and self.starts[-1] == span
        assert firsts == [bisect.bisect_left(self.starts, i << shift) for i in range(buckets + 1)]

    def blocks_at(self, address):
        i = bisect.bisect_right(self.starts, address - self.base) - 1
        value = self.values[i] if i >= 0 else 0
        if value <= self.block_count:
            return [value - 1] if value > 0 else []
        at = value - 1 - self.block_count
        return self.sets[at + 1:at + 1 + self.sets[at]]

    def symbol_at(self, address, described):
        """The innermost symbol that holds an address, by its name in the block if the symbol tables have that."""
        def is_own(name):
            # Constructors of one class; the C library's own name.
            variant = [re.sub('([CD])[0-5]', r'\1', text) for text in (name, described)]
            bare = name.lstrip('_')
            return variant[0] == variant[1] or (described.startswith('__') and bare in described)

        i = bisect.bisect_right(self.symbols, address, key=lambda symbol: symbol[0])
        for start, size, name in reversed(self.symbols[max(i - 64, 0):i]):
            if address < start + size:
                is_other = described in self.other_names.get(start, ()) and not is_own(name)
                return described if is_other else name
        return None

    def frames_at(self, address):
        """(function, folder, file, line, column) of each source frame, innermost first."""
        found = []
        for number in self.blocks_at(address):
            block = self.blocks[number]
            entry = block.entry_at(address)
            if entry is not None and (entry.node != 0 or entry.file != 0):
                found.append((entry.node == 0, block.part_size(address), number, entry))
        if not found:
            name = self.symbol_at(address, '')
            return [(name, '-', '-', 0, 0)] if name else []
        _, _, number, entry = min(found, key=lambda candidate: candidate[:3])
        block = self.blocks[number]
        frames, node = [], entry.node
        file, line, column = entry.file, entry.line, entry.column
        while True:
            function, caller, call = block.node(node)
            name, declared_file, declared_line = block.function(function)
            if file == 0:
                file, line, column = declared_file, declared_line, 0
            if caller == 0:
                name = self.symbol_at(address, name or '') or name
            frames.append((name or '-', *block.path(file), line, column))
            if caller == 0:
                return frames
            node, (file, line, column) = caller, call


class Entry:
    def __init__(self, start, node, file, line, column):
        self.start, self.node, self.file, self.line, self.column = start, node, file, line, column


class Block:
    def __init__(self, index, at, size):
        self.index = index
        self.entries, self.starts, self.parts = [], [], []
        if size < 88:
            return
        unit, self.base = index.b[at + 4], index.u64(at + 8)
        self.shift = unit
        count, entry_bytes, nodes, sites = (index.u32(at + 16 + 4 * i) for i in range(4))
        functions, parts, files, folders, aliases, text, calls, tails, callees = (index.u32(at + 32 + 4 * i) for i in range(9))
        assert index.u32(at) == size and text == 0
        widths = dict(zip('text folder file function declared call_line column parent site node start size offset part callee'.split(),
                          index.b[at + 68:at + 83]))
        self.p = at + 88

        def table(count, *fields):
            bits = [1 if field == 'bit' else widths[field] for field in fields]
            length = (sum(bits) * count + 7) // 8
            value = index.number(self.p, length)
            self.p += length
            rows = []
            for _ in range(count):
                row = []
                for width in bits:
                    row.append(value & (1 << width) - 1)
                    value >>= width
                rows.append(row)
            return rows

        self.folders = table(folders, 'text')
        self.files = table(files, 'folder', 'text')
        self.functions = table(functions, 'text', 'file', 'declared')
        table(callees, 'text')
        self.sites = table(sites, 'function', 'file', 'call_line', 'column')
        self.nodes = table(nodes, 'parent', 'site')
        self.parts = table(parts, 'start', 'size', 'node', 'bit', 'bit')
        table(aliases, 'node', 'function')
        table(calls, 'start', 'callee')
        table(tails, 'part', 'start', 'callee')
        groups = table((count + 7) // 8, 'start', 'offset')
        begin = self.p
        assert begin + entry_bytes + 8 == at + size
        for i, (start, offset) in enumerate(groups):
            end = groups[i + 1][1] if i + 1 < len(groups) else entry_bytes
            assert self.read_group(start, begin + offset, min(8, count - 8 * i)) == begin + end
        self.starts = [entry.start for entry in self.entries]

    def read_group(self, start, p, count):
        index, node, last, by_node = self.index, 0, (0, 0, 0), {}
        for _ in range(count):
            flags = index.b[p]
            p += 1
            distance, is_same = flags & 31, True
            if distance == 31:
                distance, p = index.varint(p)
            start += distance
            if flags & 0x80:
                change, p = index.zigzag(p)
                node, is_same = node + change, change == 0
            if is_same or node == 0 and node not in by_node:
                file, line, column = last
            elif node in by_node:
                file, line, column = by_node[node]
            else:
                _, file, line = self.function(self.node(node)[0])
                column = 0
            if flags & 0x40:
                file, p = index.varint(p)
            if file != 0 or not flags & 0x40:
                change, p = index.zigzag(p)
                line += change
                if flags & 0x20:
                    column, p = index.varint(p)
            last = by_node[node] = (file, line, column)
            self.entries.append(Entry((start << self.shift) + self.base, node, file, line, column))
        return p

    def entry_at(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        return self.entries[i] if i >= 0 else None

    def part_size(self, address):
        for start, size, *_ in self.parts:
            low = self.base + (start << self.shift)
            if low <= address < low + (size << self.shift):
                return size << self.shift
        return 0

    def node(self, node):
        """Its function, its caller's node, and where it was called."""
        if node == 0:
            return 0, 0, None
        parent, site = self.nodes[node - 1]
        if parent == 0:
            return site, 0, None
        function, file, line, column = self.sites[site - 1]
        return function, node - parent, (file, line, column)

    def function(self, number):
        if number == 0:
            return '', 0, 0
        name, file, line = self.functions[number - 1]
        return self.index.strings[name], file, line

    def path(self, number):
        if number == 0:
            return '-', '-'
        folder, name = self.files[number - 1]
        text = self.index.strings[self.folders[folder - 1][0]] if folder != 0 else ''
        return text or '-', self.index.strings[name] or '-'


def checksum(content):
    h, mask = 0, (1 << 64) - 1
    padded = content + bytes(-len(content) % 8)
    for i in range(0, len(padded), 8):
        h = (h ^ int.from_bytes(padded[i:i + 8], 'little')) * 0x9e3779b97f4a7c15 & mask
        h = (h << 29 | h >> 35) & mask
    return (h ^ h >> 32 ^ len(content)) & 0xffffffff


def main():
    with open(sys.argv[1], 'rb') as file:
        index = Index(file.read())
    addresses = sorted({entry.start for block in index.blocks for entry in block.entries})
    for address in addresses:
        print(f'0x{address:x}')
        for frame in index.frames_at(address):
            print('\t'.join(map(str, frame)))
        print()


main()
