#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares source frames of a file with those of llvm-symbolizer and eu-addr2line: every function's start and random addresses of
the code; function, path, line, column, and the whole chain of inlined calls.

Answers may differ only by the rules of doc/symbolize-lines.md ("Where others answer differently"), each of which is a function
here; anything else is a failure. A line that no other tool has, in any frame, is invented, and fails whatever the rule.
lines_truth.py uses the same rules for what the tests compile.
"""
import argparse
import bisect
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

LLVM = '-19'

Frame = collections.namedtuple('Frame', 'function path line column flags')
NOTHING = Frame('', '', 0, 0, frozenset())


# ---- the contents of a file

def output(*command, check=True, **options):
    return subprocess.run(command, capture_output=True, text=True, check=check, errors='surrogateescape', **options).stdout


def is_macho(path):
    with open(path, 'rb') as file:
        return file.read(4) in (b'\xcf\xfa\xed\xfe', b'\xce\xfa\xed\xfe')


def code_sections(path):
    """(start, end) of each section of code, ascending. A file of debug information has the headers of all of them."""
    if is_macho(path):
        text = output('llvm-objdump' + LLVM, '--section-headers', path)
        found = re.findall(r'^\s*\d+ \S+\s+([0-9a-f]+) ([0-9a-f]+) .*\bTEXT\b', text, re.M)
        ranges = [(int(address, 16), int(size, 16)) for size, address in found]
    else:
        text = output('llvm-readelf' + LLVM, '-SW', path)
        found = re.findall(r'^ *\[ *\d+\] \S+ +\w+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +\w*X', text, re.M)
        ranges = [(int(address, 16), int(size, 16)) for address, size in found]
    return sorted({(start, start + size) for start, size in ranges if size > 0})


def slice_of(path, arch, folder):
    """A thin file of the slice of a processor, in a folder; the file itself when it is thin, or ELF."""
    with open(path, 'rb') as file:
        is_fat = file.read(4) in (b'\xca\xfe\xba\xbe', b'\xca\xfe\xba\xbf')
    if not is_fat:
        return path
    thin = os.path.join(folder, os.path.basename(path))
    output('llvm-lipo' + LLVM, path, '-thin', arch, '-output', thin)
    return thin


class Symbols:
    """The symbols of code: which names stand at one address."""

    def __init__(self, path, code):
        self.by_name = collections.defaultdict(set)
        self.labels = set()  # names without a size
        self.by_address = collections.defaultdict(set)
        is_file_macho = is_macho(path)
        for line in output('llvm-nm' + LLVM, '--defined-only', '--print-size', path).splitlines():
            found = re.match(r'([0-9a-f]+) (?:([0-9a-f]+) )?(\w) (.*)$', line)
            if not found:
                continue
            address, name = int(found.group(1), 16), found.group(4).split('@')[0]
            if int(found.group(2) or '0', 16) == 0:
                self.labels.add(name)
            if found.group(3) in 'UabBdDrRsSN':
                continue
            if is_file_macho and name.startswith('_') and not name.startswith('__hidden#'):
                name = name[1:]
            self.by_name[name].add(address)
            if any(start <= address < end for start, end in code):
                self.by_address[address].add(name)
        self.starts = sorted(self.by_address)

    def are_aliases(self, one, other):
        """Whether two names are of one function. Bit 0 of a Thumb function's symbol is not part of the address."""
        return bool({a & ~1 for a in self.by_name.get(one, ())} & {a & ~1 for a in self.by_name.get(other, ())})


class Units:
    """Which units claim an address, by their first entries; read when it is first asked for."""

    def __init__(self, path):
        self.path, self.claims = path, None

    def count(self, address):
        if self.claims is None:
            text = output('llvm-dwarfdump' + LLVM, '--debug-info', '--recurse-depth=0', self.path, check=False)
            self.claims = []
            for unit, lines in enumerate(text.split('Compile Unit:')[1:]):
                ranges = re.findall(r'\[0x([0-9a-f]+), 0x([0-9a-f]+)\)', lines) or \
                    re.findall(r'DW_AT_low_pc\s+\(0x([0-9a-f]+)\)\s+DW_AT_high_pc\s+\(0x([0-9a-f]+)\)', lines)
                self.claims += [(int(low, 16), int(high, 16), unit) for low, high in ranges]
        return len({unit for low, high, unit in self.claims if low <= address < high})


# ---- the answers of each tool

def ask_ours(dump, path, addresses, arch=None, options=()):
    """lines_dump's frames. A declaration's line is not one of the line table; other tools do not say it."""
    command = [*dump, *options, *(['-a', arch] if arch else []), path]
    text = output(*command, input=''.join('0x%x\n' % a for a in addresses))
    answers = []
    for block in text.split('\n\n'):
        lines = block.strip('\n').split('\n')
        if lines == ['']:
            continue
        frames = []
        for line in lines[1:]:
            function, folder, name, number, column, flags = line.split('\t')
            flags = frozenset(flags.split(','))
            where = '' if name == '-' else name if folder == '-' else folder.rstrip('/') + '/' + name
            if 'declaration' in flags:
                where, number, column = '', 0, 0
            frames.append(Frame('' if function == '-' else function, where, int(number), int(column), flags))
        answers.append(frames or [NOTHING])
    if len(answers) != len(addresses):
        sys.exit(f'{path}: {len(addresses)} questions, {len(answers)} answers')
    return answers


def ask_llvm(path, addresses):
    text = output('llvm-symbolizer' + LLVM, '--inlines', '--functions=linkage', '--no-demangle', '--output-style=JSON',
                  '--obj=' + path, input=''.join('0x%x\n' % a for a in addresses))
    answers = []
    for line in text.splitlines():
        frames = [Frame(s['FunctionName'], s['FileName'], s['Line'], s['Column'], frozenset())
                  for s in json.loads(line).get('Symbol', [])]
        answers.append(frames or [NOTHING])
    if len(answers) != len(addresses):
        sys.exit(f'{path}: llvm-symbolizer has {len(answers)} answers to {len(addresses)} questions')
    return answers


def ask_elfutils(path, addresses):
    """Frames of eu-addr2line. Its format has the place of a call twice; lines of addresses are without a colon."""
    # Its exit status is 1 if an address is in no loaded section.
    text = output('eu-addr2line', '-a', '-f', '-i', '-e', path, check=False,
                  input=''.join('0x%x\n' % a for a in addresses))
    answers, lines = [], None
    for line in text.splitlines() + ['0x0']:
        if re.fullmatch(r'0x[0-9a-f]+', line):
            if lines is not None:
                frames = []
                for function, place in zip(lines[::2], lines[1::2]):
                    function = re.sub(r' inlined at .*$', '', function)
                    where, number, column = (place.rsplit(':', 2) + ['0', '0'])[:3]
                    frames.append(Frame('' if function == '??' else function, '' if where == '??' else where,
                                        int(number), int(column.split()[0]), frozenset()))
                answers.append(frames or [NOTHING])
            lines = []
        else:
            lines.append(line)
    if len(answers) != len(addresses):
        sys.exit(f'{path}: eu-addr2line has {len(answers)} answers to {len(addresses)} questions')
    return answers


# ---- the rules by which answers may differ

def place_of(frame):
    return (os.path.normpath(frame.path) if frame.path else '', frame.line, frame.column)


class Rules:
    """doc/symbolize-lines.md, "Where others answer differently". Each method is one row there, and says whether it explains how an
    answer of llvm-symbolizer, or of eu-addr2line, differs from ours."""

    def __init__(self, path, symbols, has_stray=False):
        self.symbols, self.units, self.has_stray = symbols, Units(path), has_stray
        self.file_symbols, self.has_shared = frozenset(), False
        if not is_macho(path):
            text = output('llvm-readelf' + LLVM, '-SsW', path)
            self.file_symbols = frozenset(re.findall(r'FILE +LOCAL +DEFAULT +ABS (.+)$', text, re.M))
            self.has_shared = '.gnu_debugaltlink' in text

    # names of one function

    def alias(self, ours, theirs, is_outermost):
        return is_outermost and self.symbols.are_aliases(ours, theirs)

    def label(self, ours, theirs, is_outermost):
        """A symbol without a size that stands inside of a function, or at the end of the section before."""
        starts, labels = self.symbols.by_name.get(ours), self.symbols.by_name.get(theirs)
        is_inside = not ours or (bool(starts) and bool(labels) and min(starts) <= max(labels))
        return is_outermost and theirs in self.symbols.labels and is_inside

    def scope(self, ours, theirs, _):
        return bool(theirs) and ours.endswith('::' + theirs)

    def shared(self, ours, theirs, _):
        return self.has_shared and bool(ours) and not theirs

    def by_symbol(self, ours, theirs, is_outermost):
        """eu-addr2line names the outermost function by the debug information: without .part.0, mangled or not."""
        return is_outermost and bool(theirs) and theirs in ours and ours in self.symbols.by_name

    # places of one frame

    def artificial(self, ours, theirs):
        return re.fullmatch(r'<.+>', ours.path) is not None and os.path.basename(theirs.path) == ours.path and \
            place_of(ours)[1:] == place_of(theirs)[1:]

    def file_symbol(self, ours, theirs):
        """Where there is no line llvm-symbolizer has the file of the symbol table (STT_FILE)."""
        return not ours.path and ours.line == theirs.line == 0 and theirs.path in self.file_symbols

    def twice(self, ours, theirs):
        """eu-addr2line puts a relative directory of the compiler in front of a path that has it."""
        return ours.path[:1] not in ('', '/') and theirs.path.endswith('/' + ours.path) and theirs.path[0] != '/' and \
            place_of(ours)[1:] == place_of(theirs)[1:]

    def shared_folder(self, ours, theirs):
        """dwz has moved the compiler's directory to another file, which llvm-symbolizer does not read."""
        return self.has_shared and theirs.path[:1] not in ('', '/') and ours.path.endswith('/' + theirs.path) and \
            place_of(ours)[1:] == place_of(theirs)[1:]

    # whole answers

    def symbol(self, ours, theirs):
        """Neither has debug information of the address: the names are the symbol table's, which elf.sh and macho.sh compare."""
        return len(ours) == len(theirs) == 1 and not ours[0].path and ours[0].line == 0 and theirs[0].line == 0 and \
            (not theirs[0].path or theirs[0].path in self.file_symbols)

    def folded(self, ours, theirs):
        return 'folded' in ours[-1].flags and self.symbols.are_aliases(ours[-1].function, theirs[-1].function)

    def stray(self, ours, theirs):
        return self.has_stray and len(ours) < len(theirs) and place_of(ours[0]) == place_of(theirs[0])

    def padding(self, ours, theirs):
        """Past a function's end eu-addr2line gives the calls of the one before."""
        return len(ours) == 1 and not ours[0].function and not theirs[0].function and len(theirs) > 1 and \
            place_of(ours[0]) == place_of(theirs[0])

    def names(self, ours, theirs):
        """The rules for the names of chains of one length; None when there is none for one of them."""
        found = set()
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if a.function == b.function:
                continue
            for rule in (self.alias, self.label, self.scope, self.shared, self.by_symbol):
                if rule(a.function, b.function, i + 1 == len(ours)):
                    found.add(rule.__name__)
                    break
            else:
                return None
        return found

    def explain(self, ours, theirs):
        """The rules by which two answers differ, as a set, which is empty when they do not; None when no rule explains it."""
        if len(ours) == len(theirs):
            found, is_explained = set(), True
            for a, b in zip(ours, theirs):
                if place_of(a) == place_of(b):
                    continue
                rules = [rule.__name__ for rule in (self.artificial, self.file_symbol, self.twice, self.shared_folder) if rule(a, b)]
                is_explained = is_explained and bool(rules)
                found.update(rules[:1])
            names = self.names(ours, theirs)
            if is_explained and names is not None:
                return found | names
        for rule in (self.symbol, self.folded, self.stray, self.padding):
            if rule(ours, theirs):
                return {rule.__name__}
        return None

    def explain_elfutils(self, ours, theirs, address, is_as_llvm, before):
        """The same for eu-addr2line. before(address): our frames of the last byte before the function at the address.

        Of inlined calls that overlap eu-addr2line takes the first in the file and not the innermost, and of a function that is
        inlined into itself only one. Where a sequence of rows begins at the end of another, it may take the line of that other
        one. Past a function's end it may go on with the last line. Of units that claim the same code it may ask another than the
        first. All of them count only where llvm-symbolizer answers as we do."""
        found = self.explain(ours, theirs)
        if found is not None or not is_as_llvm:
            return found
        if place_of(ours[0]) == place_of(theirs[0]):
            return {'chain'}
        if ours == [NOTHING] and not theirs[0].function:
            return {'padding'}
        if place_of(before(address)[0]) == place_of(theirs[0]):
            return {'ended'}
        return {'claimed'} if self.units.count(address) > 1 else None


# ---- a whole file

def pick_addresses(code, symbols, random_count, start_count, seed):
    generator = random.Random(seed)
    starts = list(symbols.starts)
    if start_count is not None and len(starts) > start_count:
        starts = generator.sample(starts, start_count)
    ends = []
    total = 0
    for start, end in code:
        total += end - start
        ends.append(total)
    picked = []
    for _ in range(random_count):
        at = generator.randrange(total)
        i = bisect.bisect_right(ends, at)
        picked.append(code[i][1] - (ends[i] - at))
    return sorted(set(starts) | set(picked))


def show(frames):
    return '; '.join(f'{f.function or "?"} {f.path or "?"}:{f.line}:{f.column}' for f in frames)


class Comparison:
    def __init__(self, name):
        self.name, self.counts, self.equal, self.wrong = name, collections.Counter(), 0, 0

    def add(self, address, rules, ours, theirs):
        if rules is None:
            self.wrong += 1
            if self.wrong <= 5:
                print(f'  0x{address:x} is {show(ours)}\n    {self.name}: {show(theirs)}')
        elif rules:
            self.counts.update(rules)
        else:
            self.equal += 1

    def tell(self, file, total):
        by_rule = ', '.join(f'{rule} {count}' for rule, count in sorted(self.counts.items()))
        print(f'{file}: {total} addresses, {self.equal} as {self.name}, by rule: {by_rule or "none"}; '
              f'{self.wrong} otherwise')


def find_invented(addresses, ours, theirs, path):
    """The addresses with a frame, inlined calls included, whose line no other tool has there. By the rule "folded" llvm-symbolizer may
    have another function; then eu-addr2line must have the line."""
    def place(frame):
        path, *where = place_of(frame)
        return (re.sub(r'^.*/(?=<[^/]+>$)', '', path), *where)

    def is_only_in(frames, others):
        said = {place(frame) for frame in others}
        return any(frame.line != 0 and place(frame) not in said for frame in frames)

    only_ours = {address: (a, b) for address, a, b in zip(addresses, ours, theirs) if is_only_in(a, b)}
    if not only_ours or is_macho(path):
        return list(only_ours)
    return [address for (address, (a, b)), c in zip(only_ours.items(), ask_elfutils(path, list(only_ours)))
            if is_only_in(a, b + c)]


def compare(options, folder):
    path = slice_of(options.file, options.arch, folder)
    code = code_sections(path)
    symbols = Symbols(path, code)
    rules = Rules(path, symbols)
    addresses = pick_addresses(code, symbols, options.random, options.starts, options.seed)
    if len(addresses) < options.least:
        sys.exit(f'{options.file}: {len(addresses)} addresses to ask, not {options.least}')
    ours = ask_ours(options.dump.split(), options.file, addresses, options.arch)
    theirs = ask_llvm(path, addresses)
    name = os.path.basename(options.file) + (f' ({options.arch})' if options.arch else '')
    by_llvm, explained = Comparison('llvm-symbolizer'), {}
    for address, a, b in zip(addresses, ours, theirs):
        explained[address] = rules.explain(a, b)
        by_llvm.add(address, explained[address], a, b)
    by_llvm.tell(name, len(addresses))
    invented = find_invented(addresses, ours, theirs, path)
    print(f'{name}: {len(invented)} addresses with an invented line, of {sum(map(len, ours))} frames')
    for address in invented[:5]:
        print(f'  0x{address:x} is invented')
    wrong = by_llvm.wrong + len(invented)
    if options.elfutils and not is_macho(path):
        asked = sorted(random.Random(options.seed).sample(range(len(addresses)), min(options.elfutils, len(addresses))))
        by_elfutils = Comparison('eu-addr2line')

        def before(address):
            at = bisect.bisect_right(symbols.starts, address)
            asked = symbols.starts[at - 1] - 1 if at > 0 else 0
            return ask_ours(options.dump.split(), options.file, [asked], options.arch)[0]

        for i, b in zip(asked, ask_elfutils(path, [addresses[i] for i in asked])):
            is_as_llvm = explained[addresses[i]] is not None
            found = rules.explain_elfutils(ours[i], b, addresses[i], is_as_llvm, before)
            by_elfutils.add(addresses[i], found, ours[i], b)
        by_elfutils.tell(name, len(asked))
        wrong += by_elfutils.wrong
    if sum(frames[0].path != '' for frames in ours) * 2 < len(ours) and not options.few_lines:
        sys.exit(f'{options.file}: most addresses have no line: nothing was compared')
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('file', help='with debug information: a program, a debug file, the file in a dSYM')
    parser.add_argument('--dump', required=True, help='tests/symbolize/lines_dump')
    parser.add_argument('--arch', help='the slice of a fat file')
    parser.add_argument('--random', type=int, default=10000, help='so many random addresses of the code')
    parser.add_argument('--starts', type=int, help='so many starts of functions; without it all')
    parser.add_argument('--elfutils', type=int, default=0, help='so many of these are asked of eu-addr2line as well')
    parser.add_argument('--least', type=int, default=1000, help='with fewer addresses nothing is shown')
    parser.add_argument('--few-lines', action='store_true', help='most of the code need not have lines')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if compare(options, folder) > 0:
            sys.exit(1)


if __name__ == '__main__':
    main()
