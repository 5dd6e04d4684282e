#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a small valid dyld shared cache from linked dylibs, and a list of what is in it.

usage: make_cache.py --out FILE --arch ARCH [OPTION]... DYLIB...

It shares no code with the library. What it says of the cache (--truth FILE, JSON) comes from the dylibs, not from the
cache: each image's path, uuid, address, symbols and methods; stubs with their targets; pointers with their values."""
import argparse
import json
import os
import struct
import uuid as uuids

import slide
from cache import (FLAG_AUTH, FLAG_READ_ONLY, FLAG_STUBS, PAGE, READ, RUN, WRITE, CacheFile, Mapping, Selectors, Strings,
                   align, header_fields, local_symbols, mapping_tables, sub_cache_entry)
from dylib import N_EXT, N_SECT, N_STAB, N_TYPE, Dylib
from image import Image, make_trie

BASES = {'arm64': 0x180000000, 'arm64e': 0x180000000, 'arm64_32': 0x1a000000, 'x86_64': 0x7ff800000000}
SLIDES = {'arm64': 2, 'arm64e': 5, 'arm64_32': 1, 'x86_64': 2}
PLATFORMS = {'arm64': 2, 'arm64e': 2, 'arm64_32': 4, 'x86_64': 1}


def number(text):
    return int(text, 0)


def parse_arguments(arguments=None):
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('--out', required=True, help='the main file; the others are beside it')
    p.add_argument('--truth', help='write what is in the cache to this file')
    p.add_argument('--arch', required=True, choices=sorted(BASES))
    p.add_argument('--header', type=number, default=0x1c8, help='size of the header')
    p.add_argument('--layout', choices=('one', 'whole', 'apart'), default='one',
                   help='one file; each image whole in a sub-cache; text, data and __LINKEDIT in different sub-caches')
    p.add_argument('--slide', type=number, choices=range(6), help='version of slide info; 0: none, as for simulators')
    p.add_argument('--several-chains', action='store_true', help='slide info 2 with several chains on a page')
    p.add_argument('--locals', choices=('kept', 'main', 'symbols', 'none'), default='main', help='where local symbols are')
    p.add_argument('--locals-order', help='entries of local symbols in this order: numbers of images, with commas')
    p.add_argument('--methods', choices=('keep', 'base', 'types'), default='base',
                   help='method lists as linked, with names from the selector base, or with types from it as well')
    p.add_argument('--selector-base', choices=('header', 'libobjc', 'none'), help='where the selector base is')
    p.add_argument('--stubs', action='store_true', help='a sub-cache of stubs')
    p.add_argument('--islands', action='store_true', help='a pool of branch islands')
    p.add_argument('--spare', type=number, default=0, help='number of sub-caches without an image')
    p.add_argument('--sparse', type=number, default=0, help='a sub-cache of this size, of which the file has no blocks')
    p.add_argument('--gap', action='store_true', help='other data between segments')
    p.add_argument('--linkedit-distance', type=number, default=0, help='bytes of address space before __LINKEDIT')
    p.add_argument('--linkedit-excess', type=number, default=0, help='by how much __LINKEDIT is longer than its mapping')
    p.add_argument('--alias', action='append', default=[], metavar='PATH=NUMBER', help='a second path of an image')
    p.add_argument('--magic', help='instead of the magic of the architecture')
    p.add_argument('--cpu', help='CPUTYPE,SUBTYPE of a header with them')
    p.add_argument('--cache-type', type=number, help='the field cacheType')
    p.add_argument('--dyld-header', type=number, default=0, help='the field at 0x78')
    p.add_argument('--seed', default='cache', help='other seeds give other uuids')
    p.add_argument('--base', type=number, help='the first address')
    p.add_argument('dylib', nargs='+')
    options = p.parse_args(arguments)
    if options.slide is None:
        options.slide = SLIDES[options.arch]
    if options.base is None:
        options.base = BASES[options.arch]
    if options.selector_base is None:
        options.selector_base = 'header' if options.header >= 0x1e0 else 'libobjc'
    if options.layout != 'one' and options.header < 0x1c8:
        p.error('sub-caches need a header of at least 0x1c8 bytes')
    return options


class Cache:
    def __init__(self, options):
        self.options = options
        self.images = [Image(Dylib(path)) for path in options.dylib]
        if options.arch == 'arm64e':
            for image in self.images:
                image.dylib.subtype = 0x80000002
        self.selectors, self.files, self.stubs = Selectors(), [], []
        # The mapping of each image's text and data, and the mapping with its __LINKEDIT.
        self.text_in, self.data_in, self.linkedit_in = {}, {}, {}
        self.pool_in = self.stubs_in = None
        self.main = self.new_file('')

    # ---- files and mappings
    def new_file(self, suffix):
        file = CacheFile(suffix, self.options.seed)
        self.files.append(file)
        return file

    def sub_suffix(self, kind=''):
        number = len(self.files)
        return '.%02d%s' % (number, kind) if self.options.header > 0x1c8 else '.%d' % number

    def lay_out(self):
        """Creates the files with their mappings, empty, and says where each part goes."""
        header_room = align(self.header_room())
        text = self.main.add(Mapping(READ | RUN))
        text.append(bytes(header_room))
        self.pool_in = text
        {'one': self.lay_out_one, 'whole': self.lay_out_whole, 'apart': self.lay_out_apart}[self.options.layout](text)
        for _ in range(self.options.spare):
            file = self.new_file(self.sub_suffix())
            file.add(Mapping(READ)).append(bytes(PAGE) + b'spare')
        if self.options.sparse:
            mapping = self.new_file(self.sub_suffix()).add(Mapping(READ))
            mapping.append(bytes(PAGE))
            mapping.hole = self.options.sparse

    def data_flags(self):
        return FLAG_AUTH if self.options.arch == 'arm64e' else 0

    def lay_out_one(self, text):
        data = self.main.add(Mapping(READ | WRITE, self.data_flags(), True))
        linkedit = self.main.add(Mapping(READ))
        for image in self.images:
            self.text_in[image], self.data_in[image], self.linkedit_in[image] = text, data, linkedit
        if self.options.stubs:
            self.stubs_in = text

    def lay_out_whole(self, text):
        """The first image is in the main file."""
        for n, image in enumerate(self.images):
            if n:
                file = self.new_file(self.sub_suffix())
                text = file.add(Mapping(READ | RUN))
                text.append(bytes(PAGE))
            else:
                file = self.main
            self.text_in[image] = text
            self.data_in[image] = file.add(Mapping(READ | WRITE, self.data_flags(), True))
            self.linkedit_in[image] = file.add(Mapping(READ))
        if self.options.stubs:
            self.stubs_in = self.text_in[self.images[0]]

    def lay_out_apart(self, text):
        file = self.new_file(self.sub_suffix())
        more_text = file.add(Mapping(READ | RUN))
        more_text.append(bytes(PAGE))
        if self.options.stubs:
            file = self.new_file(self.sub_suffix())
            self.stubs_in = file.add(Mapping(READ | RUN, FLAG_STUBS))
            self.stubs_in.append(bytes(PAGE))
        file = self.new_file(self.sub_suffix('.dylddata'))
        # The header is in the first mapping, so a page of read-only data is before the data.
        file.add(Mapping(READ)).append(bytes(PAGE))
        data = file.add(Mapping(READ | WRITE, self.data_flags(), True))
        file.add(Mapping(READ))
        if self.options.header >= 0x228:
            file = self.new_file(self.sub_suffix('.dyldreadonly'))
            self.pool_in = file.add(Mapping(READ, FLAG_READ_ONLY))
            self.pool_in.append(bytes(PAGE))
        file = self.new_file(self.sub_suffix('.dyldlinkedit'))
        linkedit = file.add(Mapping(READ))
        linkedit.append(bytes(PAGE))
        for n, image in enumerate(self.images):
            self.text_in[image], self.data_in[image], self.linkedit_in[image] = more_text if n else text, data, linkedit

    def file_of(self, mapping):
        return next(file for file in self.files if mapping in file.mappings)

    # ---- the header's tables
    def tables(self):
        """Returns the bytes behind the main file's header, and the header's fields that say where they are."""
        o, fields, out = self.options, {}, bytearray()

        def add(table, count, offset, number):
            out.extend(bytes(-len(out) % 8))
            fields[offset], fields[number] = o.header + len(out), count
            out.extend(table)

        plain, with_slide = mapping_tables(self.main)
        add(plain, len(self.main.mappings), 'mappingOffset', 'mappingCount')
        if o.header >= 0x140:
            add(with_slide, len(self.main.mappings), 'mappingWithSlideOffset', 'mappingWithSlideCount')
        if o.header >= 0x1c8:
            subs = self.files[1:]
            add(b''.join(sub_cache_entry(o.header, f.uuid, f.mappings[0].address - o.base, f.suffix) for f in subs),
                len(subs), 'subCacheArrayOffset', 'subCacheArrayCount')
        if self.islands_at:
            add(struct.pack('<Q', self.islands_at), 1, 'branchPoolsOffset', 'branchPoolsCount')
        self.add_images(out, fields, add)
        return bytes(out), fields

    def add_images(self, out, fields, add):
        o = self.options
        aliases = [(path, self.images[int(n)]) for path, n in (alias.rsplit('=', 1) for alias in o.alias)]
        rows = [(image.path, image) for image in self.images] + aliases
        lists = 32 * (len(rows) + len(self.images)) + 16
        at, paths, places = align(o.header + len(out) + lists, 8), bytearray(), []
        for path, _ in rows:
            places.append(at + len(paths))
            paths += path.encode() + b'\0'
        infos = b''.join(struct.pack('<3Q2I', image.address, 0x5f000000, 0x1000, place, 0)
                         for (_, image), place in zip(rows, places))
        old = o.header < 0x1c8
        add(infos, len(rows), 'imagesOffsetOld' if old else 'imagesOffset', 'imagesCountOld' if old else 'imagesCount')
        if o.header >= 0x98:
            texts = b''.join(struct.pack('<16sQII', image.dylib.uuid, image.address, image.text.size, place)
                             for image, place in zip(self.images, places))
            add(texts, len(self.images), 'imagesTextOffset', 'imagesTextCount')
        out.extend(bytes(at - o.header - len(out)) + paths)

    def header_room(self):
        o = self.options
        paths = sum(len(image.path) + 1 for image in self.images) + sum(map(len, o.alias))
        return o.header + 8 * 88 + (150 + o.spare) * 56 + 64 * (len(self.images) + len(o.alias)) + paths

    # ---- contents
    def fill_gap(self, mapping):
        if self.options.gap:
            mapping.append(b'foreign data, which no image may read ' * 100)

    def place_images(self):
        """Appends each segment to its mapping; contents are copied later. Then all addresses are known."""
        self.places = {}
        for image in self.images:
            text, data = self.text_in[image], self.data_in[image]
            at_text = text.append(bytes(image.text.size), PAGE)
            self.fill_gap(text)
            at_data = data.append(bytes(image.data_end - image.data_begin), PAGE)
            self.fill_gap(data)
            self.places[image] = (at_text, at_data)
        if self.stubs_in:
            self.stubs_at = self.stubs_in.append(bytes(PAGE), PAGE)
        self.islands_at = 0
        if self.options.islands:
            self.islands_place = self.text_in[self.images[0]].append(bytes(PAGE), PAGE)
        # The pool is filled while addresses are used, so it has more room than it needs.
        self.pool_room = 0x2000
        self.pool_at = self.pool_in.append(bytes(self.pool_room), 16)

    def place_addresses(self):
        o, at, linkedits = self.options, self.options.base, set(self.linkedit_in.values())
        for file in self.files:
            for mapping in file.mappings:
                if not mapping.data:
                    # __LINKEDIT and slide info: their sizes are known after this.
                    mapping.data += bytes(1)
        self.build_linkedit_sizes()
        for file in self.files:
            for mapping in file.mappings:
                if mapping in linkedits:
                    at += o.linkedit_distance
                mapping.address = at
                at += mapping.size
            file.place_offsets()
        self.end = at
        for image in self.images:
            at_text, at_data = self.places[image]
            image.place(self.text_in[image].address + at_text, self.data_in[image].address + at_data)
        self.selectors.address = self.pool_in.address + self.pool_at + 0x100
        if o.islands:
            self.islands_at = self.text_in[self.images[0]].address + self.islands_place

    def build_linkedit_sizes(self):
        """Gives each read-only mapping room for slide info and for the tables of its images."""
        for file in self.files:
            mapping = file.mappings[-1]
            images = [image for image in self.images if self.linkedit_in[image] is mapping]
            room = file.slide_bytes()
            for image in images:
                d = image.dylib
                names = sum(len(s[0]) + 1 for s in d.symbols)
                room += 64 + len(d.symbols) * 16 + names + len(d.indirect) * 4 + len(d.function_starts)
                room += sum(len(name) + 40 for name, *_ in d.exports) * 2
            if room:
                mapping.data += bytes(room)

    def export_addresses(self):
        table = {}
        for image in self.images:
            for name, flags, address in image.dylib.exports:
                table.setdefault(name, image.move(image.text.address + address))
        return table

    def fill_images(self):
        o, exports = self.options, self.export_addresses()
        for image in self.images:
            image.find_pointers(exports.get, o.arch == 'arm64e')
        for image in self.images:
            image.convert_methods(o.methods, self.selectors)
            image.move_code()
        self.write_selector_base()
        self.high_pointer()
        if self.stubs_in:
            self.write_stubs(exports)
        if o.islands:
            self.write_islands(exports)

    def write_selector_base(self):
        kind = self.options.selector_base
        if kind == 'libobjc':
            for image in self.images:
                section = image.dylib.section('__objc_opt_ro')
                if section:
                    image.dylib.write(section.address + 40, 'q', self.selectors.address - image.move(section.address))

    def high_pointer(self):
        """Sets bits 56 to 63 of one pointer, where the slide info has such bits (3 and 5)."""
        if self.options.slide not in (3, 5):
            return
        for image in self.images:
            slot = next((s for s in sorted(image.pointers) if image.pointers[s].key is None), None)
            exported = next((image.move(image.text.address + a) for n, _, a in image.dylib.exports if n == b'_sys_pointers'), None)
            if exported is not None and slot is not None:
                image.pointers[exported].high = 0x5a

    def objc_header(self):
        """Returns dyld's ObjCOptimizationHeader, 64 bytes, with the selector base at 48."""
        return struct.pack('<2I6Q', 1, 0, 0, 0, 0, 0, 0, self.selectors.address - self.options.base).ljust(64, b'\0')

    # ---- stubs
    def write_stubs(self, exports):
        """Writes stubs for the calls between images, and makes the images call them. arm64e's load a signed pointer."""
        at, content = self.stubs_in.address + self.stubs_at, bytearray()
        for image in self.images:
            own = image.dylib.section('__stubs')
            if not own or self.options.arch not in ('arm64', 'arm64e'):
                continue
            moved = {}
            for n in range(own.size // own.reserved2):
                name = image.dylib.symbols[image.dylib.indirect[own.reserved1 + n]][0]
                place, slot = at + len(content), self.slot_of(image, name)
                moved[image.move(own.address) + n * own.reserved2] = place
                if self.options.arch == 'arm64e':
                    content += adrp_add(17, place, slot) + struct.pack('<2I', 0xf9400230, 0xd71f0a11)
                else:
                    content += adrp_add(16, place, exports[name]) + struct.pack('<I', 0xd61f0200)
                self.stubs.append((place, name.decode()))
            redirect_calls(image, moved)
        begin = self.stubs_at
        self.stubs_in.data[begin:begin + len(content)] = content

    def slot_of(self, image, name):
        return next((image.move(slot) for slot, (bound, _) in sorted(image.dylib.binds.items()) if bound == name), 0)

    def write_islands(self, exports):
        """Writes a branch pool: a Mach-O header without commands, then `b target` for each function."""
        text = self.text_in[self.images[0]]
        d = self.images[0].dylib
        content = bytearray(struct.pack('<8I', 0xfeedfacf, d.cpu, d.subtype, 6, 0, 0, 0x80000000, 0))
        for name in (b'_sys_add', b'_sys_abort'):
            place = self.islands_at + len(content)
            content += struct.pack('<I', 0x14000000 | (exports[name] - place) // 4 & 0x3ffffff)
            self.stubs.append((place, name.decode()))
        text.data[self.islands_place:self.islands_place + len(content)] = content

    # ---- __LINKEDIT
    def write_linkedit(self):
        o = self.options
        for file in self.files:
            for mapping in file.mappings:
                images = [image for image in self.images if self.linkedit_in[image] is mapping]
                if images:
                    self.write_tables(file, mapping, images)
        for image in self.images:
            mapping = self.linkedit_in[image]
            image.offsets = {s.name: self.data_in[image].offset + image.move(s.address) - self.data_in[image].address
                             for s in image.data}
            image.offsets['__TEXT'] = self.text_in[image].offset + image.address - self.text_in[image].address
            # A file's header is in its first mapping and not in a segment.
            skipped = PAGE if mapping is self.file_of(mapping).mappings[0] else 0
            size = mapping.size + o.linkedit_excess - skipped
            image.write_header(o.header >= 0x1c8, (mapping.address + skipped, size, mapping.offset + skipped, size))

    def write_tables(self, file, mapping, images):
        drop, strings = self.options.locals != 'kept', Strings()
        mapping.slide_room = file.slide_bytes() if mapping is file.mappings[-1] else 0
        # A mapping that holds its file's header, or slide info, has room for it at its beginning.
        at = (PAGE if mapping is file.mappings[0] else 0) + align(mapping.slide_room, 16)
        out = bytearray()

        def add(data):
            out.extend(bytes(-len(out) % 8))
            out.extend(data)
            return mapping.offset + at + len(out) - len(data)

        for image in images:
            trie, t = make_trie(image.cached_exports()), image.tables
            symbols, new_index = image.cached_symbols(drop)
            t['list'] = symbols
            t['exports'] = (add(trie), len(trie))
            t['starts'] = (add(image.dylib.function_starts), len(image.dylib.function_starts))
            t['symbols'] = (add(image.pack_symbols(symbols, strings)), len(symbols))
            indirect = [new_index.get(n, n) for n in image.dylib.indirect]
            t['indirect'] = (add(struct.pack('<%dI' % len(indirect), *indirect)), len(indirect))
        place = add(strings.data)
        for image in images:
            image.tables['strings'] = (place, len(strings.data))
        assert at + len(out) <= len(mapping.data), 'the room for __LINKEDIT is too small'
        mapping.data[at:at + len(out)] = out

    # ---- pointers
    def write_data(self):
        for image in self.images:
            text, data = self.text_in[image], self.data_in[image]
            at_text, at_data = self.places[image]
            text.data[at_text:at_text + image.text.size] = image.text.content
            for segment in image.data:
                begin = at_data + segment.address - image.data_begin
                data.data[begin:begin + segment.size] = segment.content
            for slot, pointer in image.pointers.items():
                self.mapping_at(slot).pointers[slot] = pointer

    def mapping_at(self, address):
        return next(m for file in self.files for m in file.mappings if file.find(address) is m)

    def write_slides(self):
        o, wide = self.options, self.images[0].dylib.is_64
        for file in self.files:
            room = file.mappings[-1]
            at = PAGE if room is file.mappings[0] else 0
            for mapping in file.mappings:
                if not mapping.slide:
                    continue
                mapping.data += bytes(mapping.size - len(mapping.data))
                slots = {slot - mapping.address: pointer for slot, pointer in mapping.pointers.items()}
                if not o.slide:
                    for offset, pointer in slots.items():
                        struct.pack_into('<Q' if wide else '<I', mapping.data, offset, pointer.value())
                    continue
                value_add = {'x86_64': o.base, 'arm64_32': o.base}.get(o.arch, 0)
                info = slide.encode(o.slide, mapping.data, slots, o.base, wide, o.several_chains, value_add)
                assert at + len(info) <= file.slide_bytes() + PAGE
                room.data[at:at + len(info)] = info
                mapping.slide_place = (room.offset + at, len(info))
                at = align(at + len(info), 16)

    # ---- headers
    def common_fields(self, file):
        o = self.options
        magic = o.magic or 'dyld_v1' + o.arch.rjust(8)
        fields = {
            'magic': magic.encode().ljust(16, b'\0'), 'uuid': file.uuid, 'dyldBaseAddress': 0,
            'codeSignatureOffset': file.end + len(file.tail), 'codeSignatureSize': 0x100,
            'cacheType': o.cache_type if o.cache_type is not None else 2 if o.header >= 0x1c8 else 1,
            'platform': PLATFORMS[o.arch], 'flags': 0x400 | (0x200 if not o.slide else 0), 'dyldInCacheMH': o.dyld_header,
            'sharedRegionStart': o.base, 'sharedRegionSize': align(self.end - o.base), 'maxSlide': 0x20000000,
            'cputype': self.images[0].dylib.cpu, 'cpusubtype': self.images[0].dylib.subtype,
        }
        if o.cpu:
            fields['cputype'], fields['cpusubtype'] = map(number, o.cpu.split(','))
        if o.header < 0x140:
            moving = next((m for m in file.mappings if m.slide), None)
            if moving:
                fields['slideInfoOffsetUnused'], fields['slideInfoSizeUnused'] = moving.slide_place
        return fields

    def write_headers(self):
        o = self.options
        for file in self.files[1:]:
            fields = self.common_fields(file)
            fields['sharedRegionStart'] = 0
            plain, with_slide = mapping_tables(file)
            fields.update(mappingOffset=o.header, mappingCount=len(file.mappings))
            fields.update(mappingWithSlideOffset=o.header + len(plain), mappingWithSlideCount=len(file.mappings))
            header = header_fields(o.header, fields) + plain + with_slide
            file.mappings[0].data[:len(header)] = header
        self.write_locals()
        table, places = self.tables()
        fields = self.common_fields(self.main)
        fields.update(places)
        fields.update(self.main.fields)
        if o.selector_base == 'header' and o.header >= 0x1e0:
            fields['objcOptsOffset'], fields['objcOptsSize'] = self.pool_in.address + self.pool_at - o.base, 64
            self.pool_in.data[self.pool_at:self.pool_at + 64] = self.objc_header()
        assert len(self.selectors.data) <= self.pool_room - 0x100
        at = self.pool_at + 0x100
        self.pool_in.data[at:at + len(self.selectors.data)] = self.selectors.data
        header = header_fields(o.header, fields) + table
        assert len(header) <= align(self.header_room())
        self.main.mappings[0].data[:len(header)] = header

    def write_locals(self):
        o = self.options
        if o.locals not in ('main', 'symbols'):
            return
        order = [int(n) for n in o.locals_order.split(',')] if o.locals_order else None
        table = local_symbols(self.images, o.header, o.base,
                              lambda image: self.text_in[image].offset + image.address - self.text_in[image].address, order)
        if o.locals == 'main':
            self.main.fields.update(localSymbolsOffset=self.main.end, localSymbolsSize=len(table))
            self.main.tail = table
            return
        file = CacheFile('.symbols', o.seed)
        file.end = PAGE + len(table)
        fields = self.common_fields(file)
        fields.update(mappingOffset=o.header, mappingCount=1, localSymbolsOffset=PAGE, localSymbolsSize=len(table))
        header = header_fields(o.header, fields) + struct.pack('<3Q2I', 0, PAGE, 0, READ, READ)
        file.tail = header.ljust(PAGE, b'\0') + table
        self.main.fields['symbolFileUUID'] = file.uuid
        self.symbols_file = file

    # ---- output
    symbols_file = None

    def write(self):
        self.lay_out()
        self.place_images()
        self.place_addresses()
        self.fill_images()
        self.write_linkedit()
        self.write_data()
        self.write_slides()
        self.write_headers()
        name = self.options.out
        stem = name[:-len('.development')] if name.endswith('.development') else name
        for file in self.files:
            with open(stem + file.suffix if file.suffix else name, 'wb') as out:
                for mapping in file.mappings:
                    out.write(bytes(mapping.data).ljust(mapping.size - mapping.hole, b'\0'))
                    out.seek(mapping.hole, os.SEEK_CUR)
                out.write(file.tail + bytes(0x100))
        if self.symbols_file:
            with open(stem + '.symbols', 'wb') as out:
                out.write(self.symbols_file.tail + bytes(0x100))
        if self.options.truth:
            with open(self.options.truth, 'w') as out:
                json.dump(self.truth(), out, indent=1)
                out.write('\n')

    def truth(self):
        o = self.options
        return {
            'file': os.path.basename(o.out), 'uuid': str(uuids.UUID(bytes=self.main.uuid)), 'base': o.base,
            'size': align(self.end - o.base), 'arch': o.arch,
            'files': [{'suffix': f.suffix, 'uuid': str(uuids.UUID(bytes=f.uuid)),
                       'mappings': [[m.address, m.size, m.offset] for m in f.mappings]} for f in self.files],
            'images': [self.image_truth(image) for image in self.images],
            'stubs': [list(stub) for stub in self.stubs],
        }

    def image_truth(self, image):
        sections = image.dylib.all_sections()
        symbols = []
        for name, kind, section, _, value in image.moved_symbols():
            if kind & N_TYPE == N_SECT and not kind & N_STAB:
                symbols.append([name.decode(), value, 'export' if kind & N_EXT else 'local', sections[section - 1].name])
        return {
            'path': image.path, 'uuid': str(uuids.UUID(bytes=image.dylib.uuid)), 'address': image.address,
            'text_size': image.text.size, 'data_delta': image.data_delta, 'text_delta': image.text_delta,
            'symbols': symbols, 'methods': [list(method) for method in image.methods],
            'pointers': [[slot, pointer.value()] for slot, pointer in sorted(image.pointers.items())],
        }


def adrp_add(register, place, target):
    pages = (target >> 12) - (place >> 12)
    adrp = 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | register
    return struct.pack('<2I', adrp, 0x91000000 | (target & 0xfff) << 10 | register << 5 | register)


def redirect_calls(image, moved):
    """Makes `bl` and `b` to the image's own stubs go to the stubs of the cache."""
    section = image.dylib.section('__text')
    for address in range(section.address, section.address + section.size, 4):
        word = image.dylib.read(address, 'I')
        if word & 0x7c000000 != 0x14000000:
            continue
        distance = (word & 0x3ffffff) - ((word & 0x2000000) << 1)
        target = moved.get(image.move(address) + 4 * distance)
        if target is not None:
            image.dylib.write(address, 'I', word & 0xfc000000 | (target - image.move(address)) // 4 & 0x3ffffff)


def main():
    Cache(parse_arguments()).write()


if __name__ == '__main__':
    main()
