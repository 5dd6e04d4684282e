# SPDX-License-Identifier: MIT
# formats.py WRITER SCHEMAS OWN_SCHEMA SOURCE: checks that tests/profile/profile_writer writes the same profile in each
# format, and that it is what the writer put in. The schemas are in the folder SCHEMAS; without the module jsonschema
# they are not checked, and the exit status is 77. SOURCE is the writer's source file.
import html
import json
import os
import re
import subprocess
import sys
from collections import Counter

import readers

WRITER, SCHEMAS, OWN_SCHEMA, SOURCE = sys.argv[1:]
UGLY_THREAD = '<w&"ö;\n\x1b[31m\ufffd]]>'
UGLY_IMAGE = '<ugly> "&;ü\uffff\x01.so'


def write(*arguments):
    return subprocess.run([WRITER, *arguments], check=True, stdout=subprocess.PIPE).stdout


def harmless(name, also=""):
    """As USP_ESCAPE_TERMINAL has it."""
    result = ""
    for character in name:
        if ord(character) < 0x20 or character in also:
            result += "".join("\\x%02x" % byte for byte in character.encode())
        else:
            result += character
    return result.replace("\ufffd", "\\xff")


def expected(value, thread_of, name_of, inlined=()):
    """What the program does, by names as they are in a format. inlined: what price calls in its own code."""
    root = ("__libc_start_call_main", "main", "run")
    rows = [
        ("main", root + ("check_out", "shop::Cart::price(int)") + inlined + ("take",), 40, 400, 400),
        ("main", root + ("check_out", "ship_order", "take"), 20, 400, 0),
        (UGLY_THREAD, root + ("fall",) * 4 + ("take",), 10, 50, 10),
        ("thread 102", root + ("ship_order", "take"), 7, 21, 0),
        ("main", root + ("ship_order", "take"), 4, 12, 0),
        ("unnamed", (UGLY_IMAGE + "+0x200", readers.LEFT_OUT, "0x1234567", UGLY_IMAGE + "+0x123"), 5, 5, 5),
    ]
    found = Counter()
    for thread, path, samples, wall, cpu in rows:
        amount = {"samples": samples, "wall_ns": wall * 10**6, "cpu_ns": cpu * 10**6}[value]
        if amount:
            found[(thread_of(thread),) + tuple(name_of(name) for name in path)] += amount
    return found


def same(name, found, wanted):
    # The C library's own frames below main depend on the machine.
    def cut(path):
        for start in ("__libc_start_call_main", "__libc_start_main"):
            if start in path:
                path = path[:1] + path[path.index("main", 1) :]
        return path

    def from_main(counter):
        result = Counter()
        for path, value in counter.items():
            at = path.index("main", 1) if "main" in path[1:] else 1
            result[path[:1] + path[at:]] += value
        return result

    found, wanted = from_main(found), from_main(wanted)
    assert found == wanted, "%s:\n%s\ninstead of\n%s" % (name, found - wanted, wanted - found)


def semicolons(name):
    return harmless(name, ";")


def itself(name):
    return name


VALUES = {"samples": 0, "wall_ns": 1, "cpu_ns": 2}
for value, argument in (("samples", "samples"), ("wall_ns", "wall"), ("cpu_ns", "cpu")):
    folded = readers.read_folded(write("folded", argument).decode())
    same("folded", folded, expected(value, semicolons, semicolons))
    same("json", readers.read_json(write("json").decode(), value), expected(value, itself, itself))
    same("json totals", readers.read_json(write("json", "totals").decode(), value), expected(value, itself, itself))
    same(
        "pprof",
        readers.read_pprof(write("pprof"), VALUES[value]),
        Counter(
            {
                tuple(part for part in path if part != readers.LEFT_OUT): amount
                for path, amount in expected(value, semicolons, harmless).items()
            }
        ),
    )

    found, times, facts = readers.read_otlp(write("otlp"), value.replace("_ns", ""))
    left = {tuple(part for part in path if part != readers.LEFT_OUT): amount
            for path, amount in expected(value, harmless, harmless).items()}
    same("otlp", found, Counter(left))
    # Times are those of the clock of day: the first sample comes 10 or 20 ms after the beginning.
    first = [30, 40, 70, 80] if value == "cpu_ns" else [20, 30, 40, 60]
    assert [round((time - 1700000000000000000) / 1e6) for time in times[100][:4]] == first, times[100][:4]
    assert facts["process.pid"] == b"\x18\xe7\x24", facts
    found, times, _ = readers.read_otlp(write("otlp", "totals"), value.replace("_ns", ""))
    same("otlp totals", found, Counter(left))
    assert not any(times.values()), times

# The tree names threads in another way.
tree = readers.read_tree(write("tree").decode())
wanted = Counter()
for path, amount in expected("samples", itself, lambda name: "???" if name.startswith(("<ugly>", "0x")) else harmless(name)).items():
    wanted[path[1:]] += amount
by_path = Counter()
for path, amount in tree.items():
    assert path[0].startswith("Thread_")
    by_path[path[1:]] += amount
same("tree", Counter({("",) + p: v for p, v in by_path.items()}), Counter({("",) + p: v for p, v in wanted.items()}))

for value, argument in (("wall_ns", "samples"), ("wall_ns", "wall"), ("cpu_ns", "cpu")):
    for totals in ("", "totals"):
        found = readers.read_speedscope(write("speedscope", argument, totals).decode())
        same("speedscope", found, expected(value, semicolons, itself))
found, times = readers.read_firefox(write("firefox").decode())
same("firefox", found, expected("wall_ns", semicolons, itself))
# The first thread's samples end after 10 or 20 ms each.
assert [round(time) for time in times[100][:4]] == [20, 30, 40, 60], times[100][:4]
found, times = readers.read_firefox(write("firefox", "totals").decode())
same("firefox totals", found, expected("wall_ns", semicolons, itself))

svg_name = lambda name: harmless(name).replace("\uffff", "\\xef\\xbf\\xbf")
svg_thread = lambda name: semicolons(name)
same("svg", readers.read_svg(write("svg").decode()), expected("samples", svg_thread, svg_name))

# One tree for all threads; thread ids beside names.
merged = readers.read_folded(write("folded", "merged").decode())
assert sum(merged.values()) == 86 and all(path[0] != "main" or path[1] == "run" for path in merged), merged
with_ids = readers.read_folded(write("folded", "ids").decode())
assert {path[0] for path in with_ids} >= {"main 100", "main 103", "thread 102"}, with_ids

# Without names, a frame is an image and an offset.
bare = readers.read_folded(write("folded", "bare").decode())
assert sum(bare.values()) == 86 and all("+0x" in path[-1] for path in bare), bare
bare = readers.read_pprof(write("pprof", "bare"), 0)
assert sum(bare.values()) == 86 and all("+0x" in path[-1] for path in bare), bare

# With lines, an inlined call is a frame of its own in every format.
tax = ("add_tax",)
same("folded", readers.read_folded(write("folded", "lines").decode()), expected("samples", semicolons, semicolons, tax))
same("json", readers.read_json(write("json", "lines").decode(), "cpu_ns"), expected("cpu_ns", itself, itself, tax))
found = readers.read_pprof(write("pprof", "lines"), 0)
same("pprof", found, Counter({tuple(part for part in path if part != readers.LEFT_OUT): amount
                              for path, amount in expected("samples", semicolons, harmless, tax).items()}))
found = readers.read_speedscope(write("speedscope", "lines").decode())
same("speedscope", found, expected("wall_ns", semicolons, itself, tax))
same("firefox", readers.read_firefox(write("firefox", "lines").decode())[0], expected("wall_ns", semicolons, itself, tax))
drawn = write("svg", "lines").decode()
same("svg", readers.read_svg(drawn), expected("samples", svg_thread, svg_name, tax))

with open(SOURCE, encoding="utf-8") as file:
    marks = {line.split("/* ")[1].split(" */")[0]: number for number, line in enumerate(file, 1) if "/* " in line}
PRICE, BEGINS = "shop::Cart::price(int)", marks["begins price"]
# A picture's tooltips have source lines, if lines are requested. Its title has samples, duration and unit.
PLACE = os.path.basename(SOURCE) + ":%d" % marks["called by price"]
tips = [tip for tip in re.findall(r"<title>(.*?)</title>", drawn) if tip.startswith(html.escape(PRICE) + " (")]
assert tips and all(tip.endswith("%, " + PLACE + ")") for tip in tips), tips
assert PLACE not in write("svg").decode()
TITLE = ": 86 samples in 1.999 s, widths in "
for options, unit in ((["lines"], "samples"), (["lines", "wall"], "ms"), (["lines", "cpu"], "ms on a processor")):
    page = write("svg", *options).decode()
    assert TITLE + unit + "</title>" in page, page[:400]
    assert re.search(r'<text id="title"[^>]*>[^<]*' + re.escape(TITLE + unit) + "</text>", page), options
wanted = {(PRICE, BEGINS, marks["called by price"]), ("add_tax", 0, marks["called by add_tax"])}


def ours(places):
    found = {place for place in places if place[0] in (PRICE, "add_tax")}
    assert all(os.path.basename(place[1]) == "profile_writer.c" for place in found), found
    return {place[:1] + place[2:] for place in found}


assert ours(readers.pprof_places(write("pprof", "lines"))) == wanted, ours(readers.pprof_places(write("pprof", "lines")))
assert ours(readers.json_places(write("json", "lines").decode())) == wanted
places, depths = readers.firefox_places(write("firefox", "lines").decode())
assert ours(places) == wanted and (depths[PRICE], depths["add_tax"]) == (0, 1), (places, depths)
# speedscope shows the line where a function begins.
assert ours(readers.speedscope_places(write("speedscope", "lines").decode())) == {(PRICE, BEGINS), ("add_tax", 0)}
text = write("tree", "lines").decode()
for function, place in (
    (r"shop::Cart::price\(int\)  \(in [^)]*\) \+ [0-9]+", "called by price"),
    (r"add_tax \[inlined\]  \(in [^)]*\)", "called by add_tax"),
):
    assert re.search(r" %s  \[0x[0-9a-f]+\]  profile_writer\.c:%d\n" % (function, marks[place]), text), text
# Without lines no format has a line, not even of a function's beginning.
assert all(place[2:] == (0, 0) for place in readers.pprof_places(write("pprof")))
assert "profile_writer.c:" not in write("tree").decode()

# Every format contains the facts about the run.
for name in ("tree", "pprof", "firefox", "svg"):
    text = write(name)
    assert b"3 missed" in text and b"2 ticks and captures were put off" in text, name
assert json.loads(write("json"))["run"]["missed_ticks"] == 3

try:
    import jsonschema
except ImportError:
    print("skipped from here on: python3-jsonschema is not installed")
    sys.exit(77)
for name, path in (
    ("speedscope", os.path.join(SCHEMAS, "speedscope.schema.json")),
    ("firefox", os.path.join(SCHEMAS, "firefox.schema.json")),
    ("json", OWN_SCHEMA),
):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    for arguments in ([], ["totals"], ["bare"], ["cpu", "ids"], ["lines"]):
        jsonschema.Draft202012Validator(schema).validate(json.loads(write(name, *arguments)))
