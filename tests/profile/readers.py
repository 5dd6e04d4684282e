# SPDX-License-Identifier: MIT
# Reads profiles in each format that the library writes, and returns the same: a dictionary from (thread, outermost, …,
# innermost) to a number. formats.py compares them; other tests use it, too.
import gzip
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import protobuf

LEFT_OUT = "[frames left out]"


def read_folded(text):
    found = Counter()
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(value)
    return found


def read_tree(text):
    """The call tree: what is not with a callee ended in the caller."""
    found, path = Counter(), []
    body = text.split("Call graph:\n")[1].split("\nSort by top")[0]
    lines = []
    for line in body.splitlines():
        match = re.match(r"    ((?:[ +!:|] )*)(\d+) (.*)$", line)
        if match is None:
            assert line.startswith("    in "), line
            continue
        name = re.sub(r"  \(in .*$| \+ [0-9,.]+  \[.*$|  \[0x.*$", "", match[3])
        lines.append((len(match[1]) // 2, int(match[2]), name))
    for depth, value, name in lines:
        del path[depth:]
        path.append(name)
        found[tuple(path)] += value
        if depth > 0:
            found[tuple(path[:-1])] -= value
    return Counter({path: value for path, value in found.items() if value != 0})


def read_speedscope(text):
    document = json.loads(text)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    found = Counter()
    for profile in document["profiles"]:
        assert profile["type"] == "sampled" and len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            found[(profile["name"],) + tuple(names[frame] for frame in stack)] += weight
    return found


def check_columns(table):
    for key, column in table.items():
        assert not isinstance(column, list) or len(column) == table["length"], key


def read_firefox(text):
    document = json.loads(text)
    shared = document["shared"]
    for key, table in shared.items():
        if key != "stringArray":
            check_columns(table)
    strings, stacks, frames, functions = (shared[key] for key in ("stringArray", "stackTable", "frameTable", "funcTable"))

    def path(stack):
        names = []
        while True:
            names.append(strings[functions["name"][frames["func"][stacks["frame"][stack]]]])
            if stacks["prefixOffset"][stack] == 0:
                return tuple(reversed(names))
            stack -= stacks["prefixOffset"][stack]

    for i, offset in enumerate(stacks["prefixOffset"]):
        assert 0 <= offset <= i
    for i, function in enumerate(frames["func"]):
        resource = functions["resource"][function]
        assert resource == -1 or document["libs"][shared["resourceTable"]["lib"][resource]]["name"] is not None
        assert (frames["address"][i] == -1) == (resource == -1), (i, frames["address"][i], resource)
        symbol = frames["nativeSymbol"][i]
        if symbol is not None:
            assert shared["nativeSymbols"]["libIndex"][symbol] == resource
            assert shared["nativeSymbols"]["address"][symbol] <= frames["address"][i]
    found, times = Counter(), {}
    for thread in document["threads"]:
        samples = thread["samples"]
        check_columns(samples)
        check_columns(thread["markers"])
        assert samples["time"] == sorted(samples["time"]) and min(samples["time"]) >= 0
        for stack, weight in zip(samples["stack"], samples["weight"]):
            found[(thread["name"],) + path(stack)] += round(weight * 1e6)
        times[thread["tid"]] = samples["time"]
    return found, times


def read_json(text, value):
    document = json.loads(text)
    found = Counter()

    def path(stack):
        names = []
        while stack is not None:
            node = document["stacks"][stack]
            assert node.get("caller", -1) < stack
            frame = document["frames"][node["frame"]] if "frame" in node else None
            places = frame.get("inlined", []) + [frame] if frame else []
            names += [document["functions"][place["function"]]["name"] for place in places] or [LEFT_OUT]
            stack = node.get("caller")
        return tuple(reversed(names))

    for total in document["totals"]:
        thread = document["threads"][total["thread"]]
        name = thread["name"] or "thread %d" % thread["id"]
        found[(name,) + path(total["stack"])] += total[value]
    if document["time_line"]:
        sums = Counter()
        for _, total, count, wall, cpu in document["time_line"]:
            sums[total] += {"samples": count, "wall_ns": wall, "cpu_ns": cpu}[value]
        for i, total in enumerate(document["totals"]):
            assert sums[i] == total[value]
    return found


def read_svg(text):
    """Boxes by their geometry alone: a box lies on the caller that it is above of."""
    name_space = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(text)
    boxes, found = [], Counter()
    for group in root.iter(name_space + "g"):
        title, rectangle = group.find(name_space + "title").text, group.find(name_space + "rect")
        name, amount = re.match(r"(.*) \(([0-9.]+) .*\)$", title, re.S).groups()
        x, y, width = (float(rectangle.get(key)) for key in ("x", "y", "width"))
        assert x >= 10 and x + width <= 1190.01, (x, width)
        boxes.append((y, x, width, name, float(amount) if "." in amount else int(amount)))
    boxes.sort(key=lambda box: (-box[0], box[1]))
    paths = {}
    for y, x, width, name, amount in boxes:
        below = [b for b in paths if b[0] == y + 17 and b[1] <= x + 0.01 and b[1] + b[2] >= x + width - 0.01]
        assert len(below) == (0 if y == boxes[0][0] else 1), (name, below)
        path = (paths[below[0]] if below else ()) + (name,)
        found[path] += amount
        if below:
            found[path[:-1]] -= amount
        paths[(y, x, width)] = path
    return Counter({path: value for path, value in found.items() if abs(value) > 1e-9})


# ---- pprof, without pprof: protocol buffers ----


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            n = varint()
            yield key >> 3, data[at : at + n]
            at += n


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            yield value
            value = shift = 0


def read_pprof(data, value):
    strings, functions, locations, samples = [], {}, {}, []
    for field, content in fields(gzip.decompress(data)):
        if field == 6:
            strings.append(content.decode("utf-8"))
        elif field == 5:
            function = dict(fields(content))
            functions[function[1]] = function[2]
        elif field == 4:
            lines = [dict(fields(line))[1] for number, line in fields(content) if number == 4]
            locations[dict(fields(content))[1]] = lines
        elif field == 2:
            samples.append(list(fields(content)))
    assert strings[0] == "" and 0 not in functions and 0 not in locations
    found = Counter()
    for sample in samples:
        labels = [dict(fields(content)) for field, content in sample if field == 3]
        thread = next(strings[label[2]] for label in labels if strings[label[1]] == "thread")
        numbers = [location for field, content in sample if field == 1 for location in varints(content)]
        stack = [function for number in numbers for function in locations[number]]
        values = [number for field, content in sample if field == 2 for number in varints(content)]
        assert len(values) == 3
        found[(thread,) + tuple(strings[functions[function]] for function in reversed(stack))] += values[value]
    return found


def read_otlp(data, value):
    """The profile of a type of value, with its own reader; and the times of each thread's samples."""
    document = list(protobuf.fields(data))
    tables = [message for field, message in document if field == 2]
    assert len(tables) == 1 and len(document) == 2
    names = ("mapping", "location", "function", "link", "string", "attribute", "stack")
    table = {name: protobuf.every(tables[0], i + 1) for i, name in enumerate(names)}
    assert all(items[0] == b"" for items in table.values())
    strings = [one.decode("utf-8") for one in table["string"]]
    assert all(len(set(items)) == len(items) for items in table.values())
    resource = protobuf.last(document[0][1], 1)
    facts = {protobuf.last(one, 1).decode(): protobuf.last(one, 2) for one in protobuf.every(resource, 1)}
    scope = protobuf.last(document[0][1], 2)
    assert protobuf.last(protobuf.last(scope, 1), 1) == b"unspool"
    profiles = {strings[protobuf.last(protobuf.last(one, 1), 1)]: one for one in protobuf.every(scope, 2)}
    assert sorted(profiles) == ["cpu", "samples", "wall"]
    found, times = Counter(), {}
    for sample in protobuf.every(profiles[value], 2):
        attributes = {}
        for number in varints(protobuf.last(sample, 2)):
            pair = table["attribute"][number]
            attributes[strings[protobuf.last(pair, 1)]] = protobuf.last(pair, 2)
        id = protobuf.last(attributes["thread.id"], 3)
        name = protobuf.last(attributes["thread.name"], 1).decode() if "thread.name" in attributes else "thread %d" % id
        stack = []
        for number in varints(protobuf.last(table["stack"][protobuf.last(sample, 1)], 1)):
            location = table["location"][number]
            lines = protobuf.every(location, 3)
            kind = table["attribute"][list(varints(protobuf.last(location, 4)))[0]]
            assert strings[protobuf.last(kind, 1)] == "profile.frame.type"
            assert protobuf.last(protobuf.last(kind, 2), 1) == b"native"
            stack += [strings[protobuf.last(table["function"][protobuf.last(line, 1)], 1)] for line in lines]
            if not lines:
                mapping = table["mapping"][protobuf.last(location, 1)]
                path = strings[protobuf.last(mapping, 4)].rsplit("/", 1)[-1]
                # The address is that of the call: one byte before the return address.
                address = protobuf.last(location, 2) + (1 if stack else 0)
                stack.append("%s+0x%x" % (path, address - protobuf.last(mapping, 1)) if path else "0x%x" % address)
        values, stamps = list(varints(protobuf.last(sample, 4))), protobuf.last(sample, 5, b"")
        assert len(stamps) == 8 * len(values) or (len(values) == 1 and not stamps)
        found[(name,) + tuple(reversed(stack))] += sum(values)
        times.setdefault(id, []).extend(int.from_bytes(stamps[at : at + 8], "little") for at in range(0, len(stamps), 8))
    return found, {id: sorted(of) for id, of in times.items()}, facts


def pprof_places(data):
    """For each line of a location: function, its file, where it begins, the line."""
    strings, functions, lines = [], {}, []
    for field, content in fields(gzip.decompress(data)):
        if field == 6:
            strings.append(content.decode("utf-8"))
        elif field == 5:
            function = dict(fields(content))
            functions[function[1]] = function
        elif field == 4:
            lines += [dict(fields(line)) for number, line in fields(content) if number == 4]
    of = [functions[line[1]] for line in lines]
    return {
        (strings[function[2]], strings[function.get(4, 0)], function.get(5, 0), line.get(2, 0))
        for function, line in zip(of, lines)
    }


def json_places(text):
    document = json.loads(text)
    found = set()
    for frame in document["frames"]:
        for place in frame.get("inlined", []) + [frame]:
            function = document["functions"][place["function"]]
            assert function.get("inlined", False) == (place is not frame), function
            found.add((function["name"], function.get("file", ""), function.get("line", 0), place.get("line", 0)))
    return found


def firefox_places(text):
    shared = json.loads(text)["shared"]
    strings, frames, functions = shared["stringArray"], shared["frameTable"], shared["funcTable"]
    found = set()
    for i, function in enumerate(frames["func"]):
        source = functions["source"][function]
        file = strings[shared["sources"]["filename"][source]] if source is not None else ""
        name, begins = strings[functions["name"][function]], functions["lineNumber"][function] or 0
        found.add((name, file, begins, frames["line"][i] or 0))
    depths = {strings[functions["name"][f]]: depth for f, depth in zip(frames["func"], frames["inlineDepth"])}
    return found, depths


def speedscope_places(text):
    return {
        (frame["name"], frame.get("file", ""), frame.get("line", 0)) for frame in json.loads(text)["shared"]["frames"]
    }
