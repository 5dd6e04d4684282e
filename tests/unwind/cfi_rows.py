# SPDX-License-Identifier: MIT
"""What the scripts beside it share: rows of DWARF CFI as llvm-dwarfdump writes them, and rules as table_rules does, in one
form: {"cfa": (register, offset), register: offset from the CFA, ...}, "ra" being the return address (absent: it is in the
link register).
"""
import re
import subprocess
import sys


def run(*command, text=None):
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, text=True).stdout


def register_name(name, swap_i386):
    """The library's name of a register of llvm-dwarfdump's; None where no rule has it (vectors)."""
    # In Darwin's __eh_frame for i386 the numbers of esp and ebp are exchanged (LLVM X86RegisterInfo.td).
    if swap_i386:
        name = {"ESP": "EBP", "EBP": "ESP"}.get(name, name)
    if name in ("WSP", "SP"):
        return "sp"
    if name in ("RIP", "EIP", "W30", "LR"):
        return "ra"
    if re.fullmatch(r"[BDQS]\d+", name):
        return None
    return re.sub(r"^W(?=\d)", "x", name).lower() if name.startswith("W") else name.lower()


def parse_row(text, swap_i386):
    """ "CFA=WSP+32: W19=[CFA-8], ..." """
    cfa, _, rest = text.partition(":")
    match = re.fullmatch(r"CFA=([A-Z0-9]+)([+-]\d+)?", cfa.strip())
    if not match:
        return None
    row = {"cfa": (register_name(match[1], swap_i386), int(match[2] or 0))}
    for name, offset in re.findall(r"([A-Z0-9]+)=\[CFA([+-]\d+)\]", rest):
        if register_name(name, swap_i386):
            row[register_name(name, swap_i386)] = int(offset)
    return row


def read_fdes(section_option, path, swap_i386=False):
    """[(offset in the section, start, end, [(pc, row)])] in the order of the file."""
    fdes = []
    for line in run("llvm-dwarfdump-19", section_option, path).splitlines():
        match = re.match(r"([0-9a-f]{8,}) [0-9a-f]+ [0-9a-f]+ (FDE|CIE)(?:.*pc=([0-9a-f]+)\.\.\.([0-9a-f]+))?", line)
        if match and match[2] == "FDE":
            fdes.append((int(match[1], 16), int(match[3], 16), int(match[4], 16), []))
        match = re.match(r"\s+0x([0-9a-f]+): (CFA=.*)", line)
        if match:
            fdes[-1][3].append((int(match[1], 16), parse_row(match[2], swap_i386)))
    return fdes


def parse_rule(text):
    """ "cfa=sp+32 ra=[sp+24] ..."; None when it cannot be expressed as a row. """
    parts = dict(part.split("=", 1) for part in text.split())
    match = re.fullmatch(r"([a-z]\w*?)([+-]\d+)?", parts.pop("cfa"))
    if not match:
        return None
    base, size = match[1], int(match[2] or 0)
    row = {"cfa": (base, size)}
    for name, place in parts.items():
        match = re.fullmatch(r"\[(\w+)([+-]\d+)\]", place)
        if not match:
            if name == "ra" and place in ("x30", "lr"):
                continue
            return None
        if match[1] != base:
            return None
        row[name] = int(match[2]) - size
    return row


def show(row):
    if row is None:
        return "-"
    return f"cfa={row['cfa'][0]}+{row['cfa'][1]} " + " ".join(f"{k}={v}" for k, v in sorted(row.items()) if k != "cfa")


class Findings:
    """Differences: the first few are shown, all of them count."""

    def __init__(self):
        self.count = 0

    def add(self, *text):
        self.count += 1
        if self.count <= 10:
            print(*text)

    def end(self, summary):
        print(summary + (f", {self.count} differences" if self.count else ""))
        sys.exit(1 if self.count else 0)
