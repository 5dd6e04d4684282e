# SPDX-License-Identifier: MIT
"""Compares the stacks of `unspool profile` with those of `perf script`, as counts of equal stacks.

    perf_compare.py UNSPOOL FILE

Two frames are equal if both have the same name, with these exceptions:
- Names of one address are one name: perf and unspool choose differently among `mmap` and `mmap64`.
- perf looks a return address up as it is, unspool looks the call up. They differ where a function ends with a call.
- Frames of the kernel have the names of the list that perf keeps of it. Without a list, or a build id of the kernel
  in the recording, unspool does not name them, and they are one kind. So are those of the kernel's modules.
- Stubs for calls to libraries are one kind. A place in an image that has no name there: the image must be the same.
- Where a chain of frame records ends, or leads through zeros, the kernel writes the address 0. perf prints it; no
  function is there, so unspool has no frame for it.
- In stacks that do not go through main, addresses outside all functions are one kind. The loader's code has no frame
  pointers, so the kernel finds other words in their place.

Exit status 0: they are equal, and a stack goes through main."""
import bisect
import collections
import functools
import os
import re
import subprocess
import sys
import typing

KERNEL, NOWHERE, STUB = "[kernel]", "[nowhere]", "[stub]"
# Functions of crtstuff and crti have no unwind table: stacks of perf end there, while unspool reads their code.
NO_TABLE = {"deregister_tm_clones", "register_tm_clones", "frame_dummy", "__do_global_dtors_aux", "_init", "_fini"}


def run(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=None if check else subprocess.DEVNULL, text=True).stdout


def without_version(name):
    return name.split("@")[0]


class Names:
    """The names of an image's functions, from the image and from its debug file: by address, and addresses by name."""

    def __init__(self, files):
        self.at, self.addresses = collections.defaultdict(set), collections.defaultdict(set)
        for arguments in [(file, *more) for file in files for more in ((), ("-D",))]:
            for line in run("nm", *arguments[1:], arguments[0], check=False).splitlines():
                found = re.match(r"([0-9a-f]+) [tTwWiuVv] (\S+)", line)
                if found:
                    address, name = int(found[1], 16), without_version(found[2])
                    self.at[address].add(name)
                    self.addresses[name].add(address)
        self.sorted = sorted(self.at)

    def same(self, name):
        return {name}.union(*(self.at[a] for a in self.addresses[name]))

    def before(self, name):
        """The names of the function that ends where this one begins."""
        places = [bisect.bisect_left(self.sorted, a) - 1 for a in self.addresses[name]]
        return set().union(*(self.at[self.sorted[i]] for i in places if i >= 0))


class KernelNames(Names):
    """The names of the kernel's functions, from the list that perf keeps; empty if it has none of this recording's."""

    def __init__(self, path):
        self.at, self.addresses = collections.defaultdict(set), collections.defaultdict(set)
        found = re.search(r"^([0-9a-f]{2})([0-9a-f]+) \[kernel.kallsyms\]$", run("perf", "buildid-list", "-i", path), re.M)
        kept = os.path.expanduser(f"~/.debug/.build-id/{found[1]}/{found[2]}/kallsyms") if found else ""
        lines = open(kept).read().splitlines() if os.path.isfile(kept) else []
        for address, _, name in (line.split() for line in lines if "\t" not in line):
            self.at[int(address, 16)].add(name)
            self.addresses[name].add(int(address, 16))
        self.sorted = sorted(self.at)


@functools.cache
def names_of(image):
    if image == KERNEL:
        return KernelNames(path)
    note = re.search("Build ID: ([0-9a-f]{2})([0-9a-f]+)", run("readelf", "-n", image, check=False))
    debug = f"/usr/lib/debug/.build-id/{note[1]}/{note[2]}.debug" if note else ""
    return Names([file for file in (image, debug) if os.path.isfile(file)])


class Frame(typing.NamedTuple):
    """A frame of perf. `name` is a symbol or the name of a kind."""

    name: str
    image: str
    begins: bool  # the return address is the first address of the symbol

    def others(self):
        """The other names that unspool may give to it."""
        if self.name in (KERNEL, NOWHERE):
            return set()
        in_image = f"[{os.path.basename(self.image).strip('[]')}]"
        if self.name == STUB:
            return {in_image}
        names = names_of(self.image)
        return names.same(self.name) | (names.before(self.name) if self.begins else set())


def frame_of_perf(address, symbol, offset, image, is_caller):
    if image == "[kernel.kallsyms]" and symbol in names_of(KERNEL).addresses:
        return Frame(symbol, KERNEL, is_caller and offset == 0)
    if "[kernel" in image or (image == "[unknown]" and address >> 47 == 0x1FFFF):
        return Frame(KERNEL, image, False)
    if image == "[unknown]":
        return Frame(NOWHERE, image, False)
    if symbol in ("", "[unknown]") or symbol.endswith("@plt"):
        return Frame(STUB, image, False)
    return Frame(without_version(symbol), image, is_caller and offset == 0)


def of_perf(path):
    stacks, name, frames = collections.Counter(), None, []
    fields = "comm,tid,ip,sym,symoff,dso"
    for line in run("perf", "script", "--no-inline", "--no-demangle", "-F", fields, "-i", path).splitlines() + [""]:
        frame = re.match(r"\s+([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))? ?\((.*)\)$", line)
        if frame:
            digits, symbol, offset, image = frame.groups()
            address = int(digits, 16)
            is_kernel = address >> 47 == 0x1FFFF
            is_caller = any(is_kernel or KERNEL not in (f.name, f.image) for f in frames)
            if address != 0:
                frames.append(frame_of_perf(address, symbol, int(offset or "1", 16), image, is_caller))
        elif line.strip():
            name = line.split()[0]
        elif name is not None:
            stacks[(name, *frames[::-1])] += 1
            name, frames = None, []
    return stacks


def kind(frame):
    """A frame of unspool: a function's name, or what kind of place has no name."""
    if re.match(r"\[kernel|0xffff[89a-f]", frame):
        return KERNEL
    if frame.startswith("0x"):
        return NOWHERE
    if frame.endswith("@plt"):
        return STUB
    in_image = re.match(r"\[?(.*?)\]?\+0x[0-9a-f]+$", frame)
    return f"[{in_image[1]}]" if in_image else frame


def of_unspool(unspool, path):
    stacks = collections.Counter()
    for line in run(unspool, "profile", "--quiet", "--format", "folded", "--demangle", "no", path).splitlines():
        stack, count = line.rsplit(" ", 1)
        name, *frames = stack.split(";")
        stacks[(name, *map(kind, frames))] += int(count)
    return stacks


def is_same_frame(mine, frame, is_through_main):
    if frame.name == NOWHERE:
        return not is_through_main and mine.startswith("[")
    return mine == frame.name or mine in frame.others()


def is_same(ours, theirs):
    if ours[0] != theirs[0]:
        return False
    is_through_main = "main" in ours or any(f.name == "main" for f in theirs[1:])
    if len(ours) > len(theirs) > 1 and theirs[1].name in NO_TABLE:
        ours = ours[:1] + ours[1 - len(theirs):]
    pairs = zip(ours[1:], theirs[1:])
    return len(ours) == len(theirs) and all(is_same_frame(*pair, is_through_main) for pair in pairs)


def is_equal(ours, theirs):
    return ours == (theirs[0], *(f.name for f in theirs[1:])) and not (NOWHERE in ours and "main" in ours)


def take(ours, theirs, is_pair):
    """Removes pairs of stacks. Returns the stacks that are left, and how many pairs went through main."""
    through_main = 0
    for mine in list(ours):
        for other in [t for t in theirs if is_pair(mine, t)]:
            count = min(ours[mine], theirs[other])
            ours[mine] -= count
            theirs[other] -= count
            through_main += count * ("main" in mine)
    return +ours, +theirs, through_main


unspool, path = sys.argv[1:]
ours, theirs = of_unspool(unspool, path), of_perf(path)
print(f"{sum(ours.values())} samples, {len(ours)} different stacks, {sum((len(s) - 1) * n for s, n in ours.items())} frames")
through_main = 0
for is_pair in (is_equal, is_same):
    ours, theirs, more = take(ours, theirs, is_pair)
    through_main += more
print(f"{through_main} equal stacks through main")
for stack, count in ours.items():
    print(f"only unspool, {count}:", ";".join(stack))
for stack, count in theirs.items():
    print(f"only perf script, {count}:", ";".join([stack[0], *(f.name for f in stack[1:])]))
sys.exit(0 if not ours and not theirs and through_main > 0 else 1)
