# SPDX-License-Identifier: MIT
"""Writes profiles of pprof and OTLP for the tests, and compares what `unspool profile --format same` makes of them.

usage: profile_files.py place PROGRAM [SLIDE]   where a program is mapped, as options for `write`; and what addr2line
                                                says of its places
       profile_files.py write FORMAT FILE [KEY=VALUE...]
       profile_files.py show FILE           one line for each location: mapping, address, lines; and for each mapping
       profile_files.py compare BEFORE AFTER
"""
import gzip
import re
import subprocess
import sys

from protobuf import data, every, fields, fixed64, last, number, packed

# Field numbers: google/pprof proto/profile.proto; opentelemetry-proto profiles/v1development/profiles.proto. `tables`:
# the field with the tables, 0: the file itself.
PPROF = dict(tables=0, mapping=3, location=4, function=5, string=6, lines=4, location_mapping=2, address=3,
             name=2, system=3, file=4, path=5, flags=(7, 8, 9, 10))
OTLP = dict(tables=2, mapping=1, location=2, function=3, string=5, lines=3, location_mapping=1, address=2,
            name=1, system=2, file=3, path=4, flags=())


class Strings:
    def __init__(self):
        self.all = [""]

    def __getitem__(self, text):
        if text not in self.all:
            self.all.append(text)
        return self.all.index(text)


def addresses(options):
    """Returns the places in the program: an inlined call in `work`, and `main`."""
    return [int(options[key], 16) for key in ("work", "main")]


def output_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def place(program, slide):
    """Finds the code's segment, and an address at which addr2line has an inlined call."""
    for line in output_of("readelf", "-lW", program).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:-1]:
            offset, address, size = (int(words[i], 16) for i in (1, 2, 4))
    extra = address & 0xFFF
    build = re.search(r"Build ID: ([0-9a-f]+)", output_of("readelf", "-n", program))[1]
    symbols = {}
    for line in output_of("nm", "-S", program).splitlines():
        words = line.split()
        if len(words) == 4:
            symbols[words[3]] = [int(word, 16) for word in words[:2]]
    start, length = symbols["work"]
    for work in range(start, start + length):
        found = output_of("addr2line", "-i", "-f", "-e", program, hex(work)).splitlines()
        if len(found) == 4:
            break
    else:
        found = ["none", ":0"] * 2
    slide = int(slide, 16) if address < 0x1000000 and offset & ~0xFFF == address & ~0xFFF else 0
    values = dict(base=address - extra + slide, size=(extra + size + 0xFFF) & ~0xFFF, offset=offset - extra,
                  work=work + slide, main=symbols["main"][0] + slide)
    print(" ".join("%s=%x" % one for one in values.items()), "build_id=" + build, "path=" + program)
    print(" ".join("%s:%s" % (found[i], re.search(r":(\d+)", found[i + 1])[1]) for i in (0, 2)))


def write_pprof(options):
    text = Strings()
    base, size, offset = (int(options[key], 16) for key in ("base", "size", "offset"))
    work, main = addresses(options)
    is_time_alone = "period" in options
    out = b"" if is_time_alone else data(1, number(1, text["samples"]) + number(2, text["count"]))
    out += data(1, number(1, text["cpu"]) + number(2, text["nanoseconds"]))

    def label(key, string="", value=0):
        return data(3, number(1, text[key]) + number(2, text[string]) + number(3, value))

    # Ids are not in order and not dense. Location 9 has a name without address, 11 a name at an address of no file.
    samples = [([7, 5], [int(options.get("samples", 3)), 30000000], "worker", 21), ([5], [1, 10000000], "main", 20),
               ([9, 5], [2, 20000000], "main", 20), ([11, 7, 5], [4, 40000000], "main", 20)]
    if options.get("twin"):
        samples.append(([13, 5], [6, 60000000], "main", 20))
    if options.get("everything"):
        samples.append(([17, 5], [9, 90000000], "main", 20))
    if options.get("stray"):
        samples.append(([15, 5], [8, 80000000], "main", 20))
    if options.get("empty"):
        samples += [([], [1, 10000000], "main", 20)] * 3
    if options.get("ids"):
        # The third thread has no id, the fourth has that of its place, and the other one that of `main`.
        samples += [([5], [value, value], *who) for value, *who in
                    ((11, "third", 0), (12, "fourth", 3), (13, "other", 20))]
    for locations, values, thread, tid in samples:
        body = packed(1, locations) + packed(2, values[is_time_alone:]) + label("thread", thread)
        body += label("thread_id", "", tid) if tid else b""
        body += label("pid", "", 9) if thread == "other" else b""
        out += data(2, body + data(77, b"a field that is not known"))
    build = text[options["build_id"]]
    out += data(3, number(1, 4) + number(2, base) + number(3, base + size) + number(4, offset)
                + number(5, text[options["path"]]) + number(6, build) + number(300, 5))
    out += data(3, number(1, 2) + number(2, 0x7F0000000000) + number(3, 0x7F0000010000) + number(5, text["/nowhere/lib.so"]))
    if options.get("twin"):
        out += data(3, number(1, 6) + number(2, base) + number(3, base + size) + number(5, text["/nowhere/twin.so"]))
        out += data(4, number(1, 13) + number(2, 6) + number(3, work))
    if options.get("kernel"):
        out += data(3, number(1, 8) + number(2, 0xFFFFFFFF80000000) + number(3, (1 << 64) - 1)
                    + number(5, text["[kernel.kallsyms]"]))
    if options.get("everything"):
        out += data(3, number(1, 10) + number(3, (1 << 64) - 1) + number(5, text["/nowhere/all.so"]))
        out += data(4, number(1, 17) + number(2, 10) + number(3, 0x1000))
    if options.get("stray"):
        out += data(4, number(1, 15) + number(3, main + 1) + data(4, number(1, 31)))
    given = options.get("given")
    named = data(4, number(1, 30) + (number(2, int(options["line"])) if "line" in options else b"")) if given else b""
    out += data(4, number(1, 7) + number(2, 4) + number(3, work) + data(200, b"unknown") + named)
    out += data(4, number(1, 5) + number(2, 4) + number(3, main) + number(5, 1))
    out += data(4, number(1, 9) + data(4, number(1, 31) + number(2, 12)))
    out += data(4, number(1, 11) + number(2, 2) + number(3, 0x7F0000001234) + data(4, number(1, 31)))
    out += data(5, number(1, 30) + number(2, text[given or "unused"]) + number(4, text["given.c"]) + number(5, 8))
    out += data(5, number(1, 31) + number(2, text["interpreted;name"]) + number(3, text["interpreted"])
                + number(4, text["script.py"]))
    out += number(9, 1700000000000000000) + number(10, int(options.get("duration", 2000000000)))
    out += data(11, number(1, text["cpu"]) + number(2, text["nanoseconds"]))
    out += number(12, int(options.get("period", 10000000)))
    out += number(13, text["a comment"]) + data(500, b"also not known")
    return out + b"".join(data(6, one) for one in text.all)


def write_otlp(options):
    text = Strings()
    base, size, offset = (int(options[key], 16) for key in ("base", "size", "offset"))
    work, main = addresses(options)
    given = options.get("given")

    def attribute(key, value):
        return data(6, number(1, text[key]) + data(2, value))

    by_number = options.get("strindex") == "1"
    build = number(8, text[options["build_id"]]) if by_number else data(1, options["build_id"])
    attributes = [data(6, b""), attribute("process.executable.build_id.gnu", build),
                  attribute("thread.name", data(1, "worker")), attribute("thread.id", number(3, 21))]
    mappings = [b"", number(1, base) + number(2, base + size) + number(3, offset) + number(4, text[options["path"]])
                + packed(5, [1]) + number(300, 5)]
    named = data(3, number(1, 1)) if given else b""
    locations = [b"", number(1, 1) + number(2, work) + data(200, b"unknown") + named, number(1, 1) + number(2, main),
                 data(3, number(1, 2) + number(2, 12))]
    functions = [b"", number(1, text[given or "unused"]) + number(4, 8),
                 number(1, text["interpreted;name"]) + number(2, text["interpreted"]) + number(3, text["script.py"])]
    stacks = [b"", packed(1, [1, 2]), packed(1, [2]), packed(1, [3, 2])]
    tables = b"".join(data(1, one) for one in mappings) + b"".join(data(2, one) for one in locations)
    tables += b"".join(data(3, one) for one in functions) + data(4, b"")
    # With a period, the type is a time, and values are 10 ms for each sample.
    is_time, scale = "period" in options, 10000000 if "period" in options else 1
    sample_type = number(1, text["cpu" if is_time else "samples"]) + number(2, text["nanoseconds" if is_time else "count"])
    period_type = number(1, text["cpu"]) + number(2, text["nanoseconds"])
    samples = data(2, number(1, 1) + packed(2, [2, 3]) + number(4, 3 * scale))
    late = options.get("late")
    times = b"".join((1700000000000000000 + i).to_bytes(8, "little") for i in ((7, 5) if late else (5, 7)))
    samples += data(2, number(1, 2) + data(5, times))
    if not late:
        samples += data(2, number(1, 3) + packed(4, [4 * scale]) + number(99, 1))
    profile = data(1, sample_type) + samples + fixed64(3, 1700000000000000000) + number(4, 2000000000)
    profile += data(5, period_type) + number(6, int(options.get("period", 10000000))) + data(7, bytes(range(16)))
    resource = data(1, data(1, data(1, "process.pid") + data(2, number(3, 4242))))
    out = data(1, resource + data(2, data(2, profile)) + data(3, "schema"))
    tables += b"".join(attributes) + b"".join(data(7, one) for one in stacks) + data(1234, b"not known")
    tables += b"".join(data(5, one) for one in text.all)
    return data(500, b"also not known") + out + data(2, tables)


def write_shared(_):
    """Returns a profile of OTLP whose many samples refer to one large stack and one large attribute."""
    strings = b"".join(data(5, one) for one in ("", "samples", "count", "main"))
    stacks = data(7, b"") + data(7, packed(1, [1] + [1 << 20] * 400000))
    attributes = data(6, b"") + data(6, number(1, 1) + data(2, number(3, 1) * 400000))
    tables = data(2, b"") + data(2, data(3, number(1, 1))) + data(3, b"") + data(3, number(1, 3)) + stacks + attributes
    profile = data(1, number(1, 1) + number(2, 2)) + data(2, number(1, 1) + packed(2, [1]) + packed(4, [1])) * 50000
    return data(1, data(2, data(2, profile))) + data(2, tables + strings)


# ---- decoding ----


def read(path):
    content = open(path, "rb").read()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def layout_of(content):
    return PPROF if any(key > 2 and key < 16 for key, _ in fields(content)) else OTLP


class Tables:
    def __init__(self, content):
        self.of = of = layout_of(content)
        self.content = content
        self.tables = content if of["tables"] == 0 else b"".join(every(content, of["tables"]))
        self.strings = [one.decode() for one in every(self.tables, of["string"])]
        self.mappings, self.locations, self.functions = (
            self.by_id(every(self.tables, of[key])) for key in ("mapping", "location", "function"))

    def by_id(self, items):
        ids = [last(one, 1) for one in items] if self.of is PPROF else range(len(items))
        assert len(set(ids)) == len(items)
        return dict(zip(ids, items))

    def lines(self, location):
        for line in every(location, self.of["lines"]):
            function = self.functions[last(line, 1)]
            name, system, file = (self.strings[last(function, self.of[key])] for key in ("name", "system", "file"))
            yield "%s|%s|%s:%d:%d" % (name, system, file.rsplit("/", 1)[-1], last(line, 2), last(line, 3))

    def show(self):
        for key, location in self.locations.items():
            print("location", key, last(location, self.of["location_mapping"]), " ".join(self.lines(location)))
        for key, mapping in self.mappings.items():
            print("mapping", key, self.strings[last(mapping, self.of["path"])],
                  "".join(str(last(mapping, flag)) for flag in self.of["flags"]))


def compare(before, after):
    """Checks that two profiles differ only in lines, flags of mappings, and in what is appended to the tables."""
    a, b = Tables(read(before)), Tables(read(after))
    assert a.of is b.of
    of = a.of
    assert b.strings[: len(a.strings)] == a.strings and len(set(b.strings)) == len(b.strings)
    if of["tables"] != 0:
        rest = [[one for one in fields(x.content) if one[0] != of["tables"]] for x in (a, b)]
        assert rest[0] == rest[1]
    for key, without in (("mapping", of["flags"]), ("location", (of["lines"],)), ("function", ())):
        old, new = (every(x.tables, of[key]) for x in (a, b))
        assert len(new) == len(old) or key == "function"
        for x, y in zip(old, new):
            assert [one for one in fields(x) if one[0] not in without] == [one for one in fields(y) if one[0] not in without]
    tables = (of["mapping"], of["location"], of["function"], of["string"])
    rest = [[one for one in fields(x.tables) if one[0] not in tables] for x in (a, b)]
    assert rest[0] == rest[1]


def main():
    if sys.argv[1] == "write":
        options = dict(one.split("=", 1) for one in sys.argv[4:])
        content = {"otlp": write_otlp, "pprof": write_pprof, "shared": write_shared}[sys.argv[2]](options)
        if options.get("gzip"):
            half = len(content) // 2
            content = gzip.compress(content[:half]) + gzip.compress(content[half:])
        open(sys.argv[3], "wb").write(content)
    elif sys.argv[1] == "place":
        place(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "show":
        Tables(read(sys.argv[2])).show()
    else:
        compare(sys.argv[2], sys.argv[3])


main()
