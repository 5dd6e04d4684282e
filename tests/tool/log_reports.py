#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes reports as other tools do, without names, and what they are to become: for tests/tool/log_macho.sh.

log_reports.py [--mangled] FOLDER ARCH FILE...

FILE: linked Mach-O files, of which llvm-nm-19 tells the functions; nothing of unspool's is asked. For each report NAME in
FOLDER there are NAME.in and NAME.named. `images` tells the images of `bare`, which does not.
"""
import json
import os
import random
import re
import subprocess
import sys

PLAIN = re.compile(r"^_(local|hidden|visible|weak)_\d+$")


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


class Image:
    """A file, loaded somewhere; or one that is not here."""

    def __init__(self, path, arch, load, uuid=None, mangled=False):
        self.path = "/private/var/containers/Bundle/" + os.path.basename(path)
        self.name = os.path.basename(path)
        self.arch = arch
        self.load = load
        self.size = 0x100000
        self.functions = []
        self.uuid = uuid
        if uuid is not None:
            return
        self.uuid = next(line.split()[-1] for line in lines_of("llvm-objdump-19", "--macho", "--private-headers", path)
                         if line.strip().startswith("uuid "))
        symbols = [line.split(maxsplit=2) for line in lines_of("llvm-nm-19", "-n", "--defined-only", path)]
        # A program's addresses count from its header, a library's from 0.
        base = next((int(address, 16) for address, _, name in symbols if name == "__mh_execute_header"), 0)
        symbols = [(int(address, 16) - base, kind, name) for address, kind, name in symbols]
        starts = [address for address, _, _ in symbols]
        methods = [name[1:] for _, _, name in symbols if name.startswith("__ZN")]
        # One process names all of them.
        shown = dict(zip(methods, methods if mangled else lines_of("llvm-cxxfilt-19", *methods)))
        for (start, kind, name), (end, _, _) in zip(symbols, symbols[1:]):
            if kind not in "tT" or starts.count(start) != 1 or end <= start:
                continue
            if PLAIN.match(name):
                self.functions.append((start, end - start, name[1:]))
            elif name.startswith("__ZN"):
                self.functions.append((start, end - start, shown[name[1:]]))


class Frame:
    """A place in an image; `name` None: not known."""

    def __init__(self, image, offset, name=None, location=0):
        self.image, self.offset, self.name, self.location = image, offset, name, location

    @property
    def address(self):
        return self.image.load + self.offset

    def symbol(self):
        return f"{self.name} + {self.location}"


def stack(rng, images, missing, length=24):
    """Frames with their names. The first is where a thread stood: often a function's first byte. The others are what calls
    return to: often what lies after a function that ends in a call. A signal interrupts the sixth."""
    frames = []
    for index in range(length):
        if index == 4:
            frames.append(Frame(missing, 0x1234, "_sigtramp", 52))
            continue
        if index % 7 == 3:
            frames.append(Frame(missing, rng.randrange(0x1000, 0x8000, 4)))
            continue
        image = rng.choice(images)
        start, size, name = rng.choice(image.functions)
        exact = index in (0, 5)
        location = rng.choice([0, 0, 4]) if exact else rng.choice([4, size, size])
        frames.append(Frame(image, start + location, name, location))
    return frames


def is_given(frame):
    return frame.name == "_sigtramp"


def crash_line(index, frame, named):
    column = f"{index:<4}{frame.image.name:<30}\t0x{frame.address:016x} "
    if frame.name is not None and (named or is_given(frame)):
        return column + frame.symbol()
    if index % 2:
        return column + f"{frame.image.name} + {frame.offset}"
    return column + f"0x{frame.image.load:x} + {frame.offset}"


def cocoa_line(index, frame, named):
    name = frame.image.name[:35]
    column = f"{index:<4}{name:<35} 0x{frame.address:016x} "
    if frame.name is not None and (named or is_given(frame)):
        return column + frame.symbol()
    forms = (f"{name} + {frame.offset}", f"{frame.image.uuid.upper()} + {frame.offset}", "<redacted> + 84")
    return column + forms[index % 3]


def bs_line(index, frame, named):
    column = f"{frame.image.name:<30}  0x{frame.address:08x} "
    if frame.name is not None and (named or is_given(frame)):
        return column + frame.symbol()
    forms = (f"0x{frame.image.load:x}", "_mh_execute_header", frame.image.name)
    return column + f"{forms[index % 3]} + {frame.offset}"


def image_lines(images):
    for image in sorted(images, key=lambda image: image.load):
        uuid = image.uuid.replace("-", "").lower()
        yield f"0x{image.load:x} - 0x{image.load + image.size - 1:x} {image.name} {image.arch}  <{uuid}> {image.path}"


def crash(stacks, images, named):
    lines = ["Incident Identifier: 6156848E-344E-4D9E-84E0-87AFD0D0AE7B", "Process:             My App [1234]",
             "Exception Type:  EXC_BAD_ACCESS (SIGSEGV)", "Triggered by Thread:  0", ""]
    for number, frames in enumerate(stacks):
        lines.append(f"Thread {number} name:  \xe9\x00 0x10 + 20")
        lines.append(f"Thread {number}{' Crashed' if number == 0 else ''}:")
        lines += [crash_line(index, frame, named) for index, frame in enumerate(frames)]
        lines.append("")
    return lines + ["Binary Images:"] + list(image_lines(images)) + ["", "EOF", ""]


def as_call(frame):
    """The return address of a call at the end of a frame's function, which is what callStackSymbols begins with."""
    if frame.name is None:
        return frame
    size = next(size for _, size, name in frame.image.functions if name == frame.name)
    return Frame(frame.image, frame.offset - frame.location + size, frame.name, size)


def log(stacks, named):
    """What apps print of themselves, in the midst of other things."""
    lines = []
    for frames in stacks:
        lines.append("2026-11-21 14:00:00.123 My App[1234:567890] *** total + 12 in (")
        for index, frame in enumerate([as_call(frames[0])] + frames[1:]):
            lines.append(f'\t"{cocoa_line(index, frame, named)}",' if index % 2 else f"\t{cocoa_line(index, frame, named)}")
        lines.append(")")
        lines.append("Backtrace of Thread 771:")
        lines += [bs_line(index, frame, named) for index, frame in enumerate(frames)]
        lines.append("")
    return lines


def ips(stacks, images, named):
    order = {id(image): index for index, image in enumerate(images)}

    def frame_of(index, frame):
        known = frame.name is not None
        object = {"imageOffset": frame.offset}
        if known and (named or is_given(frame)):
            object["symbol"] = frame.name
            object["symbolLocation"] = frame.location
        elif known and index == 2:
            object["symbol"] = "<redacted>"
            object["symbolLocation"] = 0
        object["imageIndex"] = order[id(frame.image)]
        return object

    body = {
        "uptime": 1000, "procName": "My App", "asi": {"x": ["\u00e9 \u2028 \\ \"", 1.5e-3, None, True]},
        "threads": [{"id": number, "triggered": number == 0, "threadState": {"x": [{"value": 18446744073709551615}]},
                     "frames": [frame_of(*pair) for pair in enumerate(frames)]}
                    for number, frames in enumerate(stacks)],
        "usedImages": [{"source": "P", "arch": image.arch, "base": image.load, "size": image.size,
                        "uuid": image.uuid.lower(), "path": image.path, "name": image.name} for image in images],
    }
    header = {"app_name": "My App", "bug_type": "309", "incident_id": "6156848E-344E-4D9E-84E0-87AFD0D0AE7B"}
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    text = text.replace('"usedImages":[', '\n  "usedImages" : [\n  ').replace("/", "\\/")
    return [json.dumps(header), text]


def write(folder, name, lines, end="\n"):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(end.join(lines).encode())


def main():
    arguments = sys.argv[1:]
    mangled = arguments[0] == "--mangled"
    folder, arch, *files = arguments[mangled:]
    rng = random.Random(4)

    def launch():
        images = [Image(file, arch, rng.randrange(0x100, 0x200) << 24 | number << 20 | rng.randrange(16) << 14,
                        mangled=mangled) for number, file in enumerate(files)]
        missing = Image("libmissing.dylib", arch, rng.randrange(0x1a0, 0x1b0) << 24, "6C0A5E4D-0000-3E8B-9B0C-AAAAAAAAAAAA")
        for image in images:
            assert len(image.functions) > 50, image.name
        return images, missing

    # Two launches in one log: the same images at other addresses.
    launches = [launch(), launch()]
    stacks = [[stack(rng, images, missing) for _ in range(3)] for images, missing in launches]
    for named in (False, True):
        end = ".named" if named else ".in"
        both = [line for of, (images, missing) in zip(stacks, launches) for line in crash(of, images + [missing], named)]
        write(folder, "crash" + end, both)
        write(folder, "crash-dos" + end, both, "\r\n")
        images, missing = launches[0]
        own = log(stacks[0], named)
        listed = list(image_lines(images + [missing]))
        write(folder, "bare" + end, own)
        write(folder, "log" + end, own + ["Binary Images:"] + listed)
        write(folder, "log-after" + end, listed + [""] + own)
        write(folder, "ips" + end, ips(stacks[0], images + [missing], named))
    write(folder, "images", listed)


main()
