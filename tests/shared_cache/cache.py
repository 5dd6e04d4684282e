# SPDX-License-Identifier: MIT
"""Writes the files of a dyld shared cache: headers of each version, mappings, lists of images, sub-caches, slide info
and local symbols. OFFSETS has every offset of dyld's structures that is used; compare_headers.sh compares them with
dyld's own header."""
import hashlib
import struct

PAGE = 0x4000

# Offset and size of the header's fields (struct dyld_cache_header of dyld_cache_format.h).
OFFSETS = {
    'magic': (0x00, 16), 'mappingOffset': (0x10, 4), 'mappingCount': (0x14, 4), 'imagesOffsetOld': (0x18, 4),
    'imagesCountOld': (0x1c, 4), 'dyldBaseAddress': (0x20, 8), 'codeSignatureOffset': (0x28, 8),
    'codeSignatureSize': (0x30, 8), 'slideInfoOffsetUnused': (0x38, 8), 'slideInfoSizeUnused': (0x40, 8),
    'localSymbolsOffset': (0x48, 8), 'localSymbolsSize': (0x50, 8), 'uuid': (0x58, 16), 'cacheType': (0x68, 8),
    'branchPoolsOffset': (0x70, 4), 'branchPoolsCount': (0x74, 4), 'dyldInCacheMH': (0x78, 8),
    'dyldInCacheEntry': (0x80, 8), 'imagesTextOffset': (0x88, 8), 'imagesTextCount': (0x90, 8), 'platform': (0xd8, 4),
    'flags': (0xdc, 4), 'sharedRegionStart': (0xe0, 8), 'sharedRegionSize': (0xe8, 8), 'maxSlide': (0xf0, 8),
    'mappingWithSlideOffset': (0x138, 4), 'mappingWithSlideCount': (0x13c, 4), 'subCacheArrayOffset': (0x188, 4),
    'subCacheArrayCount': (0x18c, 4), 'symbolFileUUID': (0x190, 16), 'imagesOffset': (0x1c0, 4),
    'imagesCount': (0x1c4, 4), 'cacheSubType': (0x1c8, 4), 'objcOptsOffset': (0x1d0, 8), 'objcOptsSize': (0x1d8, 8),
    'cputype': (0x228, 4), 'cpusubtype': (0x22c, 4),
}
FLAG_AUTH, FLAG_DIRTY, FLAG_CONST, FLAG_STUBS, FLAG_DYNAMIC, FLAG_READ_ONLY = 1, 2, 4, 8, 0x10, 0x20
READ, WRITE, RUN = 1, 2, 4


def align(value, to=PAGE):
    return (value + to - 1) // to * to


class Strings:
    """A pool of strings that begins with NUL; each string is there once."""

    def __init__(self):
        self.data, self.places = bytearray(b'\0'), {b'': 0}

    def offset(self, name):
        if name not in self.places:
            self.places[name] = len(self.data)
            self.data += name + b'\0'
        return self.places[name]


class Selectors:
    """The strings of Objective-C selectors, and those of types; the base is the pool's first string."""

    def __init__(self):
        self.data, self.places, self.address = bytearray('\U0001f92f\0'.encode()), {}, 0

    def offset(self, name):
        if name not in self.places:
            self.places[name] = len(self.data)
            self.data += name + b'\0'
        return self.places[name]

    def place(self, name):
        return self.address + self.offset(name)


class Mapping:
    """Bytes at an address. `slide` says that pointers in it need slide info; `hole` bytes of zeros are behind the data,
    and a hole in the file."""

    def __init__(self, protection, flags=0, slide=False):
        self.protection, self.flags, self.slide, self.hole = protection, flags, slide, 0
        self.data, self.address, self.offset, self.pointers = bytearray(), 0, 0, {}
        self.slide_place = (0, 0)

    @property
    def size(self):
        return align(len(self.data)) + self.hole

    def append(self, data, alignment=16):
        """Returns the place of the data in this mapping."""
        self.data += bytes(-len(self.data) % alignment)
        at = len(self.data)
        self.data += data
        return at


class CacheFile:
    """The first mapping begins with the header's room."""

    def __init__(self, suffix, seed):
        self.suffix, self.mappings = suffix, []
        self.uuid = hashlib.sha256(('%s %s' % (seed, suffix)).encode()).digest()[:16]
        self.fields, self.tail = {}, b''

    def add(self, mapping):
        self.mappings.append(mapping)
        return mapping

    def place_offsets(self):
        at = 0
        for mapping in self.mappings:
            mapping.offset = at
            at += mapping.size
        self.end = at

    def slide_bytes(self):
        """Room for slide info: generous, because it is laid out before pointers are known."""
        return sum(0x400 + mapping.size // 0x1000 * 0x108 for mapping in self.mappings if mapping.slide)

    def find(self, address):
        return next((m for m in self.mappings if m.address <= address < m.address + m.size), None)


def header_fields(size, fields):
    """Returns the header's bytes; fields that begin behind its end are left out."""
    out = bytearray(size)
    for name, value in fields.items():
        at, length = OFFSETS[name]
        if at + length <= size:
            out[at:at + length] = value if isinstance(value, bytes) else value.to_bytes(length, 'little')
    return bytes(out)


def mapping_tables(file):
    """Returns the tables of mappings: 32 bytes and 56 bytes for each."""
    plain, with_slide = b'', b''
    for m in file.mappings:
        plain += struct.pack('<3Q2I', m.address, m.size, m.offset, m.protection, m.protection)
        with_slide += struct.pack('<6Q2I', m.address, m.size, m.offset, *m.slide_place, m.flags, m.protection, m.protection)
    return plain, with_slide


def sub_cache_entry(header_size, uuid, offset, suffix):
    """Returns an entry of the array of sub-caches: version 1, or 2 with the file's suffix."""
    entry = struct.pack('<16sQ', uuid, offset)
    return entry + struct.pack('<32s', suffix.encode()) if header_size > 0x1c8 else entry


def local_symbols(images, header_size, base, offset_of, order=None, entries_64=None):
    """Returns dyld_cache_local_symbols_info with its tables: for each image of the order an entry, 12 or 16 bytes."""
    strings, nlists, entries, count = Strings(), b'', [], 0
    if entries_64 is None:
        entries_64 = header_size >= 0x190
    for image in images:
        symbols = image.local_symbols()
        nlists += image.pack_symbols(symbols, strings)
        place = image.address - base if entries_64 else offset_of(image)
        entries.append(struct.pack('<QII' if entries_64 else '<3I', place, count, len(symbols)))
        count += len(symbols)
    if order is not None:
        entries = [entries[n] for n in order]
    nlist_at = 24
    strings_at = nlist_at + len(nlists)
    entries_at = align(strings_at + len(strings.data), 8)
    return struct.pack('<6I', nlist_at, count, strings_at, len(strings.data), entries_at, len(entries)) + nlists + \
        bytes(strings.data).ljust(entries_at - strings_at, b'\0') + b''.join(entries)
