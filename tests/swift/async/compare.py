# SPDX-License-Identifier: MIT
"""Compares async chains with what the program itself says is true (observe.c has the lines' form).

    compare.py lines FILE WAY...    what the program captured of itself: each scene in each of these ways
    compare.py json TRUTH FILE      what `unspool stack --async --demangle short --json` shows of a thread in observe()
    compare.py tasks TRUTH FILE     what `unspool stack --tasks --demangle short --json` shows of suspended.swift, which wrote TRUTH
    compare.py moving FILE          the same of busy.swift, as JSON documents one after the other; prints how many tasks they have
    compare.py busy FILE            what `unspool stack --async --demangle short --json` shows of busy.swift, as JSON documents one
                                    after the other: at least 10 chains, and at least nine times as many as were dropped

Every name that the program gives must be in the chain, in its order, and nothing between them but what the compiler and the
runtime put there; what Swift's own unwinder found must not be more."""
import json
import re
import sys

# Functions of the compiler or the runtime, and the scenes' own start. The program does not count them.
UNCOUNTED = re.compile(
    r"^(specialized |partial apply for |implicit )*(thunk for |closure #|protocol witness for |completeTask|(swift)?_?asyncLet_|"
    r"with(TaskGroup|CheckedContinuation|UnsafeContinuation)\(|AsyncIteratorProtocol\.next\(isolation:\)|"
    r"\w+_adapter$)"
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


SCENES = ("deep throwing before resumed asyncLet group insideGroup detached actor main sequence continuation "
          "afterContinuation").split()


def lines(path, *ways):
    failures, missing, ours = 0, {(scene, way) for scene in SCENES for way in ways}, {}
    for line in open(path):
        way, scene, truth, join, chain, end = line.rstrip("\n").split("\t")
        chain = chain.split(";") if chain else []
        missing.discard((scene, way))
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
    for scene, way in sorted(missing):
        print(f"{scene}, {way}: no line")
    return failures + len(missing)


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


# busy.swift: the functions that await each function; None: a task begins there.
AWAITED_BY = {
    "work": {"either", "Sum.add"},
    "static Task.yield": {"right"},
    # Swift's library has merged the function that resumes Task.yield with that of Task.sleep.
    "static Task.sleep": {"right"},
    "Sum.add": {"viaActor"},
    "viaActor": {"again"},
    "again": {"again", "round"},
    "either": {"left", "right"},
    "left": {"round", None},
    "right": {"round", None},
    "children": {"round"},
    "round": {None},
    "static Busy.main": {None},
}


def busy(path):
    failures = chains = dropped = 0
    text, decoder = open(path).read(), json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        for thread in document["threads"]:
            if "async" not in thread:
                continue
            if not thread["async"]["frames"]:
                dropped += 1
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
    print(f"{chains} chains, {dropped} dropped")
    return failures + (chains < 10) + (chains < 9 * dropped)


# The runtime's own functions, in programs that contain the runtime, and the callers of main.
RUNTIME = re.compile(r"^(static Task\.sleep|Task\.value\.|TaskGroup\.|task_group_|static \w+\.\$main|async_Main)")


def own_chain(document, task):
    """The functions of the program itself, innermost first."""
    own = next(i for i, image in enumerate(document["images"]) if image["path"] == document["process"]["program"])
    names = [f.get("symbol", "?") for f in task["frames"] if f.get("image") == own]
    return ";".join(base(n) for n in names if not UNCOUNTED.match(n) and not RUNTIME.match(n))


def is_timer(document, task):
    """Task.sleep makes a task of its own, which begins when the time is over."""
    return task["state"] == "created" and "in static Task.sleep(" in task["frames"][0].get("symbol", "")


# Functions that wait for children or another task, and the functions these are in.
CHILDREN = {"asyncLet": ["never"], "asyncLetThrowing": ["neverThrowing"], "group": ["never", "never;deep;deep"]}
AWAITED = {"asyncLet": "never", "asyncLetThrowing": "neverThrowing", "otherTask": "never"}


def tasks(truth, path):
    failures = 0
    document = json.load(open(path))
    expected = sorted(tuple(line.rstrip("\n").split("\t")[1:]) for line in open(truth) if line.startswith("task\t"))
    shown = [t for t in document["tasks"] if not is_timer(document, t)]
    chains = {t["id"]: own_chain(document, t) for t in document["tasks"]}
    found = sorted((chains[t["id"]], t.get("waits_for", "?")) for t in shown)
    for task in [t for t in expected if expected.count(t) > found.count(t)]:
        print(f"{path}: missing: {task}")
        failures += 1
    for task in [t for t in found if found.count(t) > expected.count(t)]:
        print(f"{path}: not true: {task}")
        failures += 1
    for task in document["tasks"]:
        if task["ends"] != "the outermost frame was reached" or task["omitted"] != 0:
            print(f"{path}: cut short: {chains[task['id']]}: {task['ends']}")
            failures += 1
    for name, children in CHILDREN.items():
        parent = next((t["id"] for t in shown if chains[t["id"]].split(";")[0] == name), None)
        of_parent = sorted(chains[t["id"]] for t in shown if t.get("parent_task") == parent)
        if of_parent != children:
            print(f"{path}: the children of {name} are {of_parent}")
            failures += 1
    if sum("parent_task" in t for t in shown) != sum(map(len, CHILDREN.values())):
        print(f"{path}: tasks have parents that are none")
        failures += 1
    for task in shown:
        awaited = AWAITED.get(chains[task["id"]].split(";")[0])
        if chains.get(task.get("awaited_task")) != awaited:
            print(f"{path}: {chains[task['id']]} awaits {chains.get(task.get('awaited_task'))}")
            failures += 1
    if document["tasks_running"] != 1 or document["tasks_cut"]:
        print(f"{path}: {document['tasks_running']} tasks are running, cut: {document['tasks_cut']}")
        failures += 1
    print(f"{len(shown)} tasks")
    return failures


def is_true(chain):
    counted = [base(n) for n in chain.split(";") if n] + [None]
    return all(awaiting in AWAITED_BY.get(awaited, ()) for awaited, awaiting in zip(counted, counted[1:]))


def moving(path):
    failures = count = 0
    text, decoder = open(path).read(), json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        for task in document["tasks"]:
            count += 1
            if not is_true(own_chain(document, task)) or task["ends"] != "the outermost frame was reached":
                print("false:", [f.get("symbol") for f in task["frames"]], task["ends"], file=sys.stderr)
                failures += 1
    print(count)
    return failures


modes = {"lines": lines, "json": document, "busy": busy, "tasks": tasks, "moving": moving}
if __name__ == "__main__":
    sys.exit(min(1, modes[sys.argv[1]](*sys.argv[2:])))
