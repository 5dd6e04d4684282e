# SPDX-License-Identifier: MIT
"""One dylib inside a shared cache: moves its segments, rewrites what refers to them, and writes its load commands, its
tables for __LINKEDIT and its list of local symbols."""
import struct

from dylib import (CODE, LC_DATA_IN_CODE, LC_DYLD_INFO_ONLY, LC_DYSYMTAB, LC_FUNCTION_STARTS, LC_SEGMENT, LC_SEGMENT_64,
                   LC_SYMTAB, N_EXT, N_SECT, N_STAB, N_TYPE)
from slide import Pointer

LC_CODE_SIGNATURE, LC_SEGMENT_SPLIT_INFO, LC_ENCRYPTION_INFO, LC_ENCRYPTION_INFO_64 = 0x1d, 0x1e, 0x21, 0x2c
LC_DYLD_EXPORTS_TRIE = 0x80000033
REMOVED = (LC_CODE_SIGNATURE, LC_SEGMENT_SPLIT_INFO, LC_ENCRYPTION_INFO, LC_ENCRYPTION_INFO_64)
IN_CACHE = 0x80000000
RELATIVE, SELECTOR_BASE, TYPES_FROM_BASE = 0x80000000, 0x40000000, 0x20000000
REDACTED = b'<redacted>'


def to_uleb(value):
    out = bytearray()
    while True:
        byte = value & 0x7f
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def make_trie(exports):
    """Returns a trie with one edge for each byte that names share no further, for (name, flags, address)."""
    root = {}
    for name, flags, address in sorted(exports):
        node = root
        for byte in name:
            node = node.setdefault(byte, {})
        node[None] = to_uleb(flags) + to_uleb(address)
    nodes = []

    def collect(node):
        entry = [node.get(None, b''), []]
        nodes.append(entry)
        for byte, child in node.items():
            if byte is None:
                continue
            edge = bytes([byte])
            while len(child) == 1 and None not in child:
                (byte, child), = child.items()
                edge += bytes([byte])
            entry[1].append((edge, collect(child)))
        return entry

    collect(root)
    offsets = {id(entry): 0 for entry in nodes}
    while True:
        at, changed, out = 0, False, bytearray()
        for entry in nodes:
            changed |= offsets[id(entry)] != at
            offsets[id(entry)] = at
            body = to_uleb(len(entry[0])) + entry[0] + bytes([len(entry[1])])
            body += b''.join(edge + b'\0' + to_uleb(offsets[id(child)]) for edge, child in entry[1])
            out += body
            at += len(body)
        if not changed:
            return bytes(out)


class Image:
    def __init__(self, dylib, path=None):
        self.dylib, self.path = dylib, path or dylib.name
        self.text = dylib.segment('__TEXT')
        self.linkedit = dylib.segment('__LINKEDIT')
        self.data = [s for s in dylib.segments if s not in (self.text, self.linkedit)]
        self.data_begin = self.data[0].address if self.data else 0
        self.data_end = max((s.address + s.size for s in self.data), default=0)
        self.pointers, self.methods, self.text_delta, self.data_delta = {}, [], 0, 0
        # Set by the writer of the cache: file offsets of the segments, the tables' places, the address of LINKEDIT.
        self.offsets, self.tables, self.linkedit_place = {}, {}, None

    # ---- places
    def place(self, text_address, data_address):
        self.text_delta = text_address - self.text.address
        self.data_delta = data_address - self.data_begin

    @property
    def address(self):
        return self.move(self.text.address)

    def move(self, address):
        """Returns where this address of the dylib is in the cache."""
        if self.text.address <= address < self.text.address + self.text.size:
            return address + self.text_delta
        if self.data_begin <= address < self.data_end:
            return address + self.data_delta
        raise ValueError('%s: address %#x is in no segment' % (self.path, address))

    # ---- contents
    def move_code(self):
        """Rewrites the instructions that compute addresses of the data segments."""
        distance = self.data_delta - self.text_delta
        for section in self.text.sections:
            if section.kind & CODE and distance:
                if self.dylib.cpu & 0xff == 7:
                    self.move_code_x86_64(section, distance)
                else:
                    self.move_code_arm64(section, distance)

    def move_code_arm64(self, section, distance):
        """adrp has the page; the low 12 bits of an address stay the same."""
        for address in range(section.address, section.address + section.size - 3, 4):
            word = self.dylib.read(address, 'I')
            if word & 0x9f000000 != 0x90000000:
                continue
            pages = (word >> 5 & 0x7ffff) << 2 | word >> 29 & 3
            pages -= (pages & 1 << 20) << 1
            target = (address & ~0xfff) + (pages << 12)
            if self.data_begin <= target < self.data_end:
                pages += distance >> 12
                assert -(1 << 20) <= pages < 1 << 20
                self.dylib.write(address, 'I', word & 0x9f00001f | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5)

    def move_code_x86_64(self, section, distance):
        """Four bytes that lead to a data segment are an operand: no other four bytes of code this small do."""
        address, end = section.address, section.address + section.size - 3
        while address < end:
            target = address + 4 + self.dylib.read(address, 'i')
            if self.data_begin <= target < self.data_end:
                self.dylib.write(address, 'i', target + distance - address - 4)
                address += 3
            address += 1

    def find_pointers(self, resolve, signs):
        """Sets pointers: cache address of the slot to Pointer. `signs` tells whether pointers to code are signed."""
        code = [(s.address, s.address + s.size) for s in self.text.sections if s.kind & CODE]
        for slot in self.dylib.rebases:
            target = self.dylib.read_pointer(slot)
            signed = signs and any(begin <= target < end for begin, end in code)
            self.pointers[self.move(slot)] = Pointer(self.move(target), 0x1234 if signed else None)
        for slot, (name, addend) in self.dylib.binds.items():
            target = resolve(name)
            self.dylib.write(slot, 'Q' if self.dylib.is_64 else 'I', 0)
            if target is not None:
                self.pointers[self.move(slot)] = Pointer(target + addend)

    def convert_methods(self, kind, pool):
        """Writes the method lists in the form `kind` (keep, selrefs, base, types) and collects all methods."""
        for method_list in self.dylib.objc_method_lists():
            for method in method_list.methods:
                self.methods.append(('%s %s]' % (method_list.owner, method.name.decode()), self.move(method.implementation)))
            if kind == 'keep':
                self.adjust_selector_references(method_list)
            else:
                self.write_relative(method_list, kind, pool)
        references = self.dylib.section('__objc_selrefs')
        if references and kind != 'keep':
            for slot in range(references.address, references.address + references.size, self.dylib.pointer):
                self.pointers[self.move(slot)] = Pointer(pool.place(self.dylib.text_at(self.dylib.read_pointer(slot))))

    def adjust_selector_references(self, method_list):
        """A relative list in __TEXT refers to selector references in __DATA."""
        if self.dylib.read(method_list.address, 'I') & RELATIVE and self.dylib.segment_at(method_list.address) is self.text:
            for method in method_list.methods:
                self.dylib.write(method.entry, 'i',
                                 self.dylib.read(method.entry, 'i') + self.data_delta - self.text_delta)

    def write_relative(self, method_list, kind, pool):
        """Overwrites the list. Relative entries are not longer than others, so it fits."""
        for method in method_list.methods:
            for slot in range(method.entry, method.entry + 12, 4):
                self.pointers.pop(self.move(slot), None)
            for slot in range(method.entry, method.entry + 3 * self.dylib.pointer, 4):
                if not self.dylib.read(method_list.address, 'I') & RELATIVE:
                    self.pointers.pop(self.move(slot), None)
        flags = RELATIVE | SELECTOR_BASE | 12
        if kind == 'types':
            flags = RELATIVE | TYPES_FROM_BASE | 12
        self.dylib.write(method_list.address, 'I', flags)
        for n, method in enumerate(method_list.methods):
            entry = method_list.address + 8 + 12 * n
            place = self.move(entry)
            types = self.move(method.types) - place - 4
            if kind == 'types':
                types = pool.offset(self.dylib.text_at(method.types))
            self.dylib.write(entry, 'I', pool.offset(method.name))
            self.dylib.write(entry + 4, 'i', types)
            self.dylib.write(entry + 8, 'i', self.move(method.implementation) - place - 8)

    # ---- symbols
    def moved_symbols(self):
        for name, kind, section, description, value in self.dylib.symbols:
            if kind & N_TYPE == N_SECT and not kind & N_STAB:
                value = self.move(value)
            yield name, kind, section, description, value

    def cached_symbols(self, drop_locals):
        """Returns the symbols of the table in the cache, and where each index of the dylib's table went. Without locals
        those in the first section become `<redacted>`, and the others go."""
        symbols, new_index = [], {}
        for index, (name, kind, section, description, value) in enumerate(self.moved_symbols()):
            if drop_locals and not kind & N_EXT and kind & N_TYPE == N_SECT:
                if section != 1:
                    continue
                name = REDACTED
            new_index[index] = len(symbols)
            symbols.append((name, kind, section, description, value))
        return symbols, new_index

    def local_symbols(self):
        return [s for s in self.moved_symbols() if not s[1] & N_EXT and s[1] & N_TYPE == N_SECT]

    def pack_symbols(self, symbols, strings):
        layout = '<IBBHQ' if self.dylib.is_64 else '<IBBHI'
        return b''.join(struct.pack(layout, strings.offset(name), *rest) for name, *rest in symbols)

    def cached_exports(self):
        base = self.text.address
        return [(name, flags, self.move(base + address) - self.address if flags & 3 != 2 else address)
                for name, flags, address in self.dylib.exports]

    # ---- load commands
    def write_header(self, new_trie, linkedit):
        """Writes the Mach-O header and commands into __TEXT. linkedit: (address, size, file offset, file size)."""
        commands = []
        for command, body in self.dylib.commands:
            if command in REMOVED:
                continue
            body = bytearray(body)
            if command in (LC_SEGMENT, LC_SEGMENT_64):
                self.write_segment(body, linkedit)
            elif command == LC_SYMTAB:
                struct.pack_into('<4I', body, 8, *self.tables['symbols'], *self.tables['strings'])
            elif command == LC_DYSYMTAB:
                self.write_dysymtab(body)
            elif command == LC_DYLD_INFO_ONLY:
                if new_trie:
                    body = bytearray(struct.pack('<4I', LC_DYLD_EXPORTS_TRIE, 16, *self.tables['exports']))
                else:
                    struct.pack_into('<10I', body, 8, *[0] * 8, *self.tables['exports'])
            elif command == LC_FUNCTION_STARTS:
                struct.pack_into('<II', body, 8, *self.tables['starts'])
            elif command == LC_DATA_IN_CODE:
                struct.pack_into('<II', body, 8, self.tables['starts'][0], 0)
            commands.append(bytes(body))
        d = self.dylib
        magic = 0xfeedfacf if d.is_64 else 0xfeedface
        header = struct.pack('<7I', magic, d.cpu, d.subtype, d.kind, len(commands), sum(map(len, commands)),
                             d.flags | IN_CACHE) + (bytes(4) if d.is_64 else b'')
        old = len(header) + sum(len(body) for _, body in d.commands)
        self.text.content[:old] = (header + b''.join(commands)).ljust(old, b'\0')

    def write_segment(self, body, linkedit):
        wide = self.dylib.is_64
        name = bytes(body[8:24]).rstrip(b'\0').decode()
        if name == '__LINKEDIT':
            struct.pack_into('<4Q' if wide else '<4I', body, 24, *linkedit)
            return
        segment = self.dylib.segment(name)
        offset, address = self.offsets[name], self.move(segment.address)
        struct.pack_into('<4Q' if wide else '<4I', body, 24, address, segment.size, offset, segment.size)
        at = 72 if wide else 56
        for section in segment.sections:
            moved = self.move(section.address) if section.size else section.address - segment.address + address
            struct.pack_into('<Q' if wide else '<I', body, at + 32, moved)
            kind, file_offset = section.kind, offset + section.address - segment.address
            if kind & 0xff in (6, 7):
                # Pointers that the cache's builder has bound are ordinary data.
                kind &= ~0xff
            if kind & 0xff in (1, 12):
                file_offset = 0
            struct.pack_into('<I', body, at + (48 if wide else 40), file_offset)
            struct.pack_into('<I', body, at + (64 if wide else 56), kind)
            at += 80 if wide else 68

    def write_dysymtab(self, body):
        kinds = [0 if not kind & N_EXT else 1 if kind & N_TYPE else 2 for _, kind, *_ in self.tables['list']]
        counts = [kinds.count(n) for n in range(3)]
        assert kinds == sorted(kinds), 'the linker orders symbols'
        struct.pack_into('<6I', body, 8, 0, counts[0], counts[0], counts[1], counts[0] + counts[1], counts[2])
        struct.pack_into('<12I', body, 32, *[0] * 6, *self.tables['indirect'], *[0] * 4)
