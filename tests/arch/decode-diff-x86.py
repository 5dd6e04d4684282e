#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Compares the x86 decoders with llvm-objdump over the text of binaries: every distinct instruction's length, where it
# goes, and the target of direct branches. Not compared: effects and clobbers (see emulated/effects_x86.c).
#
#   decode-diff-x86.py DUMP ARCH FILE...     DUMP: the program built from decode_dump_x86.c; ARCH: x86_64 or i386
#   decode-diff-x86.py DUMP ARCH --limit N FILE...    the first N instructions of each file
#   decode-diff-x86.py DUMP ARCH --random N           N random byte strings, assembled as data
#   decode-diff-x86.py DUMP ARCH --list LIST …        the distinct instructions that do not differ into the file LIST
#
# Exit status 1 when something differs. Known and harmless differences are counted by their reason, not hidden.
import argparse
import collections
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^\s*([0-9a-f]+): ([0-9a-f]{2}(?: [0-9a-f]{2})*)\s*\t(.*)$")
PREFIX_ONLY = re.compile(r"^(lock|rep|repne|repe|repz|repnz|data16|addr16|addr32|rex64|(cs|ds|es|fs|gs|ss)|xacquire|"
                         r"xrelease|notrack|bnd)(\s|$)")
JCC = re.compile(r"^j(?!mp|cxz|ecxz|rcxz)[a-z]+$")
AHEAD = 16

def instructions(objdump, path, arch):
    """Yields (address, bytes, text, joined) of each instruction. joined: prefixes that objdump printed by themselves were
    put before the instruction that followed them, which objdump then did not decode with them."""
    # objdump would read a stripped file's debug file, which has no text, instead of the file itself.
    command = [objdump, "-d", f"--triple={arch}", "--debug-file-directory=/nonexistent", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        pending = None
        for line in process.stdout:
            match = LINE.match(line)
            if match is None:
                if pending is not None and line.strip():
                    yield pending
                    pending = None
                continue
            address, code, text = int(match[1], 16), bytes.fromhex(match[2]), match[3].strip()
            joined = pending is not None
            if joined:
                address, code = pending[0], pending[1] + code
                pending = None
            if text and all(PREFIX_ONLY.match(word) for word in text.split()):
                pending = (address, code, text, joined)
                continue
            yield address, code, text, joined
        if pending is not None:
            yield pending

def expected(text):
    """The flow that a disassembled instruction has, and the target of a direct branch."""
    words = [word for word in text.split() if not PREFIX_ONLY.match(word)]
    mnemonic = words[0].split(",")[0]
    operand = words[1] if len(words) > 1 else ""
    direct = int(operand, 16) if re.fullmatch(r"-?0x[0-9a-f]+", operand) else None
    if mnemonic in ("jmp", "jmpw", "jmpl", "jmpq"):
        return (("jump",), direct) if "*" not in text else (("jump-unknown", "jump-table"), None)
    if mnemonic.startswith("ljmp"):
        return ("jump-unknown",), None
    if JCC.match(mnemonic) or mnemonic in ("jcxz", "jecxz", "jrcxz", "loop", "loope", "loopne", "xbegin"):
        return ("branch",), direct
    if mnemonic in ("call", "callw", "calll", "callq"):
        return ("call", "next") if "*" not in text else ("call",), direct
    if mnemonic.startswith("lcall"):
        return ("call",), None
    if re.fullmatch(r"ret[wlq]?", mnemonic):
        return ("return",), None
    if re.fullmatch(r"(lret|iret)[wlq]?|int3|int1|hlt|ud[0-2][wlq]?|sysret[lq]?|sysexit[lq]?|rsm|uiret|eret[us]", mnemonic):
        return ("end",), None
    return ("next",), None

def harmless(arch, code, text, joined, length, direct, target):
    """Why a difference is none, or None."""
    if "<unknown>" in text:
        return "objdump does not know it"
    legacy = rb"[\x26\x2e\x36\x3e\x64-\x67\xf0\xf2\xf3]"
    rex = rb"[\x40-\x4f]"
    if joined:
        return "prefixes that objdump takes for an instruction by itself"
    body = re.match(legacy + b"*", code).end()
    prefixes, opcode = code[:body], code[body:]
    if length == 0 and opcode[:1] in (b"\xd5", b"\x62"):
        return "APX"
    if length == 0 and opcode[:1] in (b"\xc4", b"\xc5", b"\x8f") and re.search(rb"[\x66\xf2\xf3]", prefixes):
        return "legacy prefix before VEX or XOP"
    if b"\x66" in prefixes:
        branch = opcode[1:] if arch == "x86_64" and re.match(rex, opcode) else opcode
        if arch == "x86_64" and re.match(rb"[\xe8\xe9\xeb]|\x0f[\x80-\x8f]|[\x70-\x7f]", branch):
            return "66 before a near branch, which Intel ignores"
        if arch == "i386" and direct is not None and length == len(code) and target == direct & 0xffff:
            return "66 before a near branch, whose target objdump does not cut"
    return None

def compare(options, source, path):
    seen = set()
    chunk = list(itertools.islice(instructions(options.objdump, path, options.arch), options.limit or None))
    lines, distinct = [], []
    for number, (address, code, text, joined) in enumerate(chunk):
        if code in seen:
            continue
        seen.add(code)
        ahead, at = code, address + len(code)
        for following in chunk[number + 1:number + 1 + AHEAD]:
            if following[0] != at or len(ahead) >= len(code) + AHEAD:
                break
            ahead += following[1]
            at += len(following[1])
        lines.append(f"{address:x} {ahead[:len(code) + AHEAD].hex()}\n")
        distinct.append((address, code, text, joined))
    dumped = subprocess.run([options.dump, options.arch], input="".join(lines), stdout=subprocess.PIPE, text=True,
                            check=True).stdout.splitlines()
    agreed, different, explained = [], 0, collections.Counter()
    for (address, code, text, joined), line in zip(distinct, dumped, strict=True):
        length, flow, target, _ = line.split()
        length, target = int(length), int(target, 16)
        flows, direct = expected(text) if "<unknown>" not in text else ((), None)
        if length == len(code) and flow in flows and (direct is None or flow == "next" or direct == target):
            if not joined:
                agreed.append(f"{address:x} {code.hex()}\n")
            continue
        reason = harmless(options.arch, code, text, joined, length, direct, target)
        if reason is not None:
            explained[reason] += 1
            continue
        different += 1
        if different <= options.show:
            print(f"{source}: {address:x}: {code.hex(' ')}: {text!r}: decoder says {line}")
    if options.list:
        with open(options.list, "a", encoding="ascii") as out:
            out.writelines(agreed)
    reasons = "".join(f", {count} {reason}" for reason, count in explained.most_common())
    print(f"{source}: {len(chunk)} instructions, {len(distinct)} distinct, {different} differ{reasons}")
    return different

def random_object(directory, arch, count, seed):
    """An object file of random bytes that look like instructions: opcodes of each map with prefixes before them."""
    rng = random.Random(seed)
    starts = [b"", b"\x0f", b"\x0f\x38", b"\x0f\x3a", b"\xc5", b"\xc4", b"\x62", b"\x8f"]
    prefixes = [b"", b"", b"", b"", b"\x66", b"\xf2", b"\xf3", b"\x67", b"\x2e", b"\x3e", b"\x64"]
    path = os.path.join(directory, "random")
    with open(path + ".s", "w", encoding="ascii") as out:
        for _ in range(count):
            code = rng.choice(prefixes)
            if arch == "x86_64" and rng.random() < 0.5:
                code += bytes([rng.randrange(0x40, 0x50)])
            start = rng.choice(starts)
            code += start
            if start == b"\xc4":
                code += bytes([rng.choice((0xe0, 0x00, 0xc0)) | rng.choice((1, 2, 3))])
            if start == b"\x62":
                code += bytes([rng.choice((0xf0, 0x90, 0xd0)) | rng.choice((1, 2, 3, 5, 6)), rng.randrange(256) | 4])
            if start == b"\x8f":
                code += bytes([rng.choice((0xe8, 0xe9, 0xea))])
            code += rng.randbytes(11)
            # nops bring objdump back in step for the next instruction
            out.write(".byte " + ",".join(str(byte) for byte in code + b"\x90" * 15) + "\n")
    subprocess.run(["clang-19", f"--target={arch}-linux-gnu", "-c", path + ".s", "-o", path + ".o"], check=True)
    return path + ".o"

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("arch", choices=("x86_64", "i386"))
    parser.add_argument("files", nargs="*")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--list")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--objdump", default="llvm-objdump-19")
    options = parser.parse_intermixed_args()
    different = sum(compare(options, os.path.basename(path), path) for path in options.files)
    if options.random:
        with tempfile.TemporaryDirectory() as directory:
            path = random_object(directory, options.arch, options.random, options.seed)
            different += compare(options, f"random bytes, seed {options.seed}", path)
    return different != 0

if __name__ == "__main__":
    sys.exit(main())
