# SPDX-License-Identifier: MIT
"""Reads what the harness prints, adds it up and prints it for people."""

import subprocess
from dataclasses import dataclass, field

VERDICTS = ["exact", "missing", "extra", "wrong"]


@dataclass
class Score:
    counts: list = field(default_factory=lambda: [0, 0, 0, 0])

    def add(self, counts):
        self.counts = [a + b for a, b in zip(self.counts, counts)]

    @property
    def total(self):
        return sum(self.counts)

    @property
    def percent(self):
        return 100.0 * self.counts[0] / self.total if self.total else 0.0


@dataclass
class Miss:
    """A place at which stacks differ."""

    run: "Run"
    view: str
    count: int
    pc: int
    place: str
    why: str
    detail: list


@dataclass
class Run:
    """One run of the harness."""

    name: str
    family: str  # the target's name
    image: object
    triple: str
    executed: int = 0
    compared: int = 0
    checksum: str = ""
    signed: int = 0
    checked: int = 0
    signed_slots: int = 0
    described: int = 0  # instructions of bodies, by an unwind table
    scores: dict = field(default_factory=dict)
    misses: list = field(default_factory=list)


def parse(text, run):
    for line in text.splitlines():
        words = line.split("\t")
        if words[0] == "result":
            run.executed, run.compared, run.checksum = int(words[1]), int(words[2]), words[3]
            run.signed, run.checked, run.signed_slots = map(int, words[4:7])
        elif words[0] == "tables":
            run.described = int(words[1])
        elif words[0] == "score":
            run.scores.setdefault(words[1], Score()).add([int(w) for w in words[2:6]])
        elif words[0] == "miss":
            run.misses.append(Miss(run, words[1], int(words[2]), int(words[3], 16), words[4], words[5], words[6:]))


def exact(score):
    """Per cent with so many digits that 100 means all; rounded down."""
    if score is None or not score.total:
        return "-"
    if score.counts[0] == score.total:
        return "100"
    return f"{int(score.percent * 1000) / 1000:.3f}"


HEADINGS = ["variant", "executed", "unwound", "alone", "starts", "tables", "missing", "extra", "wrong", "async",
            "decoder", "classic", "table"]
WALKS = ["alone", "starts", "tables"]


def row(name, executed, compared, scores):
    """alone: nothing is known but registers and memory; starts: functions' beginnings are offered, too; tables: unwind
    tables are; missing, extra and wrong: of all of them; table: of what tables say of bodies."""
    walks = [scores.get(walk, Score()) for walk in WALKS]
    counts = [sum(column) for column in zip(*(w.counts for w in walks))]
    decoder = scores["decoder"]
    return [name, f"{executed}", f"{compared}", *map(exact, walks), *map(str, counts[1:]), exact(scores.get("async")),
            str(decoder.total - decoder.counts[0]), exact(scores["classic"]), exact(scores["table"])]


def print_table(rows):
    widths = [max(len(r[i]) for r in [HEADINGS, *rows]) for i in range(len(HEADINGS))]
    for r in [HEADINGS, *rows]:
        cells = [r[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(r[1:], widths[1:])]
        print("  ".join(cells))


def disassemble(image, pc, triple, around=40):
    """The lines around pc, it marked; empty where the disassembler has nothing to say."""
    command = ["llvm-objdump-19", "-d", f"--start-address={max(pc - around, 0):#x}",
               f"--stop-address={pc + around:#x}"] + ([f"--triple={triple}"] if triple else []) + [image]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    lines = []
    for line in text.splitlines():
        try:
            here = int(line.split(":")[0].strip(), 16) == pc
        except ValueError:
            continue
        lines.append(("   >> " if here else "      ") + line.rstrip())
    return lines


def function_of(place):
    return place.rsplit("+", 1)[0]


def group(misses):
    """{(view, function, why): [Miss]}, the most frequent first; bits that a view had to find out are no other view."""
    groups = {}
    for miss in sorted(misses, key=lambda m: -m.count):
        key = (miss.run.family, miss.view.split(",")[0], function_of(miss.place), miss.why)
        groups.setdefault(key, []).append(miss)
    return dict(sorted(groups.items(), key=lambda item: -sum(m.count for m in item[1])))


def print_miss(miss):
    print(f"\n{miss.run.name}: {miss.view}: {miss.place} ({miss.pc:#x}): {miss.why}, {miss.count} times")
    for detail in miss.detail:
        print(f"      {detail}")
    for line in disassemble(miss.run.image, miss.pc, miss.run.triple):
        print(line)


def print_misses(misses, most):
    """All of them function by function; then `most` instructions, of as many functions as possible."""
    groups = group(misses)
    if not groups:
        return
    print("\nwhat differs, by function:")
    for (family, view, function, why), members in groups.items():
        print(f"  {sum(m.count for m in members):7} x  {family}: {view}: {function}: {why}, "
              f"{len({(m.run.name, m.pc) for m in members})} instructions in {len({m.run.name for m in members})} runs")
    shown, depth = 0, 0
    print("\nwhat differs, by instruction:")
    while shown < most and any(depth < len(members) for members in groups.values()):
        for members in groups.values():
            if depth < len(members) and shown < most:
                print_miss(members[depth])
                shown += 1
        depth += 1
    if len(misses) > shown:
        print(f"\n... and {len(misses) - shown} more places (--most, --keep)")
