# SPDX-License-Identifier: MIT
"""Steps the programs of seeds.py and prints how many of their stacks were right; see run.sh."""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile

import seeds

HERE = pathlib.Path(__file__).resolve().parent
VIEWS = ["tables", "partly", "alone"]

# Minimum percentage of judged stacks that must be right: with unwind tables, and without.
GOALS = {"amd64": (100, 99.9), "i386": (100, 97), "arm64": (100, 99.9), "armhf": (99.99, 99.9)}

# torture.cc: names, suffixes of the target's compilers, flags.
TORTURE = {
    "torture-O0": ("g++", ["-O0"]),
    "torture-O2": ("g++", ["-O2"]),
    "torture-Os": ("g++", ["-Os"]),
    "torture-clang-O2": ("clang++", ["-O2", "-fomit-frame-pointer"]),
    "torture-clang-Oz": ("clang++", ["-Oz"]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description="Steps real programs instruction by instruction, and "
                                     "compares the stacks that are found with the true ones.")
    parser.add_argument("--roots", type=pathlib.Path, default=".", metavar="FOLDER",
                        help="PROCESSOR/programs/root in it has the processor's packages, unpacked")
    parser.add_argument("--stepper", default="tests/real/stepper", help="the stepper, built (%(default)s)")
    parser.add_argument("--processor", action="append", choices=seeds.PROCESSORS, help="only these")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="programs whose name matches")
    parser.add_argument("--sample", action="store_true", help="some programs, briefly; each must reach its own floors")
    parser.add_argument("--steps", type=int, help="instructions of each program (60000; of a sample 16000)")
    parser.add_argument("--runs", type=int, help="runs of each program, at most (6; of a sample 3)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--most", type=int, default=12, help="misses to show of each program (%(default)s)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="leave what was printed and compiled there")
    parser.add_argument("--packages", action="store_true", help="print the packages that are needed, and end")
    arguments = parser.parse_args()
    arguments.steps = arguments.steps or (16000 if arguments.sample else 60000)
    arguments.runs = arguments.runs or (3 if arguments.sample else 6)
    return arguments


def compile_torture(processor, folder, wanted):
    """Those that are wanted, and that the compilers there are can make."""
    target = seeds.COMPILERS[processor]
    for name, (compiler, flags) in TORTURE.items():
        if all(s.program != f"{{build}}/{name}" for s in wanted):
            continue
        if compiler == "g++":
            command = [f"{target}-g++"]
        else:
            command = ["clang++-19", f"--target={target}"]
        # Functions are bound at the first call.
        command += flags + ["-fno-plt" if "Os" in name else "-fplt", "-Wl,-z,lazy", "-w", "-pthread",
                            str(HERE / "torture.cc"), "-o", str(folder / name)]
        try:
            made = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            print(f"{name} for {processor}: there is no {command[0]}")
            continue
        if made.returncode != 0:
            print(f"{name} for {processor} is left out: {made.stderr.splitlines()[0] if made.stderr else 'not compiled'}")


def command_of(seed, processor, places, folder, arguments):
    """(command, environment) of the stepper, or None where the program is not there."""
    emulator = seeds.PROCESSORS[processor][1]
    root, build = places
    path = root / seed.program.format(build=build)
    if "*" in seed.program:
        path = next(iter(root.glob(seed.program)), path)
    if not path.exists():
        return None
    environment = {k: v.format(root=root) for k, v in seed.environment.items()}
    environment.update(PATH=os.environ["PATH"], HOME=str(folder), LANG="C.UTF-8")
    command = [arguments.stepper, "--steps", str(arguments.steps), "--runs", str(arguments.runs), *seed.options]
    if arguments.sample:
        command.append("--untimed")
    if seed.input:
        command += ["--input", seed.input]
    command = [str(pathlib.Path(arguments.stepper).resolve()), *command[1:]]
    if emulator is not None:
        return command, ["--", emulator, "-L", str(root), str(path), *seed.arguments], environment
    environment["LD_LIBRARY_PATH"] = seeds.libraries(str(root), processor)
    return command, ["--", str(path), *seed.arguments], environment


def run_one(seed, processor, places, folder, arguments, cpus):
    """What the stepper printed, or None where there is no such program."""
    made = command_of(seed, processor, places, folder, arguments)
    if made is None:
        return None
    command, program, environment = made
    cpu = cpus.get()
    try:
        done = subprocess.run([*command, "--cpu", str(cpu), *program], cwd=folder, env=environment, text=True,
                              capture_output=True, check=False, errors="replace")
    finally:
        cpus.put(cpu)
    return done.stdout if done.returncode == 0 else f"failed\t{done.stderr.strip()}"


class Result:
    """What came of one program."""

    def __init__(self, text):
        self.counts = {view: [0, 0, 0] for view in VIEWS}
        self.misses, self.failure, self.ran = [], None, []
        self.compared = [0, 0, 0, 0]
        for line in text.splitlines():
            words = line.split("\t")
            if words[0] == "count":
                self.counts[words[1]] = [int(w) for w in words[2:5]]
            elif words[0] == "compared":
                self.compared = [int(w) for w in words[1:5]]
            elif words[0] == "ran":
                self.ran = words[1:]
            elif words[0] == "miss":
                self.misses.append((words[1], int(words[2]), *words[3:6]))
            elif words[0] == "failed":
                self.failure = words[1]


def percent(right, wrong):
    if right + wrong == 0:
        return "-"
    if wrong == 0:
        return "100"
    return f"{int(1e5 * right / (right + wrong)) / 1e3:.3f}"


def row(name, steps, compared, unknown, counts):
    cells = [name, str(steps), str(compared), str(unknown)]
    for view in VIEWS:
        right, wrong, _ = counts[view]
        cells += [str(right + wrong), percent(right, wrong)]
    return cells + [str(counts["alone"][2])]


HEADINGS = ["program", "steps", "stacks", "unknown", "tables", "%", "partly", "%", "alone", "%", "no return"]


def print_table(rows):
    widths = [max(len(r[i]) for r in [HEADINGS, *rows]) for i in range(len(HEADINGS))]
    for r in [HEADINGS, *rows]:
        print("  ".join([r[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(r[1:], widths[1:])]), flush=True)


def disassemble(place, is_thumb):
    """The lines around a place of the form FILE+0xOFFSET."""
    path, _, offset = place.rpartition("+")
    if not path or not os.path.exists(path):
        return []
    at = int(offset, 16)
    # Stripped files do not mark Thumb code.
    mode = ["--triple=thumbv7-linux-gnueabihf"] if is_thumb else []
    text = subprocess.run(["llvm-objdump-19", "-d", "--no-show-raw-insn", *mode, f"--start-address={max(0, at - 24):#x}",
                           f"--stop-address={at + 16:#x}", path], capture_output=True, text=True, check=False).stdout
    return [("   >> " if re.match(rf"\s*{at:x}:", line) else "      ") + line.strip()
            for line in text.splitlines() if re.match(r"\s*[0-9a-f]+:", line)]


def print_misses(name, result, most):
    """Those with tables first; of neighbouring instructions the first."""
    shown, last = 0, None
    for view, count, kind, place, detail in sorted(result.misses, key=lambda m: (m[0] != "tables", m[0], m[3])):
        path, _, offset = place.rpartition("+")
        here = (view, path, int(offset, 16)) if path else (view, place, 0)
        is_neighbour = last is not None and last[:2] == here[:2] and here[2] - last[2] < 64
        last = here
        if is_neighbour or shown == most:
            continue
        shown += 1
        print(f"\n{name}: {view}: {place}, {kind}, {count} times: {detail}")
        for line in disassemble(place, "Thumb" in kind):
            print(line)
    if len(result.misses) > shown:
        print(f"\n{name}: {len(result.misses)} places are wrong")


def is_good(name, goals, counts):
    """Whether enough is right with tables and without; says so where it is not."""
    good = True
    for view, goal in zip(("tables", "alone"), goals):
        right, wrong, _ = counts[view]
        if 100 * right < goal * (right + wrong):
            print(f"\n{name}: {percent(right, wrong)} % is right in the view \"{view}\", which is below {goal} %")
            good = False
    return good


def add(total, counts):
    for view in VIEWS:
        total[view] = [a + b for a, b in zip(total[view], counts[view])]


def run_processor(processor, folder, arguments, cpus):
    """Prints a processor's table; whether it is as good as it should be."""
    root = arguments.roots / processor / "programs" / "root"
    build = (arguments.keep or folder).resolve() / processor
    build.mkdir(exist_ok=True)
    wanted = [s for s in seeds.chosen(arguments.sample)
              if not arguments.only or any(fnmatch.fnmatch(s.name, p) for p in arguments.only)]
    compile_torture(processor, build, wanted)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        texts = list(pool.map(lambda s: run_one(s, processor, (root, build), folder, arguments, cpus), wanted))
    rows, results, total, good = [], [], {view: [0, 0, 0] for view in VIEWS}, True
    for seed, text in zip(wanted, texts):
        if text is None:
            print(f"{processor}: {seed.name} is not there")
            continue
        result = Result(text)
        if arguments.keep is not None:
            (arguments.keep / f"{processor} {seed.name}.txt").write_text(text)
        if result.failure is not None or sum(result.counts["tables"]) + sum(result.counts["partly"]) == 0:
            print(f"{processor} {seed.name}: {result.failure or 'nothing was judged'}")
            good = False
            continue
        results.append((seed.name, result))
        rows.append(row(f"{processor} {seed.name}", result.ran[1], result.compared[0], result.compared[1], result.counts))
        add(total, result.counts)
    sums = [sum(int(r[i]) for r in rows) for i in (1, 2, 3)]
    rows.append(row(f"{processor}", *sums, total))
    print()
    print_table(rows)
    for name, result in results:
        print_misses(f"{processor} {name}", result, arguments.most)
        if arguments.sample:
            all_tables = [a + b for a, b in zip(result.counts["tables"], result.counts["partly"])]
            counts = {"tables": all_tables, "alone": result.counts["alone"]}
            good = is_good(f"{processor} {name}", seeds.FLOORS[name][processor], counts) and good
    if not arguments.sample:
        good = is_good(processor, GOALS[processor], total) and good
    return good and bool(rows)


def main():
    arguments = parse_arguments()
    if arguments.packages:
        print(" ".join(seeds.packages(arguments.sample)))
        return 0
    arguments.roots = arguments.roots.resolve()
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    cpus = queue.Queue()
    for cpu in range(arguments.jobs):
        cpus.put(cpu % os.cpu_count())
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "home").mkdir(mode=0o700)
        for file, text in seeds.FILES.items():
            (folder / file).write_text(text)
        for processor in arguments.processor or seeds.PROCESSORS:
            good = run_processor(processor, folder, arguments, cpus) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
