#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recordings.py FILE: writes a small recording of perf for mutate.py, in a pipe's format (Linux tools/perf/
Documentation/perf.data-file-format.txt): two processes that have mapped /lib-3 and /lib-5, one that forks and one that
executes another program, call chains, and dumps of registers and stack (x86_64)."""
import struct
import sys

# Parts of samples: 65536 identifier, 1 address, 2 thread, 4 time, 32 chain, 4096 registers, 8192 stack.
CHAINS, DUMPS = 65536 + 1 + 2 + 4 + 32, 65536 + 1 + 2 + 4 + 4096 + 8192
REGISTERS = 0xff0fff


def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def attribute(sample_type, number):
    fields = struct.pack("<IIQQQQQ", 1, 112, 0, 2000000, sample_type, 0, 0).ljust(80, b"\0")
    return record(64, fields + struct.pack("<QI", REGISTERS, 256).ljust(32, b"\0") + struct.pack("<Q", number))


def mapped(process, low, path):
    return record(1, struct.pack("<IIQQQ", process, process, low, 0x10000, 0) + path.ljust(16, b"\0"))


def task(kind, process, parent):
    return record(kind, struct.pack("<IIIIQ", process, parent, process, parent, 1200000000))


def chain(process, time, addresses):
    body = struct.pack("<QQIIQQ", 5, addresses[0], process, process, time, 1 + len(addresses))
    return record(9, body + struct.pack(f"<{1 + len(addresses)}Q", 2**64 - 512, *addresses))


def dump(process, time, address):
    registers = [0x7ffe0000] * 20
    registers[8] = address
    stack = struct.pack("<32Q", *[address + 8 * i if i % 3 == 1 else 0x7ffe0000 + 8 * i for i in range(32)])
    body = struct.pack("<QQIIQQ", 6, address, process, process, time, 2) + struct.pack("<20Q", *registers)
    return record(9, body + struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack)))


def main():
    out = b"PERFILE2" + struct.pack("<Q", 16) + attribute(CHAINS, 5) + attribute(DUMPS, 6)
    out += record(78, struct.pack("<QQ", 2, 5) + b"cpu-clock\0") + record(78, struct.pack("<QQ", 2, 6) + b"dumps\0\0\0")
    out += mapped(7, 0x400000, b"/lib-5") + mapped(7, 0x500000, b"/lib-3") + mapped(9, 0x400000, b"/missing")
    out += record(3, struct.pack("<II", 7, 7) + b"app".ljust(8, b"\0"))
    for i in range(3):
        time = 1000000000 + i * 1000000
        out += chain(7, time, [0x401010, 0x401020, 0x501010]) + dump(7, time, 0x401010) + chain(9, time, [0x400100])
    out += task(7, 8, 7) + chain(8, 1300000000, [0x401010, 0x501010])
    out += record(3, struct.pack("<II", 9, 9) + b"other".ljust(8, b"\0"), 2 | 1 << 13) + mapped(9, 0x400000, b"/lib-3")
    out += chain(9, 1400000000, [0x401010]) + task(4, 8, 7)
    with open(sys.argv[1], "wb") as file:
        file.write(out)


main()
