# SPDX-License-Identifier: MIT
"""Compares the library's names of an ELF file with llvm-symbolizer's and with what the symbol tables say.

    elf_oracle.py ELF_NAMES SYMBOLIZER FILE [--tables FILE]... [--whole FILE] [--plt OBJDUMP|lld-arm]

For every function start, one byte before and after it, and random addresses of the code (10,000 at full size): name and start equal
llvm-symbolizer's, or the difference is one of the rules of doc/symbolize-elf.md, each of which is worked out here from the
symbol tables by a search that looks at everything. --tables: files whose tables count (the file itself unless given).
--whole: the file before it lost symbols. Each name begins where that file has it; of a symbol without a size no name at
all is right too, where what follows it has lost its symbol.
--plt: the linkage table's entries equal those that the disassembler labels, or for lld on ARM, which none can tell,
stand in the order of their relocations.
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

Symbol = collections.namedtuple('Symbol', 'start size type bind section name')
# At full size (USP_TEST_SCALE, tests/support/under.h), or for a sample.
RANDOM_ADDRESSES = 10000 if int(os.environ.get('USP_TEST_SCALE') or 0) > 0 else 500


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def read_sections(path):
    """Sections of code by number: (low, high)."""
    sections = {}
    for line in run('readelf', '-SW', path).splitlines():
        found = re.match(r'\s*\[\s*(\d+)\]\s+(\S*)\s+(\S+)\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+(\S*)\s', line)
        if found and 'X' in found[6] and 'A' in found[6] and int(found[5], 16) > 0:
            sections[int(found[1])] = (int(found[4], 16), int(found[4], 16) + int(found[5], 16))
    return sections


def read_symbols(path, sections):
    symbols = []
    machine = re.search(r'Machine:\s+(.*)', run('readelf', '-hW', path))[1]
    is_arm, has_mapping = machine == 'ARM', machine in ('ARM', 'AArch64')
    for line in run('readelf', '-sW', path).splitlines():
        f = line.split()
        if len(f) < 8 or not f[0].rstrip(':').isdigit() or not f[6].isdigit():
            continue
        if f[3] not in ('FUNC', 'IFUNC', 'NOTYPE') or int(f[6]) not in sections:
            continue
        start, size = int(f[1], 16), int(f[2], 0)
        name = re.sub(r'(?<=.)@.*', '', f[7])
        if is_arm and f[3] != 'NOTYPE':
            start &= ~1
        low, high = sections[int(f[6])]
        if not low <= start < high or name.startswith('.L'):
            continue
        if has_mapping and re.fullmatch(r'\$[adtx](\..*)?', name):
            continue
        symbols.append(Symbol(start, min(size, high - start), f[3], f[4], int(f[6]), name))
    return symbols


class Tables:
    def __init__(self, paths):
        self.sections = read_sections(paths[0])
        self.symbols = []
        for path in paths:
            self.symbols += read_symbols(path, read_sections(path))
        self.by_start = collections.defaultdict(list)
        for s in self.symbols:
            self.by_start[s.start].append(s)
        self.starts = sorted(self.by_start)
        self.names_all = any(s.bind == 'LOCAL' and s.type != 'NOTYPE' for s in self.symbols)
        self.reach = []
        for start in self.starts:
            end = max(start + s.size for s in self.by_start[start])
            self.reach.append(max(end, self.reach[-1] if self.reach else 0))

    def best(self, start):
        """Of aliases: functions before labels, global before local before weak, with a size before those without; then
        fewer underscores in front, then the alphabet."""
        def rank(s):
            bind = {'GLOBAL': 0, 'UNIQUE': 0, 'LOCAL': 1, 'WEAK': 2}.get(s.bind, 3)
            return (s.type == 'NOTYPE', bind, s.size == 0, len(s.name) - len(s.name.lstrip('_')), s.name)
        return min(self.by_start[start], key=rank)

    def expected(self, address):
        """The nearest symbol that holds the address: (start, name), or None. One without a size reaches to the next start
        or its section's end; inside one that has a size it is a label."""
        held = self.sized(address)
        last = bisect.bisect_right(self.starts, address) - 1
        if held is not None or last < 0:
            return held
        best = self.best(self.starts[last])
        if best.size != 0 or self.sized(best.start) is not None:
            return None
        section = next(r for r in self.sections.values() if r[0] <= best.start < r[1])
        return (best.start, best.name) if address < section[1] else None

    def sized(self, address):
        last = bisect.bisect_right(self.starts, address) - 1
        i = last
        while i >= 0 and self.reach[i] > address:
            best = self.best(self.starts[i])
            if best.start <= address < best.start + best.size:
                return best.start, best.name
            i -= 1
        return None


def ours(program, path, addresses):
    answers = {}
    for line in run(program, path, text=''.join(f'{a:x}\n' for a in addresses)).splitlines():
        f = line.split(' ', 2)
        answers[int(f[0], 16)] = (int(f[1], 16), f[2]) if len(f) == 3 else None
    return answers


def theirs(program, path, addresses):
    answers = {}
    out = run(program, f'--obj={path}', '--no-inlines', '--no-demangle', '--no-debuginfod', '--output-style=JSON',
              '--functions=linkage', text=''.join(f'0x{a:x}\n' for a in addresses))
    for address, line in zip(addresses, out.splitlines()):
        symbol = json.loads(line)['Symbol'][0]
        start = symbol.get('StartAddress', '')
        answers[address] = (int(start, 16), symbol['FunctionName']) if start and symbol['FunctionName'] else None
    return answers


def choose(tables):
    addresses = set()
    for start in tables.starts:
        addresses.update((start - 1, start, start + 1))
    ranges = sorted(tables.sections.values())
    random.seed(len(addresses))
    for _ in range(RANDOM_ADDRESSES):
        addresses.add(random.randrange(*random.choices(ranges, [high - low for low, high in ranges])[0]))
    return sorted(a for a in addresses if a >= 0)


def explain(tables, address, mine, other):
    """The rule by which the answers differ; None: nothing explains it."""
    if mine != tables.expected(address):
        if mine is not None and mine[1].endswith('@plt') and tables.expected(address) is None:
            return 'linkage table entry'
        if mine is None and not tables.names_all and tables.sized(address) is None:
            return 'past what surely belongs to a symbol without a size'
        if mine is None and (tables.expected(address) or ('', ''))[1] == 'frame_dummy':
            return "past the code of GCC's start file"
        return None
    if other is None:
        return 'they look at functions alone'
    name = re.sub(r'(?<=.)@.*', '', other[1])
    if mine is not None and mine[0] == other[0]:
        if mine[1] == name:
            return 'version dropped'
        return 'alias' if any(s.name == name for s in tables.by_start[mine[0]]) else None
    holds = [s for s in tables.by_start.get(other[0], []) if s.name == name]
    if not holds:
        return 'they take mapping symbols and private labels'
    if mine is None:
        return 'past the end of a symbol or its section' if not any(
            s.start <= address < s.start + s.size for s in holds) else None
    if mine[0] > other[0]:
        return 'nearer symbol'
    if all(s.size == 0 for s in holds):
        return 'label inside a function'
    return 'nested function ended' if not any(s.start <= address < s.start + s.size for s in holds) else None


def check_linkage(path, program, objdump):
    """Entries as a disassembler labels them, against ours."""
    labels = {}
    if objdump == 'lld-arm':
        plt = int(re.search(r'\.plt\s+PROGBITS\s+([0-9a-f]+)', run('readelf', '-SW', path))[1], 16)
        for i, name in enumerate(re.findall(r'R_ARM_JUMP_SLOT\s+[0-9a-f]+\s+(\S+)', run('readelf', '-rW', path))):
            labels[plt + 32 + 16 * i] = name
        objdump = 'true'
    for line in run(objdump, '-d', path).splitlines():
        found = re.match(r'([0-9a-f]+) <(.+)@plt>:', line)
        if found:
            labels[int(found[1], 16)] = re.sub(r'(?<=.)@.*', '', found[2])
    mine = ours(program, path, sorted(labels))
    wrong = [f'{a:#x}: {mine[a]}, expected {n}@plt' for a, n in labels.items()
             if mine[a] is None or mine[a][1] != f'{n}@plt' or mine[a][0] not in (a, a - 4)]
    return len(labels), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('symbolizer')
    parser.add_argument('file')
    parser.add_argument('--tables', action='append')
    parser.add_argument('--whole')
    parser.add_argument('--plt')
    options = parser.parse_args()
    if options.plt:
        count, wrong = check_linkage(options.file, options.program, options.plt)
        print(f'{options.file}: {count} linkage table entries, {len(wrong)} wrong')
        if wrong:
            print('\n'.join(wrong[:10]))
        sys.exit(1 if wrong or count == 0 else 0)
    tables = Tables(options.tables or [options.file])
    addresses = choose(tables)
    mine = ours(options.program, options.file, addresses)
    other = theirs(options.symbolizer, (options.tables or [options.file])[0], addresses)
    whole = Tables([options.whole]) if options.whole else None
    rules, wrong, named = collections.Counter(), [], 0
    for address in addresses:
        named += mine[address] is not None
        if whole and mine[address] is not None and not mine[address][1].endswith('@plt'):
            true = whole.expected(address)
            # Where a function has lost its symbol, a label inside it is taken for a function.
            if true is None or not true[0] <= mine[address][0] <= address:
                wrong.append(f'{address:#x}: {mine[address]}, before symbols were lost {true}')
                continue
        if mine[address] == other[address]:
            rules['equal'] += 1
            continue
        rule = explain(tables, address, mine[address], other[address])
        rules[rule] += 1
        if rule is None:
            wrong.append(f'{address:#x}: {mine[address]}, llvm-symbolizer {other[address]}, '
                         f'tables {tables.expected(address)}')
    counts = ', '.join(f'{n} {rule or "unexplained"}' for rule, n in rules.most_common())
    print(f'{options.file}: {len(addresses)} addresses, {named} named: {counts}')
    if wrong:
        print('\n'.join(wrong[:10]))
    sys.exit(1 if wrong or named == 0 else 0)


main()
