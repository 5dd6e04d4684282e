# SPDX-License-Identifier: MIT
"""Makes a dyld shared cache of 5 GB for the benchmark shared_cache.sh, and measures the command with it.

usage: shared_cache.py FOLDER UNSPOOL LLVM_NM [IMAGES]

The cache has 2,500 images of 1 MB of code each, with 2,000 local functions and 200 exported ones in each; the local
names are 256 MB in a file .symbols. Code and data are holes in the files: symbols are real."""
import os
import random
import re
import resource
import statistics
import struct
import subprocess
import sys
import time
import uuid

BASE, PAGE, HEADER = 0x180000000, 0x4000, 0x200
TEXT, LOCALS, EXPORTED, STEP = 0x100000, 2000, 200, 0x1c0
NAME = 'a_function_of_system_%05d_that_has_number_%06d'  # 51 bytes with NUL and underscore


def uleb(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def header(fields, identity):
    out = bytearray(HEADER)
    out[0:16] = b'dyld_v1   arm64\0'
    out[0x58:0x68] = identity
    for at, layout, *values in fields:
        struct.pack_into('<' + layout, out, at, *values)
    return bytes(out)


def identity(text):
    return uuid.uuid5(uuid.NAMESPACE_URL, text).bytes


def mapping(address, size, offset, protection):
    return struct.pack('<3Q2I', address, size, offset, protection, protection), \
        struct.pack('<6Q2I', address, size, offset, 0, 0, 0, protection, protection)


def align(value, to=PAGE):
    return (value + to - 1) // to * to


def id_dylib(path):
    name = path.encode() + b'\0'
    size = align(24 + len(name), 8)
    return (struct.pack('<6I', 0xd, size, 24, 0, 0x10000, 0x10000) + name).ljust(size, b'\0')


class Maker:
    def __init__(self, folder, images):
        self.path, self.images = os.path.join(folder, 'dyld_shared_cache_arm64'), images
        self.room = align(HEADER + 0x1000 + images * 160)
        self.text_at = [BASE + self.room + n * TEXT for n in range(images)]
        self.data_at = self.text_at[-1] + TEXT
        self.data_size = align(5 * (1 << 30) - images * TEXT) if images >= 2500 else PAGE
        self.link_at = self.data_at + self.data_size
        self.paths = ['/System/Library/Frameworks/Bench%d.framework/Bench%d' % (n, n) for n in range(images)]

    def make(self):
        redacted, names = 1, bytearray(b'\0<redacted>\0')
        offsets = []
        for n in range(self.images):
            for k in range(EXPORTED):
                offsets.append(len(names))
                names += b'_exported_%d_%d\0' % (n, k)
        tables = []
        with open(self.path + '.02.dyldlinkedit', 'wb') as out:
            out.seek(PAGE)
            starts = uleb(PAGE) + uleb(STEP) * (LOCALS + EXPORTED - 1) + b'\0'
            starts += bytes(-len(starts) % 8)
            for n, address in enumerate(self.text_at):
                first = address + PAGE
                nlists = bytearray()
                for k in range(LOCALS):
                    nlists += struct.pack('<IBBHQ', redacted, 0x0e, 1, 0, first + k * STEP)
                for k in range(EXPORTED):
                    nlists += struct.pack('<IBBHQ', offsets[n * EXPORTED + k], 0x0f, 1, 0, first + (LOCALS + k) * STEP)
                place = out.tell()
                out.write(starts + nlists)
                tables.append((place, len(starts), place + len(starts)))
            strings_at = out.tell()
            out.write(names)
            self.link_size = align(out.tell())
            out.truncate(self.link_size + 0x100)
            plain, with_slide = mapping(self.link_at, self.link_size, 0, 1)
            out.seek(0)
            out.write(header(self.common(1, 32) + [(0x28, 'QQ', self.link_size, 0x100)], identity('.02')) + plain + with_slide)
        self.make_data()
        self.make_symbols()
        self.make_main(tables, strings_at, len(names))

    def common(self, count, plain):
        return [(0x10, 'II', HEADER, count), (0x68, 'Q', 2), (0xd8, 'II', 2, 0),
                (0x138, 'II', HEADER + plain, count)]

    def make_data(self):
        with open(self.path + '.01.dylddata', 'wb') as out:
            plain, with_slide = mapping(self.data_at, self.data_size, 0, 3)
            out.write(header(self.common(1, 32) + [(0x28, 'QQ', self.data_size, 0x100)], identity('.01')) + plain + with_slide)
            out.truncate(self.data_size + 0x100)

    def make_symbols(self):
        with open(self.path + '.symbols', 'wb') as out:
            out.seek(PAGE + 24)
            for n, address in enumerate(self.text_at):
                place, step = address + PAGE, len(NAME % (0, 0)) + 2
                first = 1 + n * LOCALS * step
                out.write(b''.join(struct.pack('<IBBHQ', first + k * step, 0x0e, 1, 0, place + k * STEP) for k in range(LOCALS)))
            strings = out.tell()
            out.write(b'\0')
            for n in range(self.images):
                out.write(''.join('_' + NAME % (n, k) + '\0' for k in range(LOCALS)).encode())
            size = out.tell() - strings
            out.write(bytes(-out.tell() % 8))
            entries = out.tell()
            out.write(b''.join(struct.pack('<QII', address - BASE, n * LOCALS, LOCALS) for n, address in enumerate(self.text_at)))
            end = out.tell()
            out.write(bytes(0x100))
            out.seek(PAGE)
            out.write(struct.pack('<6I', 24, self.images * LOCALS, strings - PAGE, size, entries - PAGE, self.images))
            fields = self.common(1, 32) + [(0x28, 'QQ', end, 0x100), (0x48, 'QQ', PAGE, end - PAGE)]
            out.seek(0)
            out.write(header(fields, identity('.symbols')) + mapping(0, PAGE, 0, 1)[0])
            self.names_size = size

    def make_main(self, tables, strings_at, strings_size):
        plain, with_slide = mapping(BASE, self.room + self.images * TEXT, 0, 5)
        table = bytearray(plain + with_slide)
        subs_at = HEADER + len(table)
        table += struct.pack('<16sQ32s', identity('.01'), self.data_at - BASE, b'.01.dylddata')
        table += struct.pack('<16sQ32s', identity('.02'), self.link_at - BASE, b'.02.dyldlinkedit')
        infos_at = HEADER + len(table)
        texts_at = infos_at + 32 * self.images
        paths_at = texts_at + 32 * self.images
        paths, places = bytearray(), []
        for path in self.paths:
            places.append(paths_at + len(paths))
            paths += path.encode() + b'\0'
        table += b''.join(struct.pack('<3Q2I', a, 0, 0, p, 0) for a, p in zip(self.text_at, places))
        table += b''.join(struct.pack('<16sQII', identity(path), a, TEXT, p)
                          for path, a, p in zip(self.paths, self.text_at, places))
        table += paths
        end = self.room + self.images * TEXT
        fields = self.common(1, 32) + [
            (0x28, 'QQ', end, 0x100), (0x88, 'QQ', texts_at, self.images), (0xe0, 'QQ', BASE, self.link_at + self.link_size - BASE),
            (0x188, 'II', subs_at, 2), (0x190, '16s', identity('.symbols')), (0x1c0, 'II', infos_at, self.images)]
        with open(self.path, 'wb') as out:
            out.write(header(fields, identity('main')) + table)
            for n, address in enumerate(self.text_at):
                out.seek(address - BASE)
                out.write(self.macho(n, address, tables[n], strings_at, strings_size))
            out.truncate(end + 0x100)

    def macho(self, n, address, table, strings_at, strings_size):
        starts, starts_size, symbols = table
        text = struct.pack('<II16s4Q4I', 0x19, 152, b'__TEXT', address, TEXT, address - BASE, TEXT, 5, 5, 1, 0)
        text += struct.pack('<16s16s2Q8I', b'__text', b'__TEXT', address + PAGE, (LOCALS + EXPORTED) * STEP,
                            address - BASE + PAGE, 4, 0, 0, 0x80000400, 0, 0, 0)
        link = struct.pack('<II16s4Q4I', 0x19, 72, b'__LINKEDIT', self.link_at + PAGE, self.link_size - PAGE, PAGE,
                           self.link_size - PAGE, 1, 1, 0, 0)
        commands = [text, link, id_dylib(self.paths[n]), struct.pack('<II16s', 0x1b, 24, identity(self.paths[n])),
                    struct.pack('<6I', 2, 24, symbols, LOCALS + EXPORTED, strings_at, strings_size),
                    struct.pack('<20I', 0xb, 80, 0, LOCALS, LOCALS, EXPORTED, LOCALS + EXPORTED, *[0] * 13),
                    struct.pack('<4I', 0x26, 16, starts, starts_size)]
        body = b''.join(commands)
        return struct.pack('<8I', 0xfeedfacf, 0x0100000c, 0, 6, len(commands), len(body), 0x80000085, 0) + body

    def address(self, n, k):
        return self.text_at[n] + PAGE + k * STEP + 8


class Measure:
    def __init__(self, maker, folder, unspool):
        self.maker, self.folder, self.unspool = maker, folder, unspool

    @staticmethod
    def say(what, value, goal='', reached=True):
        print('%s: %s%s' % (what, value, goal and ', goal %s: %s' % (goal, 'reached' if reached else 'missed')), flush=True)

    def run(self, *arguments, source=os.devnull):
        """Runs the command. Returns its seconds, the most private memory it had in bytes, and its output. Sets `used` to
        its seconds of processor time, which say more where the machine is busy."""
        out = os.path.join(self.folder, 'out')
        begin, before = time.monotonic(), processor_time()
        with open(out, 'wb') as file, open(source, 'rb') as given:
            process = subprocess.Popen([self.unspool, *arguments], stdout=file, stdin=given)
            private = 0
            while process.poll() is None:
                private = max(private, smaps(process.pid)[0])
                time.sleep(0.02)
        if process.returncode:
            sys.exit('unspool %s: status %d' % (' '.join(arguments), process.returncode))
        self.used = processor_time() - before
        return time.monotonic() - begin, private, out

    def with_used(self, seconds):
        return '%.2f s, %.2f s of processor time' % (seconds, self.used)

    def first_name(self):
        times, before = [], processor_time()
        for n in range(7):
            address = self.maker.address(n * 300 % self.maker.images, 1234)
            begin = time.monotonic()
            out = subprocess.run([self.unspool, 'symbolize', '--shared-cache', self.maker.path, hex(address)],
                                 capture_output=True, text=True, check=True).stdout
            times.append(time.monotonic() - begin)
            if NAME % (n * 300 % self.maker.images, 1234) not in out:
                sys.exit('a wrong name: ' + out)
        value = statistics.median(times)
        used = (processor_time() - before) / len(times)
        self.say('first name of one image, new process', '%.1f ms, %.1f ms of processor time' % (value * 1e3, used * 1e3),
                 '30 ms', value <= 0.030)
        process = subprocess.Popen([self.unspool, 'symbolize', '--shared-cache', self.maker.path], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        process.stdin.write(b'%#x\n' % self.maker.address(7, 77))
        process.stdin.flush()
        process.stdout.readline()
        private, resident, mapped = smaps(process.pid, os.path.dirname(self.maker.path))
        peak = int(re.search(r'VmHWM:\s+(\d+)', open('/proc/%d/status' % process.pid).read())[1]) << 10
        process.stdin.close()
        process.wait()
        self.say('  its private memory', '%.1f MB' % (private / 1e6), '16 MB', private <= 16 << 20)
        self.say('  its peak of resident memory', '%.1f MB' % (peak / 1e6), '40 MB', peak <= 40 << 20)
        self.say('  its pages of the cache', '%.1f MB' % (mapped / 1e6), '4 MB', mapped <= 4 << 20)

    def addresses(self, count):
        path = os.path.join(self.folder, 'addresses')
        generator = random.Random(1)
        chosen = [(generator.randrange(self.maker.images), generator.randrange(LOCALS)) for _ in range(count)]
        with open(path, 'w') as file:
            file.writelines('%#x\n' % self.maker.address(*c) for c in chosen)
        return path, chosen

    def say_rate(self, what, seconds, used, private):
        """The first 10,000 of 1,000,000 have been measured alone, so they do not count. On a busy machine the difference
        may be nothing."""
        rate = 990000 / seconds if seconds > 0 else 0
        by_processor = 990000 / used if used > 0 else 0
        self.say(what, '%.0f a second, %.0f for each second of processor time, private memory %.0f MB' %
                 (rate, by_processor, private / 1e6))

    def records(self, count):
        """Writes records for `symbolize --records`, of 100 frames each."""
        path = os.path.join(self.folder, 'records')
        generator = random.Random(1)
        images = [uuid.UUID(bytes=identity(p)).hex for p in self.maker.paths]
        chosen = [(generator.randrange(self.maker.images), generator.randrange(LOCALS)) for _ in range(count)]
        with open(path, 'w') as file:
            for first in range(0, count, 100):
                frames = ','.join('{"uuid":"%s","offset":%d}' % (images[n], PAGE + k * STEP + 8)
                                  for n, k in chosen[first:first + 100])
                file.write('{"frames":[%s]}\n' % frames)
        return path, chosen

    def from_store(self, store):
        """Names of random addresses by the store alone. The command also reads and writes JSON."""
        few, chosen = self.records(10000)
        seconds, _, out = self.run('symbolize', '--records', '--index', store, source=few)
        with open(out) as file:
            text = file.read()
        if sum(NAME % c in text for c in chosen) != len(chosen):
            sys.exit('wrong names from the store')
        self.say('the first 10,000 by the store, new process', self.with_used(seconds), '0.3 s', seconds <= 0.3)
        first_used = self.used
        many, _ = self.records(1000000)
        longer, private, _ = self.run('symbolize', '--records', '--index', store, source=many)
        self.say_rate('1,000,000 by the store, with JSON', longer - seconds, self.used - first_used, private)
        self.by_the_library(store)

    def by_the_library(self, store):
        ids = ''.join(uuid.UUID(bytes=identity(path)).hex + '\n' for path in self.maker.paths)
        program = os.path.join('tests', 'bench', 'store_names')
        out = subprocess.run([program, store, '1000000', str(PAGE), str(STEP), str(LOCALS)], input=ids, text=True, check=True,
                             capture_output=True).stdout
        once, again, by_two = map(int, out.split())
        self.say('  by the library alone, asked for the first time', '%d a second of processor time' % once, '1,000,000',
                 once >= 1e6)
        self.say('  by the library alone, asked again', '%d a second of processor time' % again, '1,000,000', again >= 1e6)
        self.say('  by the library alone, two threads, asked for the first time', '%d a second' % by_two, '1,000,000', by_two >= 1e6)

    def random_addresses(self):
        few, chosen = self.addresses(10000)
        seconds, _, out = self.run('symbolize', '--shared-cache', self.maker.path, '-f', few)
        with open(out) as file:
            wrong = sum(NAME % c not in line for c, line in zip(chosen, file))
        if wrong:
            sys.exit('%d wrong names' % wrong)
        self.say('the first 10,000 random addresses of a new process', self.with_used(seconds))
        first_used = self.used
        many, _ = self.addresses(1000000)
        longer, private, _ = self.run('symbolize', '--shared-cache', self.maker.path, '-f', many)
        self.say_rate('1,000,000 random addresses over all images', longer - seconds, self.used - first_used, private)

    def all_indexes(self, nm):
        store = os.path.join(self.folder, 'store')
        seconds, private, _ = self.run('store', 'add', '-o', store, self.maker.path)
        self.say('indexes of all images', self.with_used(seconds), '20 s', seconds <= 20)
        self.say('  private memory', '%.0f MB' % (private / 1e6), '150 MB', private <= 150 << 20)
        print('  their size: %.0f MB' % (sum(os.path.getsize(os.path.join(p, f)) for p, _, fs in os.walk(store) for f in fs) / 1e6))
        self.compare_with_nm(nm, seconds)
        self.from_store(store)

    def compare_with_nm(self, nm, seconds):
        """llvm-nm prints the symbols of 50 images that are files of their own, with the names of their local symbols."""
        total, count = 0.0, min(50, self.maker.images)
        for n in range(count):
            path = os.path.join(self.folder, 'image')
            with open(path, 'wb') as file:
                file.write(self.extracted(n))
            begin = time.monotonic()
            with open(os.devnull, 'w') as null:
                subprocess.run([nm, path], stdout=null, check=True)
            total += time.monotonic() - begin
        ratio = total / count * self.maker.images / seconds
        self.say('  llvm-nm on %d images, scaled to all' % count, '%.1f times as long' % ratio, '2', ratio >= 2)

    def extracted(self, n):
        count, names, nlists = LOCALS + EXPORTED, bytearray(b'\0'), bytearray()
        for k in range(count):
            nlists += struct.pack('<IBBHQ', len(names), 0x0e if k < LOCALS else 0x0f, 1, 0, PAGE + k * STEP)
            names += ('_' + (NAME % (n, k) if k < LOCALS else 'exported_%d_%d' % (n, k - LOCALS)) + '\0').encode()
        text = struct.pack('<II16s4Q4I', 0x19, 152, b'__TEXT', 0, TEXT, 0, TEXT, 5, 5, 1, 0)
        text += struct.pack('<16s16s2Q8I', b'__text', b'__TEXT', PAGE, count * STEP, PAGE, 4, 0, 0, 0x80000400, 0, 0, 0)
        size = len(nlists) + len(names)
        link = struct.pack('<II16s4Q4I', 0x19, 72, b'__LINKEDIT', TEXT, align(size), TEXT, size, 1, 1, 0, 0)
        commands = [text, link, id_dylib(self.maker.paths[n]), struct.pack('<6I', 2, 24, TEXT, count, TEXT + len(nlists), len(names)),
                    struct.pack('<20I', 0xb, 80, 0, LOCALS, LOCALS, EXPORTED, count, *[0] * 13)]
        body = b''.join(commands)
        head = struct.pack('<8I', 0xfeedfacf, 0x0100000c, 0, 6, len(commands), len(body), 0x85, 0) + body
        return head.ljust(TEXT, b'\0') + nlists + names


def processor_time():
    """Returns the processor time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def smaps(pid, folder=None):
    """Returns a process's private and resident memory, and how much of the folder's files it has mapped, in bytes."""
    private = resident = mapped = 0
    inside = False
    try:
        with open('/proc/%d/smaps' % pid) as file:
            for line in file:
                if re.match(r'[0-9a-f]+-[0-9a-f]+ ', line):
                    inside = folder is not None and folder in line
                elif line.startswith(('Private_Clean:', 'Private_Dirty:')):
                    private += int(line.split()[1]) << 10
                elif line.startswith('Rss:'):
                    resident += int(line.split()[1]) << 10
                    mapped += int(line.split()[1]) << 10 if inside else 0
    except OSError:
        pass
    return private, resident, mapped


def main():
    folder, unspool, nm = sys.argv[1:4]
    maker = Maker(folder, int(sys.argv[4]) if len(sys.argv) > 4 else 2500)
    begin = time.monotonic()
    maker.make()
    names = [n for n in os.listdir(folder) if n.startswith('dyld_')]
    total = sum(os.path.getsize(os.path.join(folder, n)) for n in names)
    print('a cache of %.1f GB, %d images, %d local symbols, %.0f MB of names, made in %.0f s' % (
        total / (1 << 30), maker.images, maker.images * LOCALS, maker.names_size / 1e6, time.monotonic() - begin), flush=True)
    measure = Measure(maker, folder, unspool)
    measure.first_name()
    measure.random_addresses()
    measure.all_indexes(nm)


if __name__ == '__main__':
    main()
