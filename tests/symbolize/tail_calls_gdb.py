# SPDX-License-Identifier: MIT
"""Run by gdb: stops a program at functions and writes each new stack as a line of JSON: whether gdb knows all callees, and the frames,
innermost first: [pc as linked, name, whether gdb has inferred it]. For tail_calls.sh.

    gdb -batch -nx -ex 'py starts, input_file, out = FILE, FILE, FILE' -x tail_calls_gdb.py PROGRAM

`starts` has the functions' addresses as linked, one a line; `input_file` is the program's standard input."""

import json
import os

import gdb

# Visits of a function at which the stack is written, at full size (USP_TEST_SCALE, tests/support/under.h) or in a sample.
VISITS = 3 if int(os.environ.get("USP_TEST_SCALE") or 0) > 0 else 1
# gdb's messages if it does not find a callee's code: a call site refers to an abstract instance, or to a function with
# a separate part (.cold).
NOT_KNOWN = ("DW_AT_call_target is not specified", "resolving failed to find function name")


def outermost(frame):
    """The function that holds a frame's code: gdb names the innermost that was inlined there."""
    name = frame.name()
    block = gdb.block_for_pc(frame.pc() - 1)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            name = block.function.name
        block = block.superblock
    return name


def stack(base):
    said = gdb.execute("backtrace", to_string=True)
    frames, frame = [], gdb.newest_frame()
    while frame is not None:
        if frame.type() != gdb.INLINE_FRAME:
            inferred = frame.type() == gdb.TAILCALL_FRAME
            frames.append([frame.pc() - base, outermost(frame) if inferred else frame.name(), inferred])
        frame = frame.older()
    return [not any(text in said for text in NOT_KNOWN), frames]


class Stop(gdb.Breakpoint):
    def __init__(self, address, base, seen, file):
        super().__init__(f"*{address + base:#x}", internal=True)
        self.silent = True
        self.base, self.seen, self.file, self.visits = base, seen, file, 0

    def stop(self):
        self.visits += 1
        if self.visits == VISITS:
            self.enabled = False
        line = json.dumps(stack(self.base))
        if line not in self.seen:
            self.seen.add(line)
            self.file.write(line + "\n")
        return False


for setting in ("pagination off", "confirm off", "debuginfod enabled off", "disable-randomization on", "debug entry-values 1"):
    gdb.execute(f"set {setting}")
linked = int(gdb.parse_and_eval("(unsigned long)&main"))
gdb.execute("break main")
gdb.execute(f"run < {input_file} > /dev/null")  # noqa: F821 (given by the caller, as starts and out)
base = int(gdb.parse_and_eval("(unsigned long)&main")) - linked
with open(out, "w") as file:  # noqa: F821
    seen = set()
    for line in open(starts):  # noqa: F821
        Stop(int(line, 16), base, seen, file)
    gdb.execute("continue")
