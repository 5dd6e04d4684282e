# SPDX-License-Identifier: MIT
"""Compares async chains with what the program itself says is true (observe.c has the lines' form).

    compare.py lines FILE           what the program captured of itself
    compare.py json TRUTH FILE      what `unspool stack --async --demangle short --json` shows of a thread in observe()
    compare.py busy FILE            the same of busy.swift, as JSON documents one behind the other; prints how many chains they have

Every name that the program gives must be in the chain, in its order, and nothing between them but what the compiler and the
runtime put there; what Swift's own unwinder found must not be more."""
import json
import re
import sys

# Made by the compiler or the runtime, or the scenes' own beginning: the program does not count these.
UNCOUNTED = re.compile(
    r"^(specialized |partial apply for |implicit )*(thunk for |closure #|protocol witness for |completeTask|(swift)?_?asyncLet_|"
    r"with(TaskGroup|CheckedContinuation|UnsafeContinuation)\(|AsyncIteratorProtocol\.next\(isolation:\))"
)


def base(name):
    """deep(_:_:) await -> deep"""
    name = re.sub(r" (await|suspend)$", "", name)
    name = re.sub(r"^specialized ", "", name)
    return name.split("(")[0]


def judge(where, truth, join, chain):
    expected = truth.split(";")
    found = [base(n) for n in [join] + chain if not UNCOUNTED.match(n)]
    if not chain or found != expected:
        print(f"{where}: the chain is {found}, not {expected}")
        print("   ", join, chain)
        return 1
    if not chain[-1].startswith("completeTask"):
        print(f"{where}: the chain does not end where a task ends: {chain[-1]}")
        return 1
    return 0


def lines(path):
    failures, count, ours = 0, 0, {}
    for line in open(path):
        way, scene, truth, join, chain, end = line.rstrip("\n").split("\t")
        chain = chain.split(";") if chain else []
        count += 1
        if way == "swift":
            if len(chain) > ours[scene, truth]:
                print(f"{scene}: Swift's unwinder finds {len(chain)} async frames, we {ours[scene, truth]}")
                failures += 1
            continue
        ours[scene, truth] = len(chain)
        failures += judge(f"{scene}, {way}", truth, join, chain)
        if end != "the outermost frame was reached":
            print(f"{scene}, {way}: ends: {end}")
            failures += 1
    print(f"{count} chains")
    return failures


def document(truth, path):
    for thread in json.load(open(path))["threads"]:
        frames = thread.get("frames", [])
        if not any(f.get("symbol") == "observe(_:)" for f in frames):
            continue
        if "async" not in thread:
            print("the thread has no chain")
            return 1
        join = frames[thread["async"]["from"]]
        return judge(path, truth, join["symbol"], [f.get("symbol", "?") for f in thread["async"]["frames"]])
    print(f"{path}: no thread is in observe()")
    return 1


# busy.swift: who is awaited by whom; None: a task begins there.
AWAITED_BY = {
    "work": {"either", "Sum.add"},
    "static Task.yield": {"right"},
    "Sum.add": {"viaActor"},
    "viaActor": {"again"},
    "again": {"again", "round"},
    "either": {"left", "right"},
    "left": {"round", None},
    "right": {"round", None},
    "children": {"round"},
    "round": {None},
}


def busy(path):
    failures = chains = 0
    text, decoder = open(path).read(), json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        for thread in document["threads"]:
            if not thread.get("async", {}).get("frames"):
                continue
            chains += 1
            names = [thread["frames"][thread["async"]["from"]].get("symbol", "?")]
            names += [f.get("symbol", "?") for f in thread["async"]["frames"]]
            counted = [base(n) for n in names if not UNCOUNTED.match(n)] + [None]
            pairs = list(zip(counted, counted[1:]))
            if any(awaiting not in AWAITED_BY.get(awaited, ()) for awaited, awaiting in pairs):
                print("false:", names, file=sys.stderr)
                failures += 1
            if not names[-1].startswith("completeTask"):
                print("cut short:", names, thread["async"]["ends"], file=sys.stderr)
                failures += 1
    print(chains)
    return failures


modes = {"lines": lines, "json": document, "busy": busy}
sys.exit(min(1, modes[sys.argv[1]](*sys.argv[2:])))
