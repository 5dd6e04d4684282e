#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the armv7 decoder with llvm-objdump over whole text sections.

usage: decode_diff_armv7.py [--objdump PROGRAM] [--triple TRIPLE] [--lenient] [--verbose] DUMPER FILE...
       decode_diff_armv7.py [--objdump PROGRAM] [--triple TRIPLE] --feed FILE...

DUMPER is the program made from decode_dump_armv7.c. Length, control flow, condition and direct target of every
instruction must be what the disassembler's text says. Files without mapping symbols need --triple (thumbv7, armv7);
their literal pools are disassembled as code, so --lenient only counts where one side decodes and the other does not,
or where the two took different words for an IT instruction before. --feed prints the code alone, in the form that
DUMPER and effects_armv7 read.
Exit status 1: they differ."""
import argparse
import collections
import re
import subprocess
import sys

CONDITIONS = r"(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
# Mnemonics whose own last letters look like a condition code.
BARE = re.compile(
    r"(?:teq|movs|bics|adcs|sbcs|rscs|lsls|muls|mls|vmls|vcls|smmls|smulls|umulls|smlals|umlals|svc|hlt|"
    r"vfms|vnmls|v?(?:ac|c)(?:eq|ge|gt|le|lt)|vsel(?:eq|ge|gt|vs)|smc|hvc)$"
)
# In an IT block these forms are not allowed, and the disassembler prints no condition.
IT_MOVS = re.compile(r"movs r\d, r\d$")
LINE = re.compile(r"^\s*([0-9a-f]+): ((?:[0-9a-f]+ ?)+?)\s+\t(\S+)(?:\t(.*))?$")
Expected = collections.namedtuple("Expected", "length flow condition target text")


def control_flow(name, operands, address):
    """(flow, direct target or None) by the disassembler's words; name has lost condition and width."""
    first, _, rest = operands.partition(", ")
    hexes = re.findall(r"0x[0-9a-f]+", operands.split("@")[0])
    target = int(hexes[-1], 16) & 0xFFFFFFFF if hexes else None
    if name == "b":
        return "jump", target
    if name in ("cbz", "cbnz"):
        return "branch", target
    if name in ("bl", "blx"):
        return "call", target if hexes else 0
    if name in ("bx", "bxj"):
        return {"lr": "return", "pc": "jump"}.get(operands, "jump-unknown"), None
    if name in ("tbb", "tbh"):
        return "jump-table", None
    if name in ("udf", "bkpt", "hlt", "eret", "trap", "dcps1", "dcps2", "dcps3") or name.startswith("rfe"):
        return "end", None
    if (name == "pop" or name.startswith("ldm")) and re.search(r"\bpc\b[^{]*}", operands):
        return ("end" if operands.endswith("^") else "return"), None
    if first != "pc" or name.startswith(("cmp", "cmn", "tst", "teq", "vmrs", "msr", "mrc", "st", "vst", "mcr")):
        return "next", None
    if name == "ldr":
        if re.match(r"\[pc, -?r\d+|\[pc, -?(?:lr|sp|r\d+)", rest):
            return "jump-table", None
        by_register = re.match(r"\[\w+, -?[a-z]", rest)
        return ("return" if rest.startswith("[sp") and not by_register else "jump-unknown"), None
    if name in ("movs", "subs", "adds", "ands", "orrs", "eors", "bics", "mvns", "rsbs", "adcs", "sbcs", "rscs",
                "lsls", "lsrs", "asrs", "rors", "rrxs"):
        return "end", None
    if name == "adr":
        return "jump", None
    if name == "mov":
        return {"lr": "return", "pc": "jump"}.get(rest, "jump" if rest.startswith("#") else "jump-unknown"), None
    if name == "mvn" and rest.startswith("#"):
        return "jump", None
    if name == "add" and "#" not in rest.split("lsl")[0].split("lsr")[0].split("asr")[0].split("ror")[0]:
        return "jump-table", None
    if name in ("add", "sub") and rest.startswith("pc, #"):
        return "jump", None
    return "jump-unknown", None


def expected(address, length, mnemonic, operands):
    operands = (operands or "").split("@")[0].split(" <")[0].strip()
    name = mnemonic.split(".")[0]
    condition = "-"
    if not BARE.match(name):
        match = re.match(rf"(.+?)({CONDITIONS})$", name)
        if match:
            name, condition = match.groups()
            condition = {"hs": "cs", "lo": "cc"}.get(condition, condition)
    flow, target = control_flow(name, operands, address)
    if flow == "jump" and condition != "-":
        flow = "branch"
    return Expected(length, flow, condition, target, f"{mnemonic} {operands}")


def disassemble(program, triple, path):
    """Yields runs of code: (mode, address, bytes, {address: Expected or None where the disassembler knows nothing})."""
    command = [program, "-d", "--mattr=+v8.2a,+fp16,+neon,+crypto,+crc,+mp,+trustzone,+virtualization", path]
    if triple:
        command.insert(2, f"--triple={triple}")
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    run = None
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            if run:
                yield run
            run = None
            continue
        address, raw, mnemonic = int(match[1], 16), match[2].split(), match[3]
        if mnemonic.startswith(".") or address & 1:  # data; symbols of ifuncs are odd, and mislead it
            if run:
                yield run
            run = None
            continue
        mode = "t" if len(raw[0]) == 4 else "a"
        code = b"".join(int(word, 16).to_bytes(len(word) // 2, "little") for word in raw)
        if not run or run[0] != mode or run[1] + len(run[2]) != address:
            if run:
                yield run
            run = [mode, address, b"", {}]
        known = "<un" not in mnemonic  # <unknown>, b<und>
        run[3][address] = expected(address, len(code), mnemonic, match[4]) if known else None
        run[2] += code
    if run:
        yield run


SAME = "same"
NEITHER = "unknown to both"
OURS_ONLY = "decoded, unknown to the disassembler"
THEIRS_ONLY = "not decoded"
CONDITION = "condition differs"


def compare(ours, theirs):
    known = ours is not None and ours.length != 0
    if theirs is None:
        return OURS_ONLY if known else NEITHER
    if not known:
        return THEIRS_ONLY
    if ours.length != theirs.length:
        return "length differs"
    if theirs.target is not None and ours.target != theirs.target:
        return "target differs"
    if {ours.flow, theirs.flow} == {"jump", "branch"}:
        return CONDITION
    if ours.flow != theirs.flow:
        return "flow differs"
    if ours.condition != theirs.condition and not IT_MOVS.match(theirs.text):
        return CONDITION
    return SAME


def is_iwmmxt(mode, raw):
    """Transfers of coprocessors 0 and 1, which glibc's setjmp saves and LLVM does not know."""
    word = int.from_bytes(raw if mode == "a" else raw[2:] + raw[:2], "little")
    return word & 0x0E000E00 == 0x0C000000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objdump", default="llvm-objdump-19")
    parser.add_argument("--triple")
    parser.add_argument("--lenient", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="show all differences, the tolerated ones too")
    parser.add_argument("--feed", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    dumper = None if arguments.feed else arguments.files.pop(0)
    count = collections.Counter()
    for path in arguments.files:
        runs = list(disassemble(arguments.objdump, arguments.triple, path))
        feed = "".join(f"{mode} {address:x} {code.hex()}\n" for mode, address, code, _ in runs)
        if arguments.feed:
            print(feed, end="")
            continue
        lines = subprocess.run([dumper], input=feed, capture_output=True, text=True, check=True).stdout
        lines = iter(lines.splitlines())
        for mode, address, code, instructions in runs:
            ours, at = {}, address
            while at + (2 if mode == "t" else 4) <= address + len(code):
                where, length, flow, condition, target, _ = next(lines).split()
                assert int(where, 16) == at
                ours[at] = Expected(int(length), flow, condition, int(target, 16), "")
                wide = mode == "a" or code[at - address + 1] >= 0xE8
                at += 4 if wide else 2
            for at, theirs in instructions.items():
                kind = compare(ours.get(at), theirs)
                raw = code[at - address : at - address + 4]
                count[kind] += 1
                tolerated = kind in (SAME, NEITHER) or (kind == OURS_ONLY and is_iwmmxt(mode, raw))
                if arguments.lenient:
                    tolerated = tolerated or kind in (OURS_ONLY, THEIRS_ONLY, CONDITION)
                count["failed"] += not tolerated
                if kind not in (SAME, NEITHER) and (arguments.verbose or not tolerated and count["failed"] <= 20):
                    print(f"{path}: {at:x} {mode} {raw.hex()} {kind}: {theirs} {ours.get(at)}")
    if arguments.feed:
        return 0
    failed = count.pop("failed", 0)
    print(", ".join(f"{kind}: {n}" for kind, n in count.most_common()))
    return 1 if failed or not count[SAME] else 0


if __name__ == "__main__":
    sys.exit(main())
