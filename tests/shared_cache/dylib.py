# SPDX-License-Identifier: MIT
"""Reads the linked dylibs of which make_cache.py makes a shared cache: segments, symbols, exports, fixups and
Objective-C method lists. It reads what lld writes with -no_fixup_chains, and nothing else."""
import struct

LC_SEGMENT, LC_SYMTAB, LC_DYSYMTAB, LC_SEGMENT_64, LC_UUID = 0x1, 0x2, 0xb, 0x19, 0x1b
LC_ID_DYLIB, LC_FUNCTION_STARTS, LC_DATA_IN_CODE, LC_DYLD_INFO_ONLY = 0xd, 0x26, 0x29, 0x80000022
CODE = 0x80000400  # S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS
N_STAB, N_TYPE, N_EXT, N_SECT = 0xe0, 0x0e, 0x01, 0x0e


def uleb(data, at):
    """Returns the number at this place and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def sleb(data, at):
    value, end = uleb(data, at)
    bits = 7 * (end - at)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), end


def c_string(data, at):
    return bytes(data[at:data.index(b'\0', at)])


class Section:
    def __init__(self, name, address, size, kind, reserved1, reserved2):
        self.name, self.address, self.size, self.kind = name, address, size, kind
        self.reserved1, self.reserved2 = reserved1, reserved2


class Segment:
    def __init__(self, name, address, size, protection, content, sections):
        self.name, self.address, self.size, self.protection = name, address, size, protection
        self.content, self.sections = content, sections


class Method:
    """One entry of a method list: the addresses in the dylib of the entry and of what it names."""

    def __init__(self, entry, name, types, implementation):
        self.entry, self.name, self.types, self.implementation = entry, name, types, implementation


class MethodList:
    def __init__(self, address, owner, methods):
        self.address, self.owner, self.methods = address, owner, methods


class Dylib:
    def __init__(self, path):
        with open(path, 'rb') as file:
            self.data = file.read()
        magic, self.cpu, self.subtype, self.kind, count, _, self.flags = struct.unpack_from('<7I', self.data)
        self.is_64 = {0xfeedfacf: True, 0xfeedface: False}[magic]
        self.pointer = 8 if self.is_64 else 4
        self.segments, self.commands = [], []
        at = 32 if self.is_64 else 28
        for _ in range(count):
            command, size = struct.unpack_from('<II', self.data, at)
            self.commands.append((command, self.data[at:at + size]))
            at += size
        self.dyld_info = self.symtab = self.dysymtab = None
        self.function_starts = self.data_in_code = self.uuid = b''
        for command, body in self.commands:
            self.read_command(command, body)
        self.read_symbols()
        self.rebases, self.binds = set(), {}
        self.read_fixups()
        self.exports = []
        offset, size = self.dyld_info[8:10]
        if size:
            self.read_trie(self.data[offset:offset + size], 0, b'')

    def read_command(self, command, body):
        if command in (LC_SEGMENT, LC_SEGMENT_64):
            self.read_segment(body)
        elif command == LC_SYMTAB:
            self.symtab = struct.unpack_from('<4I', body, 8)
        elif command == LC_DYSYMTAB:
            self.dysymtab = struct.unpack_from('<18I', body, 8)
        elif command == LC_DYLD_INFO_ONLY:
            self.dyld_info = struct.unpack_from('<10I', body, 8)
        elif command == LC_UUID:
            self.uuid = body[8:24]
        elif command == LC_ID_DYLIB:
            self.name = c_string(body, struct.unpack_from('<I', body, 8)[0]).decode()
        elif command in (LC_FUNCTION_STARTS, LC_DATA_IN_CODE):
            offset, size = struct.unpack_from('<II', body, 8)
            table = self.data[offset:offset + size]
            if command == LC_FUNCTION_STARTS:
                self.function_starts = table
            else:
                self.data_in_code = table

    def read_segment(self, body):
        layout = '<16s4Q4I' if self.is_64 else '<16s8I'
        name, address, size, offset, file_size, maximum, initial, count, _ = struct.unpack_from(layout, body, 8)
        content = bytearray(self.data[offset:offset + file_size].ljust(size, b'\0'))
        sections, at = [], 8 + struct.calcsize(layout)
        layout = '<16s16s2Q8I' if self.is_64 else '<16s16s9I'
        for _ in range(count):
            fields = struct.unpack_from(layout, body, at)
            at += struct.calcsize(layout)
            kind, reserved1, reserved2 = fields[8:11]
            sections.append(Section(fields[0].rstrip(b'\0').decode(), fields[2], fields[3], kind, reserved1, reserved2))
        self.segments.append(Segment(name.rstrip(b'\0').decode(), address, size, (maximum, initial), content, sections))

    def segment(self, name):
        return next(s for s in self.segments if s.name == name)

    def section(self, name):
        return next((s for g in self.segments for s in g.sections if s.name == name), None)

    def all_sections(self):
        return [section for segment in self.segments for section in segment.sections]

    def segment_at(self, address):
        return next((s for s in self.segments if s.address <= address < s.address + s.size), None)

    def read(self, address, layout):
        segment = self.segment_at(address)
        return struct.unpack_from('<' + layout, segment.content, address - segment.address)[0]

    def write(self, address, layout, value):
        segment = self.segment_at(address)
        struct.pack_into('<' + layout, segment.content, address - segment.address, value)

    def read_pointer(self, address):
        return self.read(address, 'Q' if self.is_64 else 'I')

    def text_at(self, address):
        segment = self.segment_at(address)
        return c_string(segment.content, address - segment.address)

    def read_symbols(self):
        """Sets symbols to (name, type, section, description, value), and indirect to the table of indirect symbols."""
        offset, count, strings, _ = self.symtab
        layout = '<IBBHQ' if self.is_64 else '<IBBHI'
        self.symbols = []
        for n in range(count):
            name, kind, section, description, value = struct.unpack_from(layout, self.data, offset + n * struct.calcsize(layout))
            self.symbols.append((c_string(self.data, strings + name), kind, section, description, value))
        offset, count = self.dysymtab[12:14]
        self.indirect = list(struct.unpack_from('<%dI' % count, self.data, offset))

    def read_fixups(self):
        rebase, bind, lazy = self.dyld_info[0:2], self.dyld_info[2:4], self.dyld_info[6:8]
        self.read_rebases(self.data[rebase[0]:rebase[0] + rebase[1]])
        self.read_binds(self.data[bind[0]:bind[0] + bind[1]], False)
        self.read_binds(self.data[lazy[0]:lazy[0] + lazy[1]], True)
        # A lazy pointer is in both tables: it points to its helper until it is bound.
        self.rebases -= set(self.binds)

    def read_rebases(self, code):
        at = address = 0
        while at < len(code):
            operation, immediate = code[at] & 0xf0, code[at] & 0x0f
            at += 1
            times, skip = 0, 0
            if operation == 0x00:
                break
            if operation == 0x20:
                offset, at = uleb(code, at)
                address = self.segments[immediate].address + offset
            elif operation == 0x30:
                offset, at = uleb(code, at)
                address += offset
            elif operation == 0x40:
                address += immediate * self.pointer
            elif operation == 0x50:
                times = immediate
            elif operation == 0x60:
                times, at = uleb(code, at)
            elif operation == 0x70:
                times = 1
                skip, at = uleb(code, at)
            elif operation == 0x80:
                times, at = uleb(code, at)
                skip, at = uleb(code, at)
            elif operation != 0x10:
                raise ValueError('rebase operation %#x' % operation)
            for _ in range(times):
                self.rebases.add(address)
                address += self.pointer + skip

    def read_binds(self, code, lazy):
        at = address = addend = 0
        name = b''
        while at < len(code):
            operation, immediate = code[at] & 0xf0, code[at] & 0x0f
            at += 1
            times, skip = 0, 0
            if operation == 0x00:
                if not lazy:
                    break
            elif operation == 0x20:
                _, at = uleb(code, at)
            elif operation == 0x40:
                name = c_string(code, at)
                at += len(name) + 1
            elif operation == 0x60:
                addend, at = sleb(code, at)
            elif operation == 0x70:
                offset, at = uleb(code, at)
                address = self.segments[immediate].address + offset
            elif operation == 0x80:
                offset, at = uleb(code, at)
                address = (address + offset) & 0xffffffffffffffff
            elif operation == 0x90:
                times = 1
            elif operation == 0xa0:
                times = 1
                skip, at = uleb(code, at)
            elif operation == 0xb0:
                times, skip = 1, immediate * self.pointer
            elif operation == 0xc0:
                times, at = uleb(code, at)
                skip, at = uleb(code, at)
            elif operation not in (0x10, 0x30, 0x50):
                raise ValueError('bind operation %#x' % operation)
            for _ in range(times):
                self.binds[address] = (name, addend)
                address = (address + self.pointer + skip) & 0xffffffffffffffff

    def read_trie(self, trie, node, prefix):
        """Appends (name, flags, address) of each export."""
        size, at = uleb(trie, node)
        if size:
            flags, value = uleb(trie, at)
            if not flags & 0x08:
                self.exports.append((prefix, flags, uleb(trie, value)[0]))
        at += size
        children = trie[at]
        at += 1
        for _ in range(children):
            edge = c_string(trie, at)
            child, at = uleb(trie, at + len(edge) + 1)
            self.read_trie(trie, child, prefix + edge)

    def objc_method_lists(self):
        """Returns each method list of the classes and categories."""
        lists, seen, pointer = [], set(), self.pointer
        methods_at, name_at = (32, 24) if self.is_64 else (20, 16)

        def add(address, owner):
            if address and address not in seen:
                seen.add(address)
                lists.append(self.read_method_list(address, owner))

        def slots(name):
            section = self.section(name)
            return range(section.address, section.address + section.size, pointer) if section else ()

        for slot in slots('__objc_classlist'):
            for sign, where in (('-', self.read_pointer(slot)), ('+', self.read_pointer(self.read_pointer(slot)))):
                data = self.read_pointer(where + 4 * pointer) & -pointer
                name = self.text_at(self.read_pointer(data + name_at)).decode()
                add(self.read_pointer(data + methods_at), sign + '[' + name)
        for slot in slots('__objc_catlist'):
            category = self.read_pointer(slot)
            class_object = self.read_pointer(category + pointer)
            data = self.read_pointer(class_object + 4 * pointer) & -pointer
            name = '%s(%s)' % (self.text_at(self.read_pointer(data + name_at)).decode(),
                               self.text_at(self.read_pointer(category)).decode())
            add(self.read_pointer(category + 2 * pointer), '-[' + name)
            add(self.read_pointer(category + 3 * pointer), '+[' + name)
        return lists

    def read_method_list(self, address, owner):
        flags, count = self.read(address, 'I'), self.read(address + 4, 'I')
        methods = []
        for n in range(count):
            if flags & 0x80000000:
                entry = address + 8 + n * 12
                selector, types, code = (entry + 4 * k + self.read(entry + 4 * k, 'i') for k in range(3))
                methods.append(Method(entry, self.text_at(self.read_pointer(selector)), types, code))
            else:
                entry = address + 8 + n * 3 * self.pointer
                name, types, code = (self.read_pointer(entry + k * self.pointer) for k in range(3))
                methods.append(Method(entry, self.text_at(name), types, code))
        return MethodList(address, owner, methods)
