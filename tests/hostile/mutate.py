#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the command over damaged inputs, with limits of time and memory.

mutate.py [--seed N] [--runs N] [--kinds KIND,...] [--changing] [--large] [--sanitized] UNSPOOL FOLDER

FOLDER has a folder of whole inputs for each kind (mutated.sh makes them): object, core, raw, index, log, plcrash, dsym,
zip, map, cache, recording, profile, hang, crash. A cache is three files in one, as the fuzzer of shared caches takes them. A
crash is a file of a crash kit's directory; hang files and these are read by tests/hostile/kept_files (--reader).
Each run damages one of them as its number decides, and starts one command. A signal, a sanitizer's report, a run that
takes too long or too much memory, and a file outside of the folders that the command may write are failures. A failure
is printed with the seed and the number of its run; --only NUMBER repeats it and keeps the damaged input.
With --changing, the file is cut, grown and overwritten while the command reads it. With --large, logs have 50 MB.
USP_SERVED_LIBRARY names the library made of served.c, which saves starting the program anew for each run.
"""
import argparse
import ctypes
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time
import zlib

INTERESTING = [0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
               0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff0]
TEXTS = [b"0", b"-1", b"99999999999999999999", b"0x", b"0xffffffffffffffff", b"%s%n", b"../../../../outside", b"/", b"\0",
         b"\xff\xfe", b"\xe2\x80", b"{" * 400, b"[" * 400, b"(" * 400, b'"', b"\\u0000", b"A" * 5000, b"_Z" + b"N1a" * 300,
         b"$s" + b"S_" * 300, b"<>", b"\r\n", b"\n\n"]
CPU_SECONDS, SECONDS, MEMORY, FILE_SIZE = 10, 300, 2 << 30, 256 << 20
PEAK_KB = 600 * 1024


def damage_bytes(chance, data, others):
    """Changes a few places of a file of numbers, most often near its beginning, where headers are."""
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        if not data:
            data += b"\0" * 16
        size = len(data)
        at = chance.randrange(min(size, 1024)) if chance.random() < 0.5 else chance.randrange(size)
        how = chance.randrange(10)
        if how < 2:
            data[at] ^= 1 << chance.randrange(8)
        elif how == 2:
            data[at] = chance.randrange(256)
        elif how < 6:
            width = chance.choice([1, 2, 4, 8])
            at -= at % width
            value = chance.choice(INTERESTING + [size, size - 1, size + 1, at, chance.randrange(size)])
            value &= (1 << 8 * width) - 1
            data[at:at + width] = value.to_bytes(width, chance.choice(["little", "big"]))
        elif how == 6:
            del data[at:]
        elif how == 7:
            end = at + chance.randrange(1, 256)
            data[at:end] = bytes(len(data[at:end]))
        elif how == 8:
            piece = data[at:at + chance.randrange(1, 512)]
            to = chance.randrange(size)
            data[to:to + (len(piece) if chance.random() < 0.7 else 0)] = piece
        else:
            other = others[chance.randrange(len(others))]
            start = chance.randrange(len(other) + 1)
            piece = other[start:start + chance.randrange(1, 512)]
            data[at:at + len(piece)] = piece
    return data


def damage_text(chance, data, others):
    """Changes lines and words of a text."""
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        how = chance.randrange(8)
        if how < 2 or len(data) < 8:
            return damage_bytes(chance, data, others)
        at = chance.randrange(len(data))
        if how < 5:
            end = at + chance.choice([0, 1, 4, 16])
            data[at:end] = chance.choice(TEXTS)
        else:
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at) + 1 or len(data)
            line = data[start:end]
            if how == 5:
                data[start:start] = line[:1 << 16] * chance.choice([1, 2, 600])
            elif how == 6:
                del data[start:end]
            else:
                other = others[chance.randrange(len(others))]
                from_ = chance.randrange(len(other) + 1)
                data[start:end] = other[from_:from_ + chance.randrange(1, 4096)]
    return data


def repair_raw(data):
    """Corrects the checksums of a raw capture, so that the damage is read."""
    at = 16
    while at + 12 <= len(data):
        end = at + 8 + struct.unpack_from("<I", data, at + 4)[0]
        if end + 4 > len(data):
            return
        struct.pack_into("<I", data, end, zlib.crc32(data[at:end]))
        at = end + 4


def repair_hang(data):
    """Corrects the checksums of a hang file: of the states to which its two headers refer, and of the headers."""
    if len(data) < 256:
        return
    slot, = struct.unpack_from("<Q", data, 16)
    for header in (64, 128):
        which, size = struct.unpack_from("<IQ", data, header + 12)
        start = 256 + which * slot
        if which < 2 and start + size <= len(data):
            struct.pack_into("<I", data, header + 24, zlib.crc32(data[start:start + size]))
        struct.pack_into("<I", data, header + 28, zlib.crc32(data[header:header + 28]))


class Server:
    """A program, most often the command: a process that runs it for each request, or a new process each time."""

    def __init__(self, options, program, environment):
        self.options, self.program, self.environment, self.process = options, program, environment, None
        if "USP_SERVED_LIBRARY" in os.environ:
            self.start()

    def start(self):
        ask, self.requests = os.pipe()
        self.answers, answer = os.pipe()
        environment = dict(self.environment, LD_PRELOAD=os.environ["USP_SERVED_LIBRARY"], USP_SERVED="1")

        def give():
            os.dup2(ask, 198)
            os.dup2(answer, 199)

        self.process = subprocess.Popen([self.program], env=environment, close_fds=False, preexec_fn=give,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ask)
        os.close(answer)
        try:
            self.run(["--version"], "/dev/null")
        except OSError:
            self.process = None

    def run(self, arguments, given):
        """Returns the status from wait4, the peak of memory in kB, and milliseconds of processor time."""
        scale = 20 if self.options.sanitized else 3 if self.options.large else 1
        memory = 0 if self.options.sanitized else MEMORY
        words = [CPU_SECONDS * scale, SECONDS * scale, memory, FILE_SIZE, given, "out", "err", "unspool"] + arguments
        if self.process is None:
            return self.run_alone(words)
        request = b"".join(os.fsencode(str(word)) + b"\0" for word in words)
        os.write(self.requests, struct.pack("=I", len(request)) + request)
        answer = os.read(self.answers, 16)
        if len(answer) != 16:
            raise OSError("the process that runs the command has ended")
        status, peak, used, _ = struct.unpack("=IIII", answer)
        return status, peak, used

    def run_alone(self, words):
        import resource

        def limit():
            for what, n in [(resource.RLIMIT_CPU, words[0]), (resource.RLIMIT_AS, words[2]),
                            (resource.RLIMIT_FSIZE, words[3])]:
                if n:
                    resource.setrlimit(what, (n, n))

        with open(words[4], "rb") as given, open("out", "wb") as out, open("err", "wb") as err:
            process = subprocess.Popen([self.program] + words[8:], env=self.environment, stdin=given, stdout=out,
                                       stderr=err, preexec_fn=limit)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = 0
        return status, used.ru_maxrss, int(1000 * (used.ru_utime + used.ru_stime))


class Target:
    """This process, with memory that may be run but lies in no file, for perf maps."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 1 << 16, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.path = f"/tmp/perf-{os.getpid()}.map"


class Changer(threading.Thread):
    """Cuts, grows and overwrites a file until it is stopped."""

    def __init__(self, path, content, seed):
        super().__init__()
        self.path, self.content, self.chance, self.stopped = path, content, random.Random(seed), False

    def run(self):
        with open(self.path, "r+b", buffering=0) as file:
            while not self.stopped:
                how = self.chance.randrange(3)
                if how == 0:
                    file.truncate(self.chance.randrange(len(self.content) + 1))
                elif how == 1:
                    os.pwrite(file.fileno(), self.content, 0)
                else:
                    os.pwrite(file.fileno(), self.chance.randbytes(64), self.chance.randrange(len(self.content) + 1))
                time.sleep(self.chance.random() / 500)


REPAIRS = {"raw": repair_raw, "hang": repair_hang, "crash": repair_raw}


class Campaign:
    def __init__(self, options):
        self.options = options
        self.top = os.path.abspath(options.folder)
        self.seeds = {}
        for kind in sorted(os.listdir(self.top)):
            folder = os.path.join(self.top, kind)
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            if names and (not options.kinds or kind in options.kinds.split(",")):
                self.seeds[kind] = [(name, open(os.path.join(folder, name), "rb").read()) for name in names]
        if not self.seeds:
            sys.exit(f"{options.folder}: no inputs")
        self.work = os.path.join(self.top, "work")
        shutil.rmtree(self.work, ignore_errors=True)
        for folder in ["in", "store", "cache", "tmp", "output"]:
            os.makedirs(os.path.join(self.work, folder))
        os.chdir(self.work)
        environment = {"PATH": os.environ["PATH"], "HOME": self.work, "XDG_CACHE_HOME": self.work + "/cache",
                       "TMPDIR": self.work + "/tmp", "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
                       "UBSAN_OPTIONS": "print_stacktrace=1"}
        if "LD_LIBRARY_PATH" in os.environ:
            environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        self.server = Server(options, options.unspool, environment)
        self.reader = Server(options, options.reader, environment) if options.reader else None
        if self.reader is None:
            for kind in ["hang", "crash"]:
                self.seeds.pop(kind, None)
        self.target = Target() if "map" in self.seeds else None
        self.counts, self.statuses, self.failures, self.slowest, self.peak = {}, {}, 0, (0, ""), (0, "")

    def make_cache(self, chance, content):
        """Writes a shared cache of which one file is damaged. Returns the path of the damaged file."""
        first, second = struct.unpack_from("<II", content)
        parts = [content[8:8 + first], content[8 + first:8 + first + second], content[8 + first + second:]]
        suffixes = ["", ".02.dylddata", ".symbols"]
        chosen = chance.choice([i for i, part in enumerate(parts) if part])
        for i, part in enumerate(parts):
            with open("in/dyld_shared_cache_arm64" + suffixes[i], "wb") as file:
                file.write(damage_bytes(chance, bytearray(part), parts) if i == chosen else part)
        return "in/dyld_shared_cache_arm64" + suffixes[chosen]

    def make_input(self, chance, kind, name, content):
        """Writes the damaged file. Returns the commands that read it, of which one is run."""
        if kind == "cache":
            path = self.make_cache(chance, content)
            return path, self.commands(chance, kind, path)
        data = bytearray(content)
        if kind == "log" and self.options.large:
            data = bytearray((bytes(data) + b"\n") * (50 * 1000 * 1000 // (len(data) + 1)))
        others = [other for _, other in self.seeds[kind]]
        is_text = kind in ("log", "map") or (kind == "profile" and data[:1] == b"{")
        data = (damage_text if is_text else damage_bytes)(chance, data, others)
        if kind in REPAIRS and chance.random() < 0.7 and (kind != "crash" or name.endswith((".raw", ".open"))):
            REPAIRS[kind](data)
        path = "in/" + name
        if kind == "crash":
            for other, whole in self.seeds["crash"]:
                with open("in/" + other, "wb") as file:
                    file.write(whole)
        if kind == "index":
            build = name.split(".")[0]
            path = f"in/{build[:2]}/{build[2:]}/index"
        elif kind == "dsym":
            path = f"in/{name}.dSYM/Contents/Resources/DWARF/{name}"
        elif kind == "map":
            path = self.target.path
            data = data.replace(b"ADDRESS", b"%x" % self.target.address)
        elif kind == "zip":
            path = "in/a.zip"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path, self.commands(chance, kind, path)

    def commands(self, chance, kind, path):
        addresses = [hex(chance.choice([0, 0x1000, 0x400000, 0x100000000, 0x100004000]) + chance.randrange(0x2000))
                     for _ in range(8)]
        index = ["index", "--quiet", "--threads", "1", "-o", "store"]
        if kind == "object":
            return [["images", path], ["symbols", path], ["symbolize", "-o", path, "-i"] + addresses,
                    ["symbolize", "-o", path, "--offset"] + addresses, index + ["--force", path],
                    index + ["--verify", path]]
        if kind == "dsym":
            bundle = path[:path.index("/Contents")]
            return [["images", bundle], ["symbolize", "-o", bundle] + addresses, index + ["--force", bundle]]
        if kind == "zip":
            return [index + [path]]
        if kind in ("core", "raw"):
            return [["stack", path], ["stack", "--json", path], ["stack", "--merge", path], ["images", path]]
        if kind == "index":
            # The names of indexes say which build they are of, and what file they were made from.
            return [["store", "verify", "in"], ["store", "list", "--json", "in"], ["store", "prune", "--dry-run", "in"],
                    ["symbolize", "-o", f"../object/{self.made_from(path)}", "--index", "in"] + addresses,
                    index + ["-o", "in", f"../object/{self.made_from(path)}"]]
        if kind == "cache":
            cache, inside = "in/dyld_shared_cache_arm64", [hex(0x180005000 + chance.randrange(0x100)) for _ in range(8)]
            return [["images", "--shared-cache", "in"], ["symbols", cache, "--image", "libone.dylib"],
                    ["symbolize", "--shared-cache", "in"] + inside, ["symbols", "--shared-cache", "in", "--image",
                    "/usr/lib/libone.dylib", "--json"], index + ["--force", cache],
                    ["report", "--shared-cache", "in", self.any_of(chance, "log")]]
        if kind == "map":
            inside = [hex(self.target.address + chance.randrange(1 << 16)) for _ in range(8)]
            return [["symbolize", "-p", str(os.getpid())] + inside]
        if kind in ("hang", "crash"):
            return [[kind, path if kind == "hang" else "in"]]
        if kind in ("recording", "profile"):
            profile = ["profile", "--quiet"]
            return [profile + [path], profile + ["--no-symbols", "--format", "folded", path],
                    profile + ["--format", chance.choice(["json", "speedscope", "firefox"]), path],
                    profile + ["--sysroot", "../object", path], profile + ["--sysroot", "../object", "--merge", path],
                    profile + ["--event", "cpu-clock", "--memory", "1", "--max", "4", path], profile + ["-"],
                    profile + ["--format", "same", path]]
        log, search = ["symbolize", "--search", "../object", "--log", path], ["--search", "../object"]
        return [["report", path], ["report", "--json"] + search + [path], log, log + ["--keep-names"],
                log + ["--output", "output"], log + ["--in-place"], ["report", "-"],
                ["symbolize"] + search + ["--records"], ["report", "--html"] + search + [path],
                ["report", "--diff", path, self.any_of(chance, "log")], ["report", "--thread", "crashed", "--app", path]]

    def any_of(self, chance, kind):
        return f"../{kind}/{chance.choice(sorted(os.listdir('../' + kind)))}"

    def made_from(self, path):
        build = "".join(path.split("/")[1:3])
        return next(name.split(".", 1)[1] for name, _ in self.seeds["index"] if name.startswith(build))

    def escaped(self):
        """Returns files outside of the folders that the command may write."""
        known = {"in", "store", "cache", "tmp", "output", "out", "err"}
        found = [name for name in os.listdir(self.work) if name not in known]
        found += [name for name in os.listdir("/") + os.listdir(self.top) if "outside" in name]
        return found + os.listdir("tmp")

    def run(self, number):
        chance = random.Random(f"{self.options.seed}.{number}")
        kind = chance.choice(sorted(self.seeds))
        name, content = chance.choice(self.seeds[kind])
        for folder in ["in", "store"]:
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        path, commands = self.make_input(chance, kind, name, content)
        command = chance.choice(commands)
        given = path if command[-1] in ("-", "--records") else "/dev/null"
        if kind == "cache":
            with open(path, "rb") as file:
                content = file.read()
        changer = Changer(path, content, number) if self.options.changing and content else None
        if changer:
            changer.start()
        try:
            status, peak, used = (self.reader if kind in ("hang", "crash") else self.server).run(command, given)
        finally:
            if changer:
                changer.stopped = True
                changer.join()
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.judge(number, kind, name, command, status, peak, used)

    def judge(self, number, kind, name, command, status, peak, used):
        run = f"{kind} {name}: unspool {' '.join(command)} (seed {self.options.seed}, run {number})"
        why = None
        with open("err", "rb") as err:
            said = err.read(1 << 16)
        if os.WIFSIGNALED(status):
            why = f"signal {os.WTERMSIG(status)} after {used} ms"
        elif os.WEXITSTATUS(status) > 4:
            why = f"exit status {os.WEXITSTATUS(status)}"
        elif b"Sanitizer" in said or b"runtime error" in said:
            why = "a sanitizer's report"
        elif b"\nSee `unspool" in said or (kind in ("hang", "crash") and os.WEXITSTATUS(status) == 2):
            why = "a wrong command, which tests nothing"
        elif peak > PEAK_KB * (4 if self.options.sanitized or self.options.large else 1):
            why = f"{peak} kB of memory"
        elif self.escaped():
            why = f"files outside: {self.escaped()}"
        self.statuses[status >> 8] = self.statuses.get(status >> 8, 0) + 1
        if used > self.slowest[0]:
            self.slowest = (used, run)
        if peak > self.peak[0]:
            self.peak = (peak, run)
        if why is None:
            return
        self.failures += 1
        print(f"{why}: {run}\n{said[:3000].decode(errors='replace')}", flush=True)
        for left in self.escaped():
            if os.path.isdir("tmp/" + left):
                shutil.rmtree("tmp/" + left)
        if self.failures == 20:
            sys.exit("too many failures")

    def end(self):
        if self.target and os.path.exists(self.target.path):
            os.unlink(self.target.path)
        os.chdir("/")
        if self.options.only is None:
            shutil.rmtree(self.work)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--only", type=int)
    parser.add_argument("--kinds")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after this time")
    for flag in ["--changing", "--large", "--sanitized"]:
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--reader", help="tests/hostile/kept_files")
    parser.add_argument("unspool")
    parser.add_argument("folder")
    options = parser.parse_args()
    options.unspool = os.path.abspath(options.unspool)
    options.reader = options.reader and os.path.abspath(options.reader)
    campaign = Campaign(options)
    begin = time.monotonic()
    numbers = range(options.runs) if options.only is None else [options.only]
    try:
        for number in numbers:
            campaign.run(number)
            if time.monotonic() - begin > options.seconds:
                break
    finally:
        campaign.end()
    print(f"{sum(campaign.counts.values())} runs in {time.monotonic() - begin:.0f} s: "
          f"{', '.join(f'{kind} {count}' for kind, count in sorted(campaign.counts.items()))}; "
          f"{campaign.failures} failures; exit statuses {dict(sorted(campaign.statuses.items()))}; "
          f"slowest {campaign.slowest[0]} ms of processor time: {campaign.slowest[1]}; "
          f"most memory {campaign.peak[0]} kB: {campaign.peak[1]}")
    sys.exit(1 if campaign.failures else 0)


main()
