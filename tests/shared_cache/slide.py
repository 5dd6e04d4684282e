# SPDX-License-Identifier: MIT
"""Writes slide info of the versions 1 to 5 and the pointers as they are on disk (dyld_cache_format.h).

encode(version, content, pointers, base) changes the bytes of one writable mapping and returns its slide info. `pointers`
has a Pointer for each offset of a slot."""
import struct

PAGE = {1: 0x1000, 2: 0x1000, 3: 0x1000, 4: 0x1000, 5: 0x4000}


class Pointer:
    """What a slot points to; `key` of a signed pointer is its diversity; `high` are bits 56 to 63 of the value."""

    def __init__(self, target, key=None, high=0):
        self.target, self.key, self.high = target, key, high

    def value(self):
        return self.target | self.high << 56


def by_page(pointers, page):
    pages = {}
    for offset in sorted(pointers):
        pages.setdefault(offset // page, []).append(offset)
    return pages


def encode(version, content, pointers, base, is_64, several_chains=False, value_add=None):
    if version == 1:
        return encode_1(content, pointers, is_64)
    if version == 2:
        return encode_2(content, pointers, base if value_add is None else value_add, several_chains, is_64)
    if version == 4:
        return encode_4(content, pointers, base)
    return encode_auth(version, content, pointers, base)


def encode_1(content, pointers, is_64):
    """A bitmap of the 4-byte words of each page; equal bitmaps are shared."""
    pages, entries, toc = by_page(pointers, 0x1000), [], []
    for page in range((len(content) + 0xfff) // 0x1000):
        bits = bytearray(128)
        for offset in pages.get(page, ()):
            word = offset % 0x1000 // 4
            bits[word // 8] |= 1 << (word % 8)
            struct.pack_into('<Q' if is_64 else '<I', content, offset, pointers[offset].value())
        if bits not in entries:
            entries.append(bits)
        toc.append(entries.index(bits))
    entries_at = 24 + 2 * len(toc)
    return struct.pack('<6I', 1, 24, len(toc), entries_at, len(entries), 128) + struct.pack('<%dH' % len(toc), *toc) + \
        b''.join(entries)


def pages_with_extras(version, mask, value_add, pages, starts, extras):
    """The header and tables that versions 2 and 4 share."""
    return struct.pack('<6I2Q', version, PAGE[version], 40, pages, 40 + 2 * pages, len(extras), mask, value_add) + \
        struct.pack('<%dH' % pages, *starts) + struct.pack('<%dH' % len(extras), *extras)


def encode_2(content, pointers, value_add, several_chains, is_64):
    mask = 0x00ffff0000000000 if is_64 else 0xc0000000
    layout, limit = ('<Q', 0xffff * 4) if is_64 else ('<I', 12)
    shift = (mask & -mask).bit_length() - 1
    count, starts, extras = (len(content) + 0xfff) // 0x1000, [], []
    pages = by_page(pointers, 0x1000)
    for page in range(count):
        offsets, chains = pages.get(page, []), []
        for n, offset in enumerate(offsets):
            last = chains[-1][-1] if chains else None
            if last is None or offset - last > limit or (several_chains and n % 3 == 0):
                chains.append([offset])
            else:
                chains[-1].append(offset)
        for chain in chains:
            for n, offset in enumerate(chain):
                delta = chain[n + 1] - offset if n + 1 < len(chain) else 0
                value = pointers[offset].value() - value_add
                assert value & mask == 0, hex(value)
                struct.pack_into(layout, content, offset, value | delta // 4 << shift)
        firsts = [chain[0] % 0x1000 // 4 for chain in chains]
        if not firsts:
            starts.append(0x4000)
        elif len(firsts) == 1:
            starts.append(firsts[0])
        else:
            starts.append(0x8000 | len(extras))
            extras += firsts[:-1] + [firsts[-1] | 0x8000]
    return pages_with_extras(2, mask, value_add, count, starts, extras)


def encode_4(content, pointers, base):
    """Two bits reach 12 bytes; small numbers between two pointers become members of the chain."""
    count, starts, extras = (len(content) + 0xfff) // 0x1000, [], []
    pages = by_page(pointers, 0x1000)

    def is_number(offset):
        value = struct.unpack_from('<I', content, offset)[0]
        return offset not in pointers and (value < 0x8000 or value >= 0xffff8000)

    for page in range(count):
        offsets, chains = pages.get(page, []), []
        for offset in offsets:
            way = way_to(chains[-1][-1], offset, is_number) if chains else None
            if way is None:
                chains.append([offset])
            else:
                chains[-1] += way
        for chain in chains:
            for n, offset in enumerate(chain):
                delta = chain[n + 1] - offset if n + 1 < len(chain) else 0
                if offset in pointers:
                    value = pointers[offset].value() - base
                    assert 0x8000 <= value < 0x3fff8000, hex(value)
                else:
                    value = struct.unpack_from('<I', content, offset)[0] & 0x3fffffff
                struct.pack_into('<I', content, offset, value | delta // 4 << 30)
        firsts = [chain[0] % 0x1000 // 4 for chain in chains]
        if not firsts:
            starts.append(0xffff)
        elif len(firsts) == 1:
            starts.append(firsts[0])
        else:
            starts.append(0x8000 | len(extras))
            extras += firsts[:-1] + [firsts[-1] | 0x8000]
    return pages_with_extras(4, 0xc0000000, base, count, starts, extras)


def way_to(last, offset, is_number):
    """Returns the slots of a chain from `last` to `offset`, at most 12 bytes apart, or None."""
    way = []
    while offset - last > 12:
        step = next((last + d for d in (12, 8, 4) if is_number(last + d)), None)
        if step is None:
            return None
        way.append(step)
        last = step
    return way + [offset]


def encode_auth(version, content, pointers, base):
    size, count, starts = PAGE[version], (len(content) + PAGE[version] - 1) // PAGE[version], []
    pages = by_page(pointers, size)
    for page in range(count):
        offsets = pages.get(page, [])
        starts.append(offsets[0] % size if offsets else 0xffff)
        for n, offset in enumerate(offsets):
            delta = (offsets[n + 1] - offset) // 8 if n + 1 < len(offsets) else 0
            struct.pack_into('<Q', content, offset, auth_slot(version, pointers[offset], delta, base))
    return struct.pack('<3I4xQ', version, size, count, base) + struct.pack('<%dH' % count, *starts)


def auth_slot(version, pointer, delta, base):
    offset = pointer.target - base
    if version == 3:
        if pointer.key is not None:
            assert offset < 1 << 32
            return 1 << 63 | delta << 51 | pointer.key << 32 | offset
        assert pointer.target < 1 << 43
        return delta << 51 | pointer.high << 43 | pointer.target
    assert version == 5 and offset < 1 << 34
    if pointer.key is not None:
        return 1 << 63 | delta << 52 | pointer.key << 34 | offset
    return delta << 52 | pointer.high << 34 | offset
