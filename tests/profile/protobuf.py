# SPDX-License-Identifier: MIT
"""Writes and decodes messages of Protocol Buffers, apart from the library's reader: for the tests of pprof and OTLP."""


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def fixed64(field, value):
    return varint(field << 3 | 1) + value.to_bytes(8, "little")


def packed(field, values):
    return data(field, b"".join(varint(value) for value in values))


def data(field, content):
    if isinstance(content, str):
        content = content.encode()
    return varint(field << 3 | 2) + varint(len(content)) + content


def read_varint(content, at):
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(content):
    """Returns the fields of a message: (number, value), where the value is a number or bytes."""
    at, found = 0, []
    while at < len(content):
        tag, at = read_varint(content, at)
        wire = tag & 7
        if wire == 0:
            value, at = read_varint(content, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = int.from_bytes(content[at : at + size], "little"), at + size
        else:
            assert wire == 2, wire
            size, at = read_varint(content, at)
            value, at = content[at : at + size], at + size
            assert len(value) == size
        found.append((tag >> 3, value))
    return found


def every(content, field):
    return [value for key, value in fields(content) if key == field]


def last(content, field, default=0):
    found = every(content, field)
    return found[-1] if found else default
