#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the decoders of arm64 and arm64_32 with llvm-objdump, instruction by instruction.

For every instruction that the disassembler knows, these must agree: its length, where it goes (kind of flow, target,
register), and exactly which integer registers it writes. What is expected is derived from the disassembler's text
alone.
Not checked here: the values that are written (tests/emulated/effects_arm64.c does that).

    arm64-decode-diff.py [--arch arm64_32] [--random N] [--words OUT] DUMP [FILE…]

DUMP is the compiled decode_dump_arm64; FILEs are ELF or Mach-O of either processor. --random adds N invented words,
--words writes all distinct words that the disassembler knows to OUT, as little-endian binary for effects_arm64.
The last line says how many were compared; the exit status is 1 if any differ, or if there was nothing to compare.
"""
import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

OBJDUMP = os.environ.get("OBJDUMP", "llvm-objdump-19")
OBJCOPY = os.environ.get("OBJCOPY", "llvm-objcopy-19")
NEXT, JUMP, BRANCH, CALL, JUMP_UNKNOWN, JUMP_TABLE, RETURN, END = range(8)
NO_REGISTER = 0xFF
LR, SP = 30, 31

LINE = re.compile(r"^\s*([0-9a-f]+):\s+([0-9a-f]{8})\s+(.*)$")
REGISTER = re.compile(r"^(?:[wx](\d+)|(w?sp)|fp|lr)$")
WRITE_BACK = re.compile(r"\[(x\d+|sp)[^\]]*\](?:!|,)|\b(x\d+)!")
ADDRESS = re.compile(r"\b0x([0-9a-f]+)(?: <[^>]*>)?$")

ENDS = {"brk", "hlt", "udf", "hvc", "smc", "tcancel", "eret", "eretaa", "eretab", "drps", "dcps1", "dcps2", "dcps3"}
JUMPS_BY_REGISTER = {"br", "braa", "brab", "braaz", "brabz"}
CALLS_BY_REGISTER = {"blr", "blraa", "blrab", "blraaz", "blrabz"}
RETURNS = {"ret", "retaa", "retab", "retaasppc", "retabsppc", "retaasppcr", "retabsppcr"}

# Mnemonics without a destination, or whose first operand is a source.
NO_DESTINATION = {
    "cmp", "cmn", "tst", "ccmp", "ccmn", "cmpp", "rmif", "setf8", "setf16", "ctermeq", "ctermne", "msr", "msrr", "sys",
    "sysp", "dc", "ic", "at", "tlbi", "tlbip", "cfp", "dvp", "cpp", "cosp", "brb", "trcit", "wfet", "wfit", "gcsss1",
    "gcspushm", "gcspushx", "gcspopcx", "gcspopx", "gcsstr", "gcssttr",
}  # fmt: skip
LR_ONLY = re.compile(r"^(pac|aut)i[ab](z|sp|sppcr?)$|^pacnbi[ab]sppc$|^xpaclri$")
X17_ONLY = re.compile(r"^(pac|aut)i[ab]1716(15)?$")
STORES_WITH_STATUS = re.compile(r"^st(l?t?x[rp][bh]?|ltxr|lxp|64bv0?)$")
FIRST_TWO = re.compile(
    r"^(ldn?p|ldtn?p|ldpsw|ldl?a?xp|ldiapp|mrrs|(rcws?)?casp(a|l|al)?t?"
    r"|(ldclr|ldset|swp|rcws?clr|rcws?set|rcws?swp)p(a|l|al)?)$"
)
SECOND = re.compile(
    r"^(swp|ldt?(add|clr|eor|set|smax|smin|umax|umin)|rcws?(clr|set|swp))t?(a|l|al)?[bh]?$|^swpt(a|l|al)?$"
)


def number(name):
    """The register's DWARF number; None for the zero register and for anything that is not an integer register."""
    match = REGISTER.match(name.strip())
    if not match:
        return None
    if match.group(1):
        return int(match.group(1))
    return {"sp": SP, "wsp": SP, "fp": 29, "lr": LR}[name.strip()]


def expected_flow(mnemonic, operands):
    """(flow, target or None, register or None)"""
    first = operands[0] if operands else ""
    match = ADDRESS.search(operands[-1]) if operands else None
    target = int(match.group(1), 16) if match else None
    if mnemonic in ("b", "b.al", "b.nv", "bc.al", "bc.nv"):
        return JUMP, target, None
    if mnemonic == "bl":
        return CALL, target, None
    if mnemonic.startswith(("b.", "bc.", "cbz", "cbnz", "tbz", "tbnz")):
        return BRANCH, target, None
    if mnemonic in ENDS:
        return END, None, None
    if mnemonic in CALLS_BY_REGISTER:
        return CALL, 0, None
    if mnemonic in JUMPS_BY_REGISTER:
        register = number(first)
        return (END, None, None) if register is None else (JUMP_UNKNOWN, None, register)
    if mnemonic in RETURNS:
        register = number(first) if mnemonic == "ret" and first else LR
        return (END, None, None) if register is None else (RETURN, None, register)
    return NEXT, None, None


def expected_writes(mnemonic, operands):
    """The set of DWARF numbers."""
    text = ", ".join(operands)
    writes = {number(a or b) for a, b in WRITE_BACK.findall(text)}
    if mnemonic == "bl" or mnemonic in CALLS_BY_REGISTER or LR_ONLY.match(mnemonic):
        writes.add(LR)
    elif X17_ONLY.match(mnemonic):
        writes.add(17)
    elif mnemonic == "svc":
        writes |= {0, 1}
    elif mnemonic in NO_DESTINATION | RETURNS | JUMPS_BY_REGISTER or mnemonic.startswith(("cb", "tb")):
        pass
    elif mnemonic == "ld64b":
        writes |= {number(operands[0]) + i for i in range(8)}
    elif FIRST_TWO.match(mnemonic):
        writes |= {number(operands[0]), number(operands[1])}
    elif SECOND.match(mnemonic):
        writes.add(number(operands[1]))
    elif mnemonic.startswith("st") and not STORES_WITH_STATUS.match(mnemonic):
        pass
    elif operands:
        writes.add(number(operands[0]))
    writes.discard(None)
    return writes


def disassemble(path):
    """Yields (address, word, mnemonic, operands) for what llvm-objdump knows in the file."""
    # Without symbols llvm-objdump cannot tell literals from code, so this is every word of the executable sections.
    command = [OBJDUMP, "-d", "--mattr=+all", "--no-print-imm-hex", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            match = LINE.match(line)
            if not match:
                continue
            text = match.group(3).split("//")[0].split(" ; ")[0].strip()
            mnemonic, _, rest = text.partition("\t")
            if mnemonic.startswith((".", "<")):
                continue
            operands = [part.strip() for part in rest.split(",")] if rest.strip() else []
            yield int(match.group(1), 16), int(match.group(2), 16), mnemonic, operands
        if process.wait() != 0:
            sys.exit(f"{OBJDUMP} failed on {path}")


def invented_words(count, seed):
    """All hints, which chance would hardly find, then random words in which fields are often all zeros or all ones, as
    most rare encodings want them."""
    yield from (0xD503201F | hint << 5 for hint in range(128))
    generator = random.Random(seed)
    fields = ((0, 5), (5, 5), (10, 3), (13, 3), (16, 5), (21, 3), (24, 2))
    for _ in range(count):
        word = generator.getrandbits(32)
        for low, width in fields:
            choice = generator.random()
            mask = ((1 << width) - 1) << low
            if choice < 0.25:
                word &= ~mask
            elif choice < 0.5:
                word |= mask
        yield word


def object_of(words, folder):
    """An ELF object whose text is the words."""
    binary, elf = os.path.join(folder, "words.bin"), os.path.join(folder, "words.o")
    with open(binary, "wb") as file:
        for word in words:
            file.write(struct.pack("<I", word))
    subprocess.run(
        [OBJCOPY, "-I", "binary", "-O", "elf64-littleaarch64", "--rename-section", ".data=.text,code", binary, elf],
        check=True,
    )
    return elf


def decoded(dump, arch, instructions):
    """What our decoder says of each: None, or (length, flow, target, register, mask)."""
    with tempfile.TemporaryFile("w+") as lines:
        for address, word, _, _ in instructions:
            lines.write(f"{address:x} {word:x}\n")
        lines.seek(0)
        output = subprocess.run([dump, arch], stdin=lines, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        field = line.split()
        if field[1] == "0":
            yield None
        else:
            yield int(field[1]), int(field[2]), int(field[3], 16), int(field[4]), int(field[5], 16)


def difference(instruction, ours, address_mask):
    """What is wrong, or None."""
    _, _, mnemonic, operands = instruction
    if ours is None:
        return "not decoded"
    length, flow, target, register, mask = ours
    if length != 4:
        return f"length {length}"
    want_flow, want_target, want_register = expected_flow(mnemonic, operands)
    if flow != want_flow:
        return f"flow {flow}, expected {want_flow}"
    if want_target is not None and target != want_target & address_mask:
        return f"target {target:#x}, expected {want_target:#x}"
    if register != (NO_REGISTER if want_register is None else want_register):
        return f"target register {register}, expected {want_register}"
    writes = {n for n in range(64) if mask >> n & 1}
    want_writes = expected_writes(mnemonic, operands)
    if writes != want_writes:
        return f"writes {sorted(writes)}, expected {sorted(want_writes)}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", choices=("arm64", "arm64_32"), default="arm64")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", metavar="OUT")
    parser.add_argument("dump", metavar="DUMP")
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()

    compared = wrong = 0
    distinct, mnemonics, shown = set(), set(), set()
    with tempfile.TemporaryDirectory() as folder:
        files = list(arguments.files)
        if arguments.random:
            files.append(object_of(invented_words(arguments.random, arguments.seed), folder))
        for path in files:
            instructions = list(disassemble(path))
            address_mask = 0xFFFFFFFF if arguments.arch == "arm64_32" else 0xFFFFFFFFFFFFFFFF
            for instruction, ours in zip(instructions, decoded(arguments.dump, arguments.arch, instructions)):
                compared += 1
                distinct.add(instruction[1])
                mnemonics.add(instruction[2])
                problem = difference(instruction, ours, address_mask)
                if problem:
                    wrong += 1
                    if instruction[2] not in shown:
                        shown.add(instruction[2])
                        address, word, mnemonic, operands = instruction
                        print(f"{path}: {address:x}: {word:08x} {mnemonic} {', '.join(operands)}: {problem}")
    if arguments.words:
        with open(arguments.words, "wb") as file:
            for word in sorted(distinct):
                file.write(struct.pack("<I", word))
    counts = f"{len(distinct)} distinct words, {len(mnemonics)} mnemonics"
    print(f"{compared} instructions compared, {counts}, {wrong} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
