# SPDX-License-Identifier: MIT
"""Builds the emulated programs, runs each in the emulator, prints the table and what is wrong; see run.sh."""

import argparse
import concurrent.futures
import fnmatch
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

import build
import generate
import report
import variants

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 1
SEEDS = 6  # random programs; each variant runs one of them
VISITS = 8  # of an instruction at which its stack is taken; USP_TEST_SCALE multiplies it


def scale():
    try:
        return max(1, int(os.environ.get("USP_TEST_SCALE", "1")))
    except ValueError:
        sys.exit("run.sh: USP_TEST_SCALE is not a number")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description="At each instruction of compiled programs, the stack "
                                     "from usp_unwind against the true one.")
    parser.add_argument("--harness", default="tests/emulated/harness", help="the harness, built (%(default)s)")
    parser.add_argument("--workload", action="append", type=pathlib.Path, metavar="FILE.c",
                        help="run this program instead of ours; its entry is unsigned usp_workload(unsigned rounds)")
    parser.add_argument("--seed", action="append", type=int, metavar="N", help="run this random program (generate.py)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="targets whose name matches")
    parser.add_argument("--level", action="append", metavar="-On", help="these optimisation levels")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=int, default=40, help="misses to list (%(default)s)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave the images and raw results there")
    parser.add_argument("--list", action="store_true", help="print the variants and end")
    return parser.parse_args()


def part():
    """Of the variants, each so many-th: targets have two levels or four, so that 3 leaves no level out."""
    return 3 if "USP_TEST_PART" in os.environ else 1


def chosen(arguments):
    """(target, level) of everything that is wanted."""
    return itertools.islice(matching(arguments), 0, None, part())


def matching(arguments):
    for target in variants.TARGETS:
        if arguments.only and not any(fnmatch.fnmatch(target.name, p) for p in arguments.only):
            continue
        for level in arguments.level or (target.levels if scale() == 1 else target.all_levels):
            if level in target.all_levels:
                yield target, level


def random_program(seed, folder):
    path = folder / f"random_{seed}.c"
    if not path.exists():  # a compiler may be reading it
        path.write_text(generate.program(seed))
    return path


def workloads_for(target, index, folder, arguments):
    """The programs that the variant of this index runs."""
    if arguments.workload or arguments.seed:
        given = [w.resolve() for w in arguments.workload or []]
        return [] if target.is_async else given + [random_program(s, folder) for s in arguments.seed or []]
    if target.is_async:
        return [HERE / "workload_async.c"]
    seeds = [1 + index % SEEDS] if scale() == 1 else [index * scale() + i for i in range(scale())]
    programs = ["workload.c", "workload_2.c"] + (["workload_3.c"] if "-fomit-frame-pointer" in target.flags else [])
    return [HERE / name for name in programs] + [random_program(s, folder) for s in seeds + target.seeds]


def run_one(target, level, workload, folder, arguments):
    """Builds one image and runs it once for each place of the signature. A list of report.Run, or an error's text."""
    try:
        image = build.build(target, level, workload, folder)
    except build.BuildError as error:
        return f"{target.name} {level} {workload.name}: {error}"
    runs = []
    for bits in target.bits:
        run = report.Run(f"{target.name} {level} {workload.stem}" + (f", {bits} bits" if bits else ""), target.name,
                         image, target.triple)
        command = [arguments.harness, "--rounds", str(arguments.rounds), "--visits", str(VISITS * scale())]
        # Also with a signature in the top byte: macOS signs so, and its addresses have 47 bits.
        command += ["--bits", str(bits)] if bits else []
        command += ["--top-byte"] if bits == 47 else []
        command += ["--async"] if target.is_async else []
        command += ["--tables"] if target.tables else []
        done = subprocess.run(command + [image], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"{run.name}: {done.stderr}"
        if arguments.keep:
            (folder / f"{image.name}{bits or ''}.txt").write_text(done.stdout)
        report.parse(done.stdout, run)
        runs.append(run)
    return runs


def check_signatures(target, run):
    """A run in which nothing was signed would prove nothing."""
    if target.bits == [None]:
        return [] if run.signed == 0 else [f"{run.name}: pointers were signed"]
    problems = []
    if run.checked == 0:
        problems.append(f"{run.name}: no signature was checked")
    if run.signed_slots == 0:
        problems.append(f"{run.name}: no signed return address was seen on the stack")
    return problems


def judge(target, name, scores):
    problems = []
    views = ["tables"] if target.tables else ["alone", "starts"]
    for view in views + (["async"] if target.is_async else []):
        score = scores[view]
        if not score.total or score.percent < target.goal:
            problems.append(f"{name}: {view}: {report.exact(score)} per cent are exact, not {target.goal}")
    table = scores["table"]
    if (target.bodies and not table.total) or table.counts[0] != table.total:
        problems.append(f"{name}: the tables are right at {table.counts[0]} of {table.total} instructions")
    decoder = scores["decoder"]
    if decoder.counts[0] != decoder.total:
        problems.append(f"{name}: the decoder is wrong {decoder.total - decoder.counts[0]} times")
    return problems


def gather(jobs, arguments):
    """Everything that was run: {(target's name, level): [Run]}, problems, {workload: {checksum}}."""
    results, problems, checksums = {}, [], {}
    for (target, level, workload), future in jobs.items():
        outcome = future.result()
        if isinstance(outcome, str):
            problems.append(outcome)
            continue
        for run in outcome:
            results.setdefault((target.name, level), (target, []))[1].append(run)
            problems += check_signatures(target, run)
            checksums.setdefault(workload, {}).setdefault(run.checksum, []).append(run.name)
    for sums in checksums.values():
        # A program given by the user may compute different results on different processors.
        if len(sums) > 1 and not arguments.workload:
            usual = max(sums, key=lambda s: len(sums[s]))
            problems += [f"{name}: computed {s} where others compute {usual}" for s in sums if s != usual
                         for name in sums[s]]
    return results, problems


def add_up(runs):
    scores = {}
    for run in runs:
        for name, score in run.scores.items():
            # Walks that have to find out the address bits count as much as the others.
            total = scores.setdefault(name.split(",")[0], report.Score())
            total.add(score.counts)
    return scores


def main():
    arguments = parse_arguments()
    if arguments.list:
        for target, level in chosen(arguments):
            print(target.name, level)
        return 0
    if not pathlib.Path(arguments.harness).is_file():
        sys.exit(f"run.sh: there is no {arguments.harness}: build it first (make tests/emulated/harness)")
    with tempfile.TemporaryDirectory() as temporary, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        jobs = {(target, level, workload): pool.submit(run_one, target, level, workload, folder, arguments)
                for index, (target, level) in enumerate(chosen(arguments))
                for workload in workloads_for(target, index, folder, arguments)}
        results, problems = gather(jobs, arguments)
        rows, misses = [], []
        for (name, level), (target, runs) in results.items():
            scores = add_up(runs)
            rows.append(report.row(f"{name} {level}", sum(r.executed for r in runs), sum(r.compared for r in runs),
                                   scores))
            problems += judge(target, f"{name} {level}", scores)
            misses += [m for r in runs for m in r.misses]
        report.print_table(rows)
        report.print_misses(misses, arguments.most)
    for problem in problems:
        print(f"FAIL: {problem}")
    print(f"{len(rows)} variants, {sum(int(r[1]) for r in rows)} instructions executed, "
          f"{sum(int(r[2]) for r in rows)} stacks compared: {'FAILED' if problems or not rows else 'ok'}")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
