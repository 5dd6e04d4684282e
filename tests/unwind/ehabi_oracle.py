#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the library decodes of ARM's exception tables with what other tools say of the same file.

    ehabi_oracle.py --rules PROGRAM [--least N] [--calls N] FILE

For each entry of the index, at the first and the last byte of its function and between: the library's answer is what comes
of the instructions that readelf -u prints, carried out here (it prints none after a personality routine that it does not
know: then the answer is a rule). Where the file has .debug_frame as well: at each call (which
llvm-objdump finds) the rule is the CFI's row (llvm-dwarfdump --debug-frame).

Writes one line of counts. Ends with 1 after differences, or after fewer than N entries or calls.
"""
import argparse
import bisect
import re

from cfi_rows import Findings, parse_rule, read_fdes, run, show

CALLEE_SAVED = [f"r{n}" for n in range(4, 12)]


def registers_of(text):
    """The names in "r4, r7, D8-D9"."""
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-zA-Z]+)(\d+)(?:-[a-zA-Z]+(\d+))?\s*", part)
        for n in range(int(match[2]), int(match[3] or match[2]) + 1):
            yield f"{match[1].lower()}{n}"


def place(where):
    return f"[{where[0]}{where[1]:+}]"


class Program:
    """The stack as the lines of a program leave it: where a register's value stands is (base, offset)."""

    def __init__(self):
        self.vsp = ("sp", 0)
        self.at = {}
        self.refuses = False

    def carry_out(self, line):
        """False past the end of the program."""
        match = re.search(r"vsp = vsp ([+-]) (\d+)", line)
        if match:
            self.vsp = (self.vsp[0], self.vsp[1] + int(match[1] + match[2]))
            return True
        match = re.search(r"vsp = r(\d+)", line)
        if match:
            self.vsp = self.at.get(f"r{match[1]}", (f"r{match[1]}", 0))
            return True
        match = re.search(r"((?:0x[0-9a-f]{2} )+) *pop {([^}]*)}", line)
        if match:
            first = int(match[1].split()[0], 16)
            for register in registers_of(match[2]):
                self.at[register] = self.vsp
                self.vsp = (self.vsp[0], self.vsp[1] + (8 if register.startswith("d") else 4))
            if "r13" in self.at:
                self.vsp = (place(self.at.pop("r13")), 0)
            # The slot has the format of fstmfdx: one word more.
            if first == 0xB3 or 0xB8 <= first <= 0xBF:
                self.vsp = (self.vsp[0], self.vsp[1] + 4)
            return True
        if "Refuse to unwind" in line:
            self.refuses = True
            return False
        if re.search(r"0xb0 +finish", line):
            return False
        raise ValueError(f"readelf says: {line}")

    def answer(self):
        """As table_rules writes it."""
        if self.refuses:
            return "cannot"
        ra = self.at.get("r15", self.at.get("r14"))
        cfa = self.vsp[0] + (f"{self.vsp[1]:+}" if self.vsp[1] else "")
        saved = [f"{register}={place(self.at[register])}" for register in CALLEE_SAVED if register in self.at]
        return " ".join([f"cfa={cfa}", f"ra={place(ra)}" if ra else "ra=lr"] + saved)


def read_index(path):
    """[(start, answer)]"""
    entries = []
    program = None
    for line in run("readelf", "-u", "-W", path).splitlines():
        match = re.match(r"0x([0-9a-f]+)(?: <[^>]*>)?: (.*)", line)
        if match:
            entries.append([int(match[1], 16), "cannot" if "cantunwind" in match[2] else None])
            program = None if "cantunwind" in match[2] else Program()
        elif "Personality routine:" in line and program:
            entries[-1][1] = "unknown"
        elif line.startswith("  0x") and program:
            if not program.carry_out(line):
                entries[-1][1] = program.answer()
                program = None
        elif not line.strip() and program:
            # A program that ends without "finish" means the same.
            entries[-1][1] = entries[-1][1] or program.answer()
            program = None
    return entries


def compare_entries(findings, options, entries):
    asked = []
    for (start, expected), following in zip(entries, entries[1:] + [(0, None)]):
        end = following[0]
        for at in (start, (start + end) // 2, end - 1) if end else (start,):
            asked.append((at, start, end, expected))
    answers = run(options.rules, options.file, text="".join(f"{at:x}\n" for at, *_ in asked)).splitlines()
    if len(answers) != len(asked):
        findings.add(f"{len(answers)} answers to {len(asked)} addresses")
    for (at, start, end, expected), line in zip(asked, answers):
        if expected == "unknown" and line.split(" ", 3)[3].startswith("cfa="):
            expected = line.split(" ", 3)[3]
        if line != f"{at:#x} {start:#x} {end:#x} {expected}".replace(" 0x0 ", " 0 "):
            findings.add(f"{line}, readelf: {start:#x} {end:#x} {expected}")


def compare_calls(findings, options, fdes):
    calls = re.findall(r"^\s*([0-9a-f]+):\s+blx?\s", run("llvm-objdump-19", "-d", "--no-show-raw-insn", options.file), re.M)
    fdes = sorted(fdes, key=lambda fde: fde[1])
    starts = [fde[1] for fde in fdes]
    asked = []
    for call in (int(text, 16) for text in calls):
        i = bisect.bisect_right(starts, call) - 1
        if i >= 0 and call < fdes[i][2]:
            asked.append((call, [row for pc, row in fdes[i][3] if pc <= call][-1]))
    answers = run(options.rules, options.file, text="".join(f"{call:x}\n" for call, _ in asked)).splitlines()
    for (call, row), line in zip(asked, answers):
        answer = line.split(" ", 3)[3]
        row = row and {name: at for name, at in row.items() if name in CALLEE_SAVED + ["cfa", "ra"]}
        rule = parse_rule(answer) if answer.startswith("cfa=") else None
        if rule is None or rule != row:
            findings.add(f"call at {call:#x}: {answer}: {show(rule)}, CFI: {show(row)}")
    return len(answers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules", required=True)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("file")
    options = parser.parse_args()
    findings = Findings()
    entries = read_index(options.file)
    compare_entries(findings, options, entries)
    calls = compare_calls(findings, options, read_fdes("--debug-frame", options.file)) if options.calls else 0
    described = sum(answer not in ("cannot", "unknown") for _, answer in entries)
    if described < options.least or calls < options.calls:
        findings.add(f"{described} entries of at least {options.least}, {calls} calls of at least {options.calls}")
    findings.end(f"{options.file}: {len(entries)} entries, {described} described, {calls} calls")


main()
