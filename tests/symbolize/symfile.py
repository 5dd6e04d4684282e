# SPDX-License-Identifier: MIT
"""Truths for files of symbols (symfile.sh). Answers are compared without columns, which neither format has.

usage: symfile.py write ELF SYM ADDRESSES TRUTH   writes Breakpad's symbols of an ELF file by what llvm-symbolizer says of each byte
                                                  of its functions, as dump_syms does by DWARF; the addresses of these bytes as the
                                                  file counts them; and what is expected of each
       symfile.py gsym DUMP TRUTH                 compares lines_dump with `llvm-gsymutil --addresses-from-stdin`
       symfile.py dwarf DUMP BY_DWARF             with lines_dump by DWARF: all but the name of the function itself, of which a symbol
                                                  table has several
       symfile.py breakpad DUMP TRUTH             with what `write` expects
"""
import itertools
import json
import re
import subprocess
import sys


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


# ---- answers: address -> [(function, path, line), ...], innermost call first

def read_dump(path):
    answers = {}
    with open(path, encoding="utf-8") as file:
        for block in file.read().split("\n\n"):
            lines = block.strip("\n").split("\n")
            if lines[0]:
                frames = [line.split("\t")[:4] for line in lines[1:]]
                answers[int(lines[0], 16)] = [
                    (f[0], "/".join(part for part in f[1:3] if part != "-"), int(f[3])) for f in frames]
    return answers


def read_gsym(path):
    answers = {}
    frames = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            start = re.match(r"0x([0-9a-f]+): ", line)
            if start:
                frames = answers[int(start[1], 16)] = []
                line = line[start.end():]
            found = re.match(r"(.+?)(?: \+ \d+)?(?: @ (.*):(\d+))?(?: \[inlined\])?$", line.strip())
            if found and not line.startswith("error"):
                frames.append((found[1], found[2] or "", int(found[3] or 0)))
    return answers


def compare(name, ours, truth):
    wrong = [address for address in truth if ours.get(address, []) != truth[address]]
    inlined = sum(1 for frames in truth.values() if len(frames) > 1)
    print(f"{name}: {len(truth)} addresses, {len(wrong)} wrong, {inlined} in inlined code")
    for address in wrong[:5]:
        print("  ", hex(address), "\n     ", ours.get(address), "\n     ", truth[address])
    return not wrong and len(truth) > 100


# ---- Breakpad's symbol files

def functions(elf):
    """[(start, size, name)] of sized functions, each start once."""
    found = {}
    for line in run("llvm-nm-19", "--print-size", "--numeric-sort", elf).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW" and int(words[1], 16) > 0:
            found.setdefault(int(words[0], 16), (int(words[1], 16), words[3]))
    return [(start, *found[start]) for start in sorted(found)]


def symbolize(elf, addresses):
    """address -> [(function, path, line)], by llvm-symbolizer."""
    text = run("llvm-symbolizer-19", "--obj=" + elf, "--output-style=JSON", "--no-demangle", "--inlines",
               text="\n".join(map(hex, addresses)))
    answers = {}
    for line in text.splitlines():
        answer = json.loads(line)
        answers[int(answer["Address"], 16)] = [
            (f["FunctionName"], f["FileName"], f["Line"]) for f in answer["Symbol"]]
    return answers


def runs(addresses, value):
    """[(value, first, size)] of neighbours with one value, without those of None."""
    for key, group in itertools.groupby(addresses, value):
        group = list(group)
        if key is not None:
            yield key, group[0], len(group)


class Writer:
    def __init__(self, base):
        self.base, self.files, self.origins, self.lines = base, {}, {}, []

    def inlined(self, addresses, answers, level):
        """INLINE records of one level: for each run of a call and its callers. Returns whether there were any."""
        def calls(address):
            frames = answers[address][::-1]
            if len(frames) < level + 2:
                return None
            return tuple((frames[i + 1][0], frames[i][1], frames[i][2]) for i in range(level + 1))

        by_call = {}
        for key, first, size in runs(addresses, calls):
            by_call.setdefault(key, []).append((first, size))
        for key, ranges in by_call.items():
            name, file, line = key[-1]
            origin = self.origins.setdefault(name, len(self.origins))
            number = self.files.setdefault(file, len(self.files))
            where = " ".join(f"{first - self.base:x} {size:x}" for first, size in ranges)
            self.lines.append(f"INLINE {level} {line} {number} {origin} {where}")
        return bool(by_call)

    def function(self, start, size, name, answers):
        addresses = range(start, start + size)
        self.lines.append(f"FUNC {start - self.base:x} {size:x} 0 {name}")
        level = 0
        while self.inlined(addresses, answers, level):
            level += 1
        for (file, line), first, length in runs(addresses, lambda a: answers[a][0][1:] if answers[a][0][2] else None):
            number = self.files.setdefault(file, len(self.files))
            self.lines.append(f"{first - self.base:x} {length:x} {line} {number}")


def first_segment(elf):
    for line in run("llvm-readelf-19", "-lW", elf).splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            return int(words[2], 16)
    raise ValueError("no segment")


def breakpad_id(build_id):
    guid = bytes.fromhex(build_id)[:16]
    return (guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]).hex().upper() + "0"


def write(elf, sym, addresses_path, truth_path):
    writer = Writer(first_segment(elf))
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("llvm-readelf-19", "-nW", elf))[1]
    everything = functions(elf)
    answers = symbolize(elf, [a for start, size, _ in everything for a in range(start, start + size)])
    truth = {}
    for start, size, name in everything:
        writer.function(start, size, name, answers)
        for address in range(start, start + size):
            # The format has no file for a call site with line 0 and for an address without a line.
            frames = [(f, p if n else "", n) for f, p, n in answers[address]]
            frames[-1] = (name, *frames[-1][1:])
            truth[hex(address - writer.base)] = frames
    with open(sym, "w", encoding="utf-8") as file:
        print("MODULE Linux x86_64", breakpad_id(build_id), "a program", file=file)
        print("INFO CODE_ID", build_id.upper(), file=file)
        for path, number in writer.files.items():
            print("FILE", number, path, file=file)
        for name, number in writer.origins.items():
            print("INLINE_ORIGIN", number, name, file=file)
        print("\n".join(writer.lines), file=file)
        print("STACK CFI INIT 0 10 .cfa: $rsp 8 +", file=file)
    with open(addresses_path, "w", encoding="utf-8") as file:
        print("\n".join(truth), file=file)
    with open(truth_path, "w", encoding="utf-8") as file:
        json.dump(truth, file)
    return True


def comparable(answers):
    """GSYM puts scopes in front of names that are not mangled."""
    return {address: [*((f.split("::")[-1], p, n) for f, p, n in frames[:-1]), ("", *frames[-1][1:])] if frames else []
            for address, frames in answers.items()}


def main():
    kind, *paths = sys.argv[1:]
    if kind == "write":
        ok = write(*paths)
    elif kind == "gsym":
        ok = compare(paths[0], read_dump(paths[0]), read_gsym(paths[1]))
    elif kind == "dwarf":
        ok = compare(paths[0], comparable(read_dump(paths[0])), comparable(read_dump(paths[1])))
    else:
        with open(paths[1], encoding="utf-8") as file:
            truth = {int(address, 16): [tuple(frame) for frame in frames]
                     for address, frames in json.load(file).items()}
        ok = compare(paths[0], read_dump(paths[0]), truth)
    sys.exit(not ok)


main()
