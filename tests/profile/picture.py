# SPDX-License-Identifier: MIT
# picture.py SVG PNG [NAME]: checks the screenshot of a flame graph: each box has its colour, or the search's colour if
# its name contains NAME, and around the boxes is the background. It checks the structure, not every pixel: letters may
# look different.
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
import zlib

NAME_SPACE = "{http://www.w3.org/2000/svg}"
FOUND = (0xE0, 0x40, 0xFB)


def read_png(path):
    """Rows of bytes, and how many bytes a pixel has (8 bits a channel, not interlaced: PNG specification 11.2)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + n]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", content)
        elif kind == b"IDAT":
            packed += content
        at += 12 + n
    assert depth == 8 and colour in (2, 6) and not interlaced
    size = 3 if colour == 2 else 4
    raw, rows, before = zlib.decompress(packed), [], bytes(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + width * size])
        for i in range(len(row)):
            left = row[i - size] if i >= size else 0
            up, corner = before[i], before[i - size] if i >= size else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                row[i] = (row[i] + min((left, up, corner), key=lambda v: abs(guess - v))) & 255
        rows.append(bytes(row))
        before = row
    return rows, size


def main(svg, png, wanted=None):
    rows, size = read_png(png)
    pixel = lambda x, y: tuple(rows[int(y)][int(x) * size : int(x) * size + 3])
    near = lambda a, b: all(abs(p - q) <= 4 for p, q in zip(a, b))
    checked = found = 0
    page = pixel(4, 50)
    occupied = []
    for group in ElementTree.parse(svg).getroot().iter(NAME_SPACE + "g"):
        name = group.find(NAME_SPACE + "title").text
        rectangle = group.find(NAME_SPACE + "rect")
        x, y, width = (float(rectangle.get(key)) for key in ("x", "y", "width"))
        colour = re.match(r"fill:#(..)(..)(..)", rectangle.get("style"))
        colour = tuple(int(part, 16) for part in colour.groups())
        if wanted and wanted in name.rpartition(" (")[0]:
            colour, found = FOUND, found + 1
        occupied.append((x, y, width))
        if width < 4:
            continue
        # Above the letters, near both ends and in the middle.
        for at in (x + 1.5, x + width / 2, x + width - 2):
            assert near(pixel(at, y + 2), colour), (name, at, y, pixel(at, y + 2), colour)
            checked += 1
        assert not near(colour, page)
    assert checked > 60, checked
    assert not wanted or found > 2
    top, bottom = min(y for _, y, _ in occupied), max(y for _, y, _ in occupied)
    assert bottom - top >= 17 * 5
    beside = 0
    for y in range(int(top), int(bottom) + 17, 17):
        for x in range(12, 1190, 3):
            if not any(a - 2 <= x <= a + w + 2 and b == y for a, b, w in occupied):
                assert pixel(x, y + 8) == page, (x, y)
                beside += 1
    assert beside > 100, beside
    # The title is there: dark letters in the middle of the head.
    assert any(sum(pixel(x, y)) < 150 for x in range(450, 750) for y in range(8, 30))


if __name__ == "__main__":
    main(*sys.argv[1:])
