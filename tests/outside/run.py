# SPDX-License-Identifier: MIT
"""Compares the stacks of programs that others made with what gdb and eu-stack find, and with the programs' own account.

Each program (programs.py) is installed, built and run in a fresh root of Debian, where gdb and eu-stack run too; unspool
runs outside, and finds the programs' files through /proc. A program's result is kept in the results' folder, so that a
second run goes on where the first ended. The last step writes the table of doc/other-programs.md. Run by the lane
outside.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time

import programs

ENVIRONMENT = {
    "PATH": "/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/programs",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "VIRTUAL_ENV": "/venv",
}
READS = ("0", "19")  # the numbers of read(2) and readv(2) on x86_64
AT_ENTRY = 9  # of <elf.h>
START = 64  # more bytes than _start has


class Failed(Exception):
    pass


class Root:
    """The fresh root: commands in it see nothing of this machine's environment."""

    def __init__(self, folder):
        self.folder = folder

    def command(self, where, text):
        return [
            "chroot",
            str(self.folder),
            "/usr/bin/env",
            "-i",
            "-C",
            where,
            *[f"{k}={v}" for k, v in ENVIRONMENT.items()],
            "/bin/sh",
            "-c",
            text,
        ]

    def run(self, where, text, seconds=1800):
        done = subprocess.run(
            self.command(where, text),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            text=True,
            errors="replace",
        )
        if done.returncode != 0:
            raise Failed(f"{text}\n{done.stdout[-2000:]}")
        return done.stdout


def children(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from children(int(child))
        except OSError:
            pass


def thread_that_reads(first):
    """The process and thread, of `first` and its children, that is in read or readv from what `first` has as standard input."""
    try:
        wanted = os.stat(f"/proc/{first}/fd/0").st_ino
    except OSError:
        return None  # it has ended
    for pid in [first, *children(first)]:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            try:
                number, descriptor, *_ = (task / "syscall").read_text().split()
                if number in READS and os.stat(f"/proc/{pid}/fd/{int(descriptor, 16)}").st_ino == wanted:
                    return pid, int(task.name)
            except (OSError, ValueError):
                pass
    return None


def by_unspool(unspool, pid, tid):
    out = subprocess.run(
        [unspool, "stack", "--json", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120
    ).stdout
    for thread in json.loads(out)["threads"]:
        if thread["id"] == tid:
            # Inlined calls are frames, as in the other tools' lists.
            return [
                {"name": c.get("symbol"), "line": c.get("source_line"), "address": int(f["address"], 16)}
                for f in thread["frames"]
                for c in [*f.get("inlined", []), f]
            ]
    return []


def by_gdb(root, pid, tid):
    out = root.run(
        "/",
        f"gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set width 0' "
        f"-iex 'set backtrace past-main on' -p {pid} -ex 'thread apply all bt' 2>&1",
        300,
    )
    frames, inside = [], False
    for line in out.splitlines():
        if line.startswith("Thread "):
            inside = bool(re.search(rf"\b(LWP|process) {tid}\b", line))
        elif inside and (m := re.match(r"#\d+\s+(?:0x([0-9a-f]+) in )?(.+?) \(.*?(\bat \S+:\d+)?$", line)):
            frames.append({"name": None if m[2] == "??" else m[2], "line": m[3], "address": int(m[1] or "0", 16)})
    return frames


def by_eu_stack(root, pid, tid):
    # Its status is 1 where an unwinding ends with an error.
    out = root.run("/", f"eu-stack -i -s -p {pid} 2>&1 || true", 300)
    frames, inside = [], False
    for line in out.splitlines():
        if line.startswith("TID "):
            inside = line == f"TID {tid}:"
        elif inside and (m := re.match(r"#\d+\s+0x([0-9a-f]+)( - \d+| +)?\s*(.*)$", line)):
            frames.append({"name": m[3].strip() or None, "line": None, "address": int(m[1], 16)})
        elif inside and frames and re.match(r"\s+\S+:\d+", line):
            frames[-1]["line"] = line.strip()
    return frames


def count_chain(chain, frames):
    """How many functions of the chain are found, in order."""
    found = 0
    for frame in frames:
        if found < len(chain) and frame["name"] and re.search(chain[found], frame["name"]):
            found += 1
    return found


def entry_of(pid):
    """The address of the program's first instruction, which is that of _start also where there are no names."""
    words = struct.iter_unpack("QQ", pathlib.Path(f"/proc/{pid}/auxv").read_bytes())
    return next(value for kind, value in words if kind == AT_ENTRY)


def judge(program, frames, entry):
    last = frames[-1] if frames else {"name": None, "address": 0}
    return {
        "frames": len(frames),
        "names": sum(1 for f in frames if f["name"]),
        "lines": sum(1 for f in frames if f["line"]),
        "chain": count_chain(program.chain, frames),
        "end": entry < last["address"] <= entry + START or bool(re.search(program.ends, last["name"] or "")),
        "outermost": last["name"] or hex(last["address"]),
        "stack": [f["name"] for f in frames],
    }


def install_wheels(root, pip, wanted):
    """Downloads outside, where pip's configuration is, and installs inside."""
    wheels = root.folder / "wheels"
    done = subprocess.run(
        [
            *shlex.split(pip),
            "download",
            "-q",
            "--only-binary",
            ":all:",
            "--python-version",
            "3.11",
            "-d",
            str(wheels),
            *wanted.split(),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise Failed(done.stdout[-2000:])
    said = root.run("/", f"[ -d /venv ] || python3 -m venv /venv; pip install -q --no-index -f /wheels {wanted}")
    shutil.rmtree(wheels)
    return said


def prepare(root, pip, program, log):
    where = f"/programs/{program.name}"
    (root.folder / where[1:]).mkdir(parents=True, exist_ok=True)
    if program.debian:
        log(root.run("/", f"apt-get -qq install -y --no-install-recommends {program.debian}"))
        root.run("/", "apt-get clean")
    if program.python:
        log(install_wheels(root, pip, program.python))
    for name, text in program.files.items():
        (root.folder / where[1:] / name).write_text(text.lstrip("\n"))
    if program.build:
        log(root.run(where, program.build))
    return where


def examine(root, unspool, pip, program, log):
    where = prepare(root, pip, program, log)
    version = re.search(r"\d+(\.\d+)+[\w.+~-]*|\d+", root.run(where, program.version))
    reader, writer = os.pipe()
    process = subprocess.Popen(
        root.command(where, f"exec {program.run}"),
        stdin=reader,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    os.close(reader)
    try:
        # The programs of one chain read soon; a busy machine may take minutes.
        for _ in range(1200):
            found = thread_that_reads(process.pid)
            if found or process.poll() is not None:
                break
            time.sleep(0.25)
        if not found:
            os.set_blocking(process.stdout.fileno(), False)
            raise Failed(
                f"{program.run}: no thread reads from standard input: {(process.stdout.read() or b'')[-1000:]!r}"
            )
        pid, tid = found
        entry = entry_of(pid)
        result = {
            "version": version[0] if version else "?",
            "about": program.about,
            "note": program.note,
            "gap": program.gap,
            "chain": len(program.chain),
        }
        result["unspool"] = judge(program, by_unspool(unspool, pid, tid), entry)
        result["gdb"] = judge(program, by_gdb(root, pid, tid), entry)
        result["eu-stack"] = judge(program, by_eu_stack(root, pid, tid), entry)
        os.set_blocking(process.stdout.fileno(), False)
        said = (process.stdout.read() or b"").decode(errors="replace").splitlines()
        result["account"] = count_chain(program.account, [{"name": line} for line in said]) if program.account else None
        result["said"] = said[:20]
        if program.account and result["account"] != len(program.account):
            raise Failed(f"{program.name} itself says {said}, not {program.account}")
        return result
    finally:
        os.close(writer)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


HEAD = """| program | unspool | gdb | eu-stack | |
|---|---|---|---|---|
"""


def row(r):
    def cell(tool):
        t = r[tool]
        return (
            f"{t['frames']} / {t['names']} / {t['lines']} / {t['chain']} of {r['chain']}{' / end' if t['end'] else ''}"
        )

    note = "; ".join(filter(None, ["the program says the same" if r["account"] else "", r["note"], r["gap"]]))
    return f"| {r['about']} {r['version']} | {cell('unspool')} | {cell('gdb')} | {cell('eu-stack')} | {note} |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", type=pathlib.Path, help="the fresh root")
    parser.add_argument("results", type=pathlib.Path, help="a folder for the results, one file for each program")
    parser.add_argument("--unspool", default="tools/unspool", help="the command (%(default)s)")
    parser.add_argument("--pip", default="python3 -m pip", help="the command that downloads (%(default)s)")
    parser.add_argument("--only", action="append", help="this program; repeatable")
    parser.add_argument("--again", action="store_true", help="also programs that have a result")
    parser.add_argument("--table", type=pathlib.Path, help="write the table of all results there")
    arguments = parser.parse_args()
    root = Root(arguments.root)
    arguments.results.mkdir(parents=True, exist_ok=True)
    bad = 0
    for program in programs.PROGRAMS:
        path = arguments.results / f"{program.name}.json"
        if arguments.only and program.name not in arguments.only:
            continue
        if path.exists() and not arguments.again:
            continue
        with open(arguments.results / f"{program.name}.log", "w", encoding="utf-8") as log:
            try:
                path.write_text(
                    json.dumps(examine(root, arguments.unspool, arguments.pip, program, log.write), indent=1)
                )
            except (Failed, subprocess.TimeoutExpired, OSError) as why:
                print(f"{program.name}: FAILED: {why}", flush=True)
                bad += 1
                continue
        print(row(json.loads(path.read_text())), end="", flush=True)
    results = {
        p.name: json.loads(f.read_text())
        for p in programs.PROGRAMS
        if (f := arguments.results / f"{p.name}.json").exists()
    }
    for name, r in results.items():
        ours = r["unspool"]
        is_whole = ours["chain"] == r["chain"] and ours["end"]
        if is_whole == bool(r["gap"]):
            print(
                f"{name}: chain {ours['chain']} of {r['chain']}, outermost {ours['outermost']}, gap: {r['gap'] or 'none'}"
            )
            bad += 1
    if arguments.table:
        arguments.table.write_text(HEAD + "".join(map(row, results.values())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
