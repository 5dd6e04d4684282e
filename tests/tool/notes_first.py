# SPDX-License-Identifier: MIT
# Reads a core that gdb has written, whose notes come last, and writes it in the kernel's order: headers, notes, memory.
# With a number, it gets so many more mappings without contents, and more program headers than the ELF header can count:
# then section header 0 counts them, which comes last, and is left out here.
# notes_first.py FROM TO [NUMBER]
import struct
import sys

core = open(sys.argv[1], 'rb').read()
wide = core[4] == 2
header = '<16sHHIQQQIHHHHHH' if wide else '<16sHHIIIIIHHHHHH'
entry = '<IIQQQQQQ' if wide else '<IIIIIIII'
fields = list(struct.unpack_from(header, core))
at, count, size = fields[5], fields[10], struct.calcsize(entry)
segments = [list(struct.unpack_from(entry, core, at + i * size)) for i in range(count)]
OFFSET, FILE_SIZE, MEMORY_SIZE, FLAGS = (2, 5, 6, 1) if wide else (1, 4, 5, 6)
PT_NOTE = 4
segments.sort(key=lambda s: s[0] != PT_NOTE)
if len(sys.argv) > 3:
    added, ADDRESS = list(segments[-1]), 3 if wide else 2
    added[FILE_SIZE], added[MEMORY_SIZE], added[FLAGS] = 0, 4096, 4
    for i in range(int(sys.argv[3])):
        added[ADDRESS] = 0x10000 + i * 8192
        segments.insert(1 + i, list(added))
    count = len(segments)
next_at = struct.calcsize(header) + count * size
pieces = []
for segment in segments:
    data = core[segment[OFFSET]:segment[OFFSET] + segment[FILE_SIZE]]
    if segment[0] != PT_NOTE:
        next_at = (next_at + 4095) // 4096 * 4096
    segment[OFFSET] = next_at
    pieces.append((next_at, data))
    next_at += segment[FILE_SIZE]
fields[5], fields[6], fields[11], fields[12], fields[13] = struct.calcsize(header), 0, 0, 0, 0
if count >= 0xffff:
    fields[6], fields[10], fields[11], fields[12] = next_at, 0xffff, 64 if wide else 40, 1
else:
    fields[10] = count
with open(sys.argv[2], 'wb') as out:
    out.write(struct.pack(header, *fields))
    for segment in segments:
        out.write(struct.pack(entry, *segment))
    for where, data in pieces:
        out.seek(where)
        out.write(data)
