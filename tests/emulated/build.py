# SPDX-License-Identifier: MIT
"""Compiles and links the emulated programs. Run by run.py; what there is to build stands in variants.py."""

import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ["-std=gnu11", "-ffreestanding", "-g0"]


class BuildError(Exception):
    """A compiler or linker refused; its words are the text."""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(" ".join(map(str, command)) + "\n" + done.stdout + done.stderr)


def compile_file(target, level, source, out, warnings):
    flags = COMMON + [level] + warnings
    if source.suffix == ".S":
        flags += target.assembler_flags
    else:
        flags += target.flags
    if source.name == "runtime.c":
        flags += target.runtime_flags
    run(target.compiler + flags + ["-c", source, "-o", out])


def stem(target, level):
    return target.name.replace(", ", "-").replace(" ", "-").replace("+", "_") + level


def build(target, level, workload, folder, has_dsym=False):
    """Builds one image and returns its path. A program of ours comes with the assembly that belongs to it. has_dsym: with a dSYM
    bundle beside it, of an Apple target."""
    ours = workload.parent == HERE
    sources = [workload, HERE / "runtime.c"] + [HERE / name for name in target.extra]
    if ours and workload.name == "workload.c":
        sources.append(HERE / target.stubs)
    base = f"{stem(target, level)}-{workload.stem}"
    objects = []
    for source in sources:
        out = folder / f"{base}-{source.stem}.o"
        compile_file(target, level, source, out, ["-Wall", "-Wextra", "-Werror"] if ours else ["-w"])
        objects.append(out)
    image = folder / base
    run(target.linker + objects + ["-o", image])
    if has_dsym:
        run(["dsymutil-19", image])
    for out in objects:
        out.unlink()
    return image
