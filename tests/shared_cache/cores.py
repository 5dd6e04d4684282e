# SPDX-License-Identifier: MIT
"""Writes Mach-O cores of a process that ran with a made cache and whose core lacks the cache's memory."""
import struct
import uuid

LOADER, INFOS, STACK, PAGE = 0x104000000, 0x104004000, 0x16fe00000, 0x4000
READ, WRITE, RUN = 1, 2, 4


def segment(name, address, size, offset, file_size, protection, sections=b''):
    return struct.pack('<II16s4Q4I', 0x19, 72 + len(sections), name, address, size, offset, file_size, protection,
                       protection, len(sections) // 80, 0) + sections


def loader():
    """Returns the header of a dyld, whose list is in its second page."""
    section = struct.pack('<16s16s2Q8I', b'__all_image_info', b'__DATA', PAGE, PAGE, PAGE, 3, 0, 0, 0, 0, 0, 0)
    commands = segment(b'__TEXT', 0, PAGE, 0, PAGE, READ | RUN) + segment(b'__DATA', PAGE, PAGE, PAGE, PAGE, READ | WRITE, section)
    return (struct.pack('<8I', 0xfeedfacf, 0x0100000c, 0, 7, 2, len(commands), 0, 0) + commands).ljust(PAGE, b'\0')


def image_list(made, slide):
    """Returns dyld's list of the cache's images, which begins at INFOS."""
    truth, paths, entries = made.truth, b'', b''
    array = INFOS + 0x100
    names = array + 24 * len(truth['images'])
    for image in truth['images']:
        entries += struct.pack('<3Q', image['address'] + slide, names + len(paths), 0)
        paths += image['path'].encode() + b'\0'
    infos = bytearray(0x100)
    struct.pack_into('<IIQ', infos, 0, 17, len(truth['images']), array)
    struct.pack_into('<Q', infos, 32, LOADER)
    struct.pack_into('<Q16sQ', infos, 152, slide, uuid.UUID(truth['uuid']).bytes, truth['base'] + slide)
    return (bytes(infos) + entries + paths).ljust(PAGE, b'\0')


def code_at(made, address, size):
    """Returns bytes of the cache, in whichever of its files they are."""
    for suffix in made.suffixes():
        at, count = made.peek(0x10, 'II', suffix)
        for n in range(count if suffix != '.symbols' else 0):
            low, length, offset = made.peek(at + 32 * n, '3Q', suffix)
            if low <= address < low + length:
                return made.peek(offset + address - low, '%ds' % size, suffix)[0]
    raise ValueError(hex(address))


def call_in(made, function, slide, number=0):
    """Returns the return address of a call in a function."""
    start = made.symbol(function)
    calls = [i for i, (word,) in enumerate(struct.iter_unpack('<I', code_at(made, start, 0x100))) if word >> 26 == 0x25]
    return start + 4 * calls[number] + 4 + slide


def make_core(made, slide):
    """Returns a core whose thread is in hidden_add, which has no frame record: called by sys_add, sys_abort, gamma_entry."""
    frames = (STACK, STACK + 0x40, STACK + 0x80)
    stack = bytearray(PAGE)
    returns = (call_in(made, 'sys_abort', slide), call_in(made, 'gamma_entry', slide))
    for record, following, address in zip(frames, frames[1:], returns):
        struct.pack_into('<2Q', stack, record - STACK, following, address)
    words = [0] * 29 + [frames[0], call_in(made, 'sys_add', slide), STACK, made.symbol('hidden_add') + 4 + slide]
    state = struct.pack('<33Q2I', *words, 0, 0)
    thread = struct.pack('<4I', 4, 16 + len(state), 6, len(state) // 4) + state
    parts = [(LOADER, loader(), READ | RUN), (INFOS, image_list(made, slide), READ | WRITE), (STACK, bytes(stack), READ | WRITE)]
    commands, offset = thread, PAGE
    for address, data, protection in parts:
        commands += segment(b'', address, len(data), offset, len(data), protection)
        offset += len(data)
    head = struct.pack('<8I', 0xfeedfacf, 0x0100000c, 0, 4, 1 + len(parts), len(commands), 0, 0) + commands
    return head.ljust(PAGE, b'\0') + b''.join(data for _, data, _ in parts)
