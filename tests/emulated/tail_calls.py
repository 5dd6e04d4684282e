# SPDX-License-Identifier: MIT
"""Builds the programs with tail calls, runs each in the emulator, prints what was inferred; see tail_calls.sh."""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

import build
import generate
import variants

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ["x86_64 linux", "x86_64 linux, gcc", "arm64 linux", "arm64 linux, gcc", "armv7 linux, arm, frameless",
           "armv7 linux, thumb", "i386 linux", "i386 linux, gcc", "arm64 apple", "x86_64 apple"]
LEVELS = ["-O2", "-Os"]
VERSIONS = [4, 5]  # of DWARF
PROGRAMS = ["workload_tail.c", "workload.c", "workload_2.c"]
SEEDS = [1, 2, 3]  # random programs (generate.py)
# The per cent of workload_tail.c's pairs with tail calls that must have all of them inferred. The other pairs have
# several possible ways, recursion or function pointers.
GOAL = 40
# clang 19 writes no call sites for calls in Thumb code, so nothing can be inferred there.
WITHOUT_GOAL = ["armv7 linux, thumb"]


def scale():
    """What is run: everything, or less than that without USP_TEST_SCALE."""
    if os.environ.get("USP_TEST_SCALE", "1") != "1":
        return LEVELS, VERSIONS, PROGRAMS, SEEDS
    return LEVELS[:1], VERSIONS, PROGRAMS[:2], SEEDS[:1]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tail_calls.sh", description="Inferred tail calls against the log of calls.")
    parser.add_argument("--harness", default="tests/emulated/tail_calls", help="the harness, built (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave the images there")
    return parser.parse_args()


def workloads(folder, programs, seeds):
    for seed in seeds:
        (folder / f"random_{seed}.c").write_text(generate.program(seed))
    return [HERE / name for name in programs] + [folder / f"random_{seed}.c" for seed in seeds]


def with_debug_information(target, version, workload):
    extra = target.extra + (["workload_tail_2.c"] if workload.name == "workload_tail.c" else [])
    return dataclasses.replace(target, name=f"{target.name}, DWARF {version}", extra=extra,
                               flags=target.flags + ["-g", f"-gdwarf-{version}"])


def run_one(target, level, workload, folder, harness):
    """The counts of one image, and what is wrong, as texts."""
    try:
        image = build.build(target, level, workload, folder, has_dsym="apple" in target.name)
    except build.BuildError as error:
        return None, [f"{target.name} {level} {workload.name}: {error}"]
    done = subprocess.run([harness, image], capture_output=True, text=True, check=False)
    problems = [f"{image.name}: {done.stderr}"] if done.returncode != 0 else []
    counts = None
    for line in done.stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "pairs":
            counts = [int(field) for field in fields]
        else:
            problems.append(f"{image.name}: not in the log: {' '.join(fields)}")
    return counts, problems


def main():
    arguments = parse_arguments()
    if not pathlib.Path(arguments.harness).is_file():
        sys.exit(f"tail_calls.sh: there is no {arguments.harness}: build it first (make tests/emulated/tail_calls)")
    targets = [t for t in variants.TARGETS if t.name in TARGETS]
    rows, problems = {}, []
    with tempfile.TemporaryDirectory() as temporary, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        levels, versions, programs, seeds = scale()
        sources = workloads(folder, programs, seeds)
        jobs = [(target, level, version, workload,
                 pool.submit(run_one, with_debug_information(target, version, workload), level, workload, folder,
                             arguments.harness))
                for target in targets for level in levels for version in versions for workload in sources]
        for target, level, version, workload, job in jobs:
            counts, wrong = job.result()
            problems += wrong
            kind = "tail" if workload.name == "workload_tail.c" else "other"
            row = rows.setdefault((f"{target.name} {level}, DWARF {version}", kind), [0] * 5)
            for i, count in enumerate(counts or []):
                row[i] += count
    print(f"{'':42} {'none':>7} {'all':>7} {'missing':>7} {'some':>7} {'wrong':>7}")
    total = [0] * 5
    for (name, kind), row in rows.items():
        print(f"{name + ', ' + kind:42} " + " ".join(f"{count:7}" for count in row))
        total = [a + b for a, b in zip(total, row)]
        elided = sum(row[1:])
        has_goal = kind == "tail" and not any(name.startswith(target + " ") for target in WITHOUT_GOAL)
        if has_goal and (elided == 0 or 100 * row[1] < GOAL * elided):
            problems.append(f"{name}: {row[1]} of {elided} pairs with tail calls are complete")
    for problem in problems:
        print(f"FAIL: {problem}")
    print(f"{sum(total)} pairs of frames, {sum(total[1:])} with tail calls: all were inferred of {total[1]}, some of {total[3]}, "
          f"none of {total[2]}; wrong: {total[4]}: {'FAILED' if problems or not rows else 'ok'}")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
