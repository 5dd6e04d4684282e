#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes crash reports of a fleet with known counts.

    make_reports.py FOLDER [--reports N] [--hot SHARE] [--different] [--seed N]

Compiles three apps in three versions each: ELF libraries with gcc, Mach-O libraries and dSYMs with clang. The functions
of an app have the same names in all versions, at different offsets. FOLDER gets

    files/       the libraries and dSYMs, for `unspool index`
    reports/     N reports, one a line, in several files: JSON records, and some bodies of .ips reports
    truth.json   for each crash signature (the names of the innermost five functions): how many reports and stacks

The names come from llvm-symbolizer-19, never from unspool. Some records are damaged or blank, and some frames lie in an
image that has no file; the truth counts these too. With --hot, that share of the reports comes from one build. With
--different, no two reports have the same stack: the callers beyond the innermost five are drawn anew for each.
"""
import argparse
import json
import os
import random
import re
import subprocess
from collections import defaultdict

DEPTH = 5
FUNCTIONS = 240
SIGNATURES = 150  # of each app, before inlined calls distinguish more of them
FILES = 8
SYSTEM = {'image': 'libsystem.so', 'build_id': 'feedface' * 5}
STUBS = """--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ arm64-macos ]
    symbols: [ dyld_stub_binder ]
...
"""


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def source_of(app, version):
    """C in which each function has an inlined call, and calls one of the functions before it."""
    lines = ['volatile int sink;']
    for i in range(8):
        lines += [f'static inline __attribute__((always_inline)) int app{app}_step{i}(int x)', '{',
                  f'    sink = x + {i};', '    for (int n = 0; n < x; n++)', f'        sink += n * {i + 3};',
                  '    return sink;', '}']
    for i in range(FUNCTIONS):
        callee = f'app{app}_f{(i * 7) % i}(x - 1)' if i > 0 else '1'
        lines += [f'__attribute__((noinline)) int app{app}_f{i}(int x)', '{', f'    if (x < {i % 5}) return sink;']
        lines += [f'    sink += x * {n};' for n in range((i * 5 + version * 3) % 11)]
        lines += [f'    int y = app{app}_step{(i + version) % 8}(x);', f'    return y + {callee} * x;', '}']
    return '\n'.join(lines) + '\n'


def compile_build(folder, app, version):
    """A build: what names it in records, the file with its names, and its functions' addresses."""
    name = f'libapp{app}-{version}'
    path = f'{folder}/files/{name}'
    source = f'{folder}/{name}.c'
    with open(source, 'w') as out:
        out.write(source_of(app, version))
    is_macho = app == 2
    if is_macho:
        with open(f'{folder}/system.tbd', 'w') as out:
            out.write(STUBS)
        run('clang-19', '-target', 'arm64-apple-macos13', '-g', '-O1', '-c', source, '-o', f'{folder}/{name}.o')
        run('ld64.lld-19', '-dylib', '-arch', 'arm64', '-platform_version', 'macos', '13.0', '13.0',
            f'{folder}/{name}.o', f'{folder}/system.tbd', '-o', path)
        run('dsymutil-19', path, '-o', path + '.dSYM')
        identity = {'uuid': re.search(r'UUID: ([0-9A-F-]{36})', run('llvm-dwarfdump-19', '--uuid', path))[1]}
    else:
        run('gcc', '-g', '-O1', '-fPIC', '-shared', '-Wl,--build-id=sha1', source, '-o', path)
        identity = {'build_id': re.search(r'Build ID: ([0-9a-f]{40})', run('llvm-readelf-19', '-n', path))[1]}
    symbols = sorted((int(address, 16), symbol) for address, symbol in re.findall(
        r'^([0-9a-f]+) [tT] _?(\w+)$', run('llvm-nm-19', '--defined-only', path), re.M))
    functions = {symbol: (start, after) for (start, symbol), (after, _) in zip(symbols, symbols[1:])
                 if re.fullmatch(r'app\d_f\d+', symbol)}
    debug = f'{path}.dSYM/Contents/Resources/DWARF/{name}' if is_macho else path
    return {'app': app, 'identity': {'image': name, **identity}, 'debug': debug, 'functions': functions,
            'step': 4 if is_macho else 1}


def names_of(debug, addresses):
    """For each address its functions, the innermost inlined call first."""
    addresses = sorted(addresses)
    text = run('llvm-symbolizer-19', '--inlines', '--no-demangle', '--obj=' + debug,
               input=''.join(f'{address:#x}\n' for address in addresses))
    answers = [answer.splitlines()[::2] for answer in text.rstrip('\n').split('\n\n')]
    assert len(answers) == len(addresses)
    return {address: [name.removeprefix('_') for name in names] for address, names in zip(addresses, answers)}


def make_stack(build, chain, has_system, like, rng):
    """A list of (build or None, offset), innermost first. `like`: another stack of this build, whose innermost frames
    are taken; or None."""
    stack = []
    for depth, function in enumerate(chain):
        start, end = build['functions'][function]
        # The innermost address is an instruction, the others are return addresses, after a call.
        offset = start + build['step'] * rng.randrange((end - start) // build['step'])
        stack.append((build, offset if depth == 0 else offset + build['step']))
        if depth == 2 and has_system:
            stack.append((None, 0x1000))
    if like is not None:
        stack[:DEPTH] = like[:DEPTH]
    return stack


def make_signatures(builds, rng):
    """Lists of stacks. Those of one list go through the same functions, of any version, inlined calls aside."""
    signatures = []
    for versions in builds:
        for _ in range(SIGNATURES):
            chain = [f'app{versions[0]["app"]}_f{rng.randrange(FUNCTIONS - 1)}' for _ in range(rng.randrange(6, 30))]
            has_system = rng.randrange(4) == 0
            stacks = []
            for build in versions:
                first = None
                for _ in range(rng.randrange(1, 8)):
                    like = first if rng.randrange(4) > 0 else None
                    stack = make_stack(build, chain, has_system, like, rng)
                    first = first or stack
                    stacks.append(stack + [(None, 0x2400)])
            signatures.append(stacks)
    return signatures


def truth_of(stack, names):
    found = []
    for depth, (one, offset) in enumerate(stack):
        if one is None:
            found.append(SYSTEM['image'])
        else:
            found += names[one['debug']][offset if depth == 0 else offset - 1]
    return tuple(found[:DEPTH])


def with_other_callers(stack, number, rng):
    """The stack with other frames beyond those that make the signature; the last one's offset is used once."""
    build = next(one for one, _ in stack if one is not None)
    functions = list(build['functions'].values())
    callers = [(build, start + build['step'] * rng.randrange(1, (end - start) // build['step']))
               for start, end in rng.choices(functions, k=len(stack) - DEPTH - 1)]
    return stack[:DEPTH] + callers + [(None, 0x2400 + number)]


def json_of(stack):
    frames = [{**(one['identity'] if one else SYSTEM), 'offset': offset} for one, offset in stack]
    return json.dumps(frames, separators=(',', ':'))


def ips_of(stack):
    """The body of an .ips report, on one line."""
    images = []
    for one, _ in stack:
        identity = one['identity'] if one else SYSTEM
        if identity not in images:
            images.append(identity)
    used = [{'name': image['image'], 'uuid': image.get('uuid') or image['build_id'], 'base': 0x100000000 * (n + 1),
             'size': 0x1000000, 'arch': 'arm64'} for n, image in enumerate(images)]
    frames = [{'imageIndex': images.index(one['identity'] if one else SYSTEM), 'imageOffset': offset}
              for one, offset in stack]
    threads = [{'id': 1, 'frames': frames[-1:]}, {'triggered': True, 'id': 2, 'frames': frames}]
    return json.dumps({'bug_type': '309', 'faultingThread': 1, 'threads': threads, 'usedImages': used})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('folder')
    parser.add_argument('--reports', type=int, default=100000)
    parser.add_argument('--hot', type=float, default=0)
    parser.add_argument('--different', action='store_true')
    parser.add_argument('--seed', type=int, default=1)
    wanted = parser.parse_args()
    rng = random.Random(wanted.seed)
    for folder in 'files', 'reports':
        os.makedirs(f'{wanted.folder}/{folder}', exist_ok=True)
    builds = [[compile_build(wanted.folder, app, version) for version in range(3)] for app in range(3)]
    signatures = make_signatures(builds, rng)
    asked = defaultdict(set)
    for stack in (stack for stacks in signatures for stack in stacks):
        for depth, (one, offset) in enumerate(stack):
            if one is not None:
                asked[one['debug']].add(offset if depth == 0 else offset - 1)
    names = {debug: names_of(debug, addresses) for debug, addresses in asked.items()}
    # A few signatures have most of the reports.
    weights = [1 / (rank + 1) for rank in range(len(signatures))]
    rng.shuffle(signatures)
    flat = [[(json_of(stack), truth_of(stack, names), stack[0][0], stack) for stack in stacks] for stacks in signatures]
    hot = builds[0][0]
    in_hot = [[stack for stack in stacks if stack[2] is hot] for stacks in flat]
    hot_choice = [i for i, stacks in enumerate(in_hot) if stacks]
    counts, stacks_of, unreadable = defaultdict(int), defaultdict(set), 0
    outs = [open(f'{wanted.folder}/reports/part-{i}.jsonl', 'w') for i in range(FILES)]
    chosen = rng.choices(range(len(flat)), weights, k=wanted.reports)
    for number, choice in enumerate(chosen):
        out = outs[number * FILES // wanted.reports]
        if number % 9973 == 17:
            out.write(rng.choice(['\n', '{"id":1,"frames":[{"image"\n', 'no JSON\n', '{}{}\n']))
            unreadable += 1
            continue
        of = in_hot[rng.choice(hot_choice)] if rng.random() < wanted.hot else flat[choice]
        frames, signature, one, stack = rng.choice(of)
        if wanted.different:
            stack = with_other_callers(stack, number, rng)
            frames = json_of(stack)
        counts[signature] += 1
        stacks_of[signature].add(frames)
        if one['app'] == 2 and number % 5 == 0:
            out.write(ips_of(stack) + '\n')
            continue
        out.write(f'{{"id":"{number:012d}","process":"{one["identity"]["image"]}","signal":"SIGSEGV","device":"model-'
                  f'{number % 97}","free_memory":{rng.randrange(1 << 31)},"frames":{frames}}}\n')
    for out in outs:
        out.close()
    truth = [{'functions': list(key), 'reports': counts[key], 'stacks': len(stacks_of[key])} for key in sorted(counts)]
    truth.append({'functions': ['unreadable record'], 'reports': unreadable, 'stacks': 1 if unreadable else 0})
    with open(f'{wanted.folder}/truth.json', 'w') as out:
        json.dump(truth, out)
    print(f'{wanted.reports} reports, {len(truth) - 1} signatures, {sum(t["stacks"] for t in truth)} stacks, '
          f'{unreadable} unreadable')


main()
