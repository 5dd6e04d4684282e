# SPDX-License-Identifier: MIT
"""Shared by the tests of shared caches that run the command: makes caches, runs `unspool`, reads its JSON."""
import json
import os
import resource
import struct
import subprocess
import sys

import make_cache

NAMES = ('libSystem.B.dylib', 'libobjc.A.dylib', 'Gamma')
# Of the dylibs: functions that no image exports, those that an image exports, and methods.
HIDDEN = ('hidden_add', 'hidden_multiply', 'lookup_method', 'gamma_hidden')


class Failure(AssertionError):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(' '.join(str(w) for w in what))


class Result:
    def __init__(self, arguments, status, out, err, peak=0):
        self.arguments, self.status, self.out, self.err, self.peak = arguments, status, out, err, peak

    def __str__(self):
        return 'unspool %s: status %d\n%s%s' % (' '.join(self.arguments), self.status, self.out[:2000], self.err[:2000])

    def succeeded(self, notes=0):
        """Checks that the command succeeded, with this number of lines on standard error."""
        check(self.status == 0, self)
        check(len(self.err.splitlines()) == notes, 'not', notes, 'lines on standard error:', self)
        return self

    def objects(self):
        """Returns the JSON objects of the output, which follow each other."""
        decoder, at, found = json.JSONDecoder(), 0, []
        while self.out[at:].strip():
            value, end = decoder.raw_decode(self.out[at:].lstrip())
            at += len(self.out[at:]) - len(self.out[at:].lstrip()) + end
            found.append(value)
        return found


class Made:
    """A cache with what is in it."""

    def __init__(self, path, truth):
        self.path, self.truth = path, truth
        self.images = {image['path'].rsplit('/', 1)[-1]: image for image in truth['images']}

    def symbol(self, name):
        """Returns the address of a function or an object."""
        return next(address for image in self.truth['images'] for found, address, *_ in image['symbols']
                    if found in (name, '_' + name))

    def code(self):
        """Returns {address: name} of all functions, without the underscore of C."""
        return {address: name[1:] if name.startswith('_') else name for image in self.truth['images']
                for name, address, _, section in image['symbols'] if section == '__text'}

    def exported(self):
        return {address: name[1:] if name.startswith('_') else name for image in self.truth['images']
                for name, address, kind, section in image['symbols'] if section == '__text' and kind == 'export'}

    def methods(self):
        return {address: name for image in self.truth['images'] for name, address in image['methods']}

    def file(self, suffix=''):
        stem = self.path[:-len('.development')] if suffix and self.path.endswith('.development') else self.path
        return stem + suffix

    def suffixes(self):
        """Returns the suffixes of the cache's files, the main file's first."""
        folder, name = os.path.split(self.path)
        return sorted(found[len(name):] for found in os.listdir(folder) if found.startswith(name))

    def bytes(self, suffix=''):
        with open(self.file(suffix), 'rb') as file:
            return bytearray(file.read())

    def poke(self, at, layout, *values, suffix=''):
        with open(self.file(suffix), 'r+b') as file:
            file.seek(at)
            file.write(struct.pack('<' + layout, *values))

    def peek(self, at, layout, suffix=''):
        with open(self.file(suffix), 'rb') as file:
            file.seek(at)
            return struct.unpack('<' + layout, file.read(struct.calcsize('<' + layout)))


    def place_mapping(self, number, address, size, suffix=''):
        """Changes a mapping's address and size in both tables."""
        header, with_slide = self.peek(0x10, 'I', suffix)[0], self.peek(0x138, 'I', suffix)[0]
        self.poke(header + 32 * number, 'QQ', address, size, suffix=suffix)
        self.poke(with_slide + 56 * number, 'QQ', address, size, suffix=suffix)


class Harness:
    """work/ARCH has the dylibs of an architecture."""

    def __init__(self, unspool, work):
        self.unspool, self.work, self.count, self.samples = unspool, work, 0, 0

    def sampled(self, values):
        """Returns the values to try: all at full size, else every fourth, from another one at each call. So each field is
        damaged, and each value is tried with some of the fields."""
        self.samples += 1
        full = int(os.environ.get('USP_TEST_SCALE') or 0) >= 1
        return values if full else values[self.samples % 4::4]

    def dylibs(self, arch, names=NAMES):
        return [os.path.join(self.work, 'arm64' if arch == 'arm64e' else arch, name) for name in names]

    def make(self, arch, form, names=NAMES, file=None):
        self.count += 1
        folder = os.path.join(self.work, 'cache-%d' % self.count)
        os.mkdir(folder)
        path, truth = os.path.join(folder, file or 'dyld_shared_cache_' + arch), os.path.join(self.work, 'truth.json')
        options = make_cache.parse_arguments(['--out', path, '--arch', arch, '--truth', truth, *form.split(),
                                              *self.dylibs(arch, names)])
        make_cache.Cache(options).write()
        with open(truth) as file:
            return Made(path, json.load(file))

    def run(self, *arguments, files=None, text=None):
        """Runs the command. A signal or a report of a sanitizer is a failure of the test."""

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        # Without a function to call first, Python starts the command by vfork, which copies no page tables.
        process = subprocess.Popen([self.unspool, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=limit if files else None)
        out, err = process.communicate((text or '').encode(), timeout=300)
        result = Result(arguments, process.returncode, out.decode(errors='replace'), err.decode(errors='replace'))
        check(process.returncode >= 0 and 'Sanitizer' not in result.err and 'runtime error' not in result.err, result)
        return result

    def peak(self, *arguments):
        """Returns the result of the command, with the most memory that it had, in bytes."""
        read_out, write_out = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(write_out, 1)
            os.dup2(write_out, 2)
            os.execv(self.unspool, [self.unspool, *arguments])
        os.close(write_out)
        with os.fdopen(read_out, 'rb') as out:
            text = out.read().decode(errors='replace')
        _, status, usage = os.wait4(pid, 0)
        return Result(arguments, os.waitstatus_to_exitcode(status), text, '', usage.ru_maxrss * 1024)

    def symbolize(self, made, addresses, *options, notes=0, **more):
        """Returns {address: name or None} of addresses of the cache. notes: the number of lines on standard error; None:
        any."""
        result = self.run('symbolize', '--shared-cache', made.path, '--json', *options, *map(hex, addresses), **more)
        check(notes is None or len(result.err.splitlines()) == notes, 'not', notes, 'lines on standard error:', result)
        return {address: answer.get('symbol') for address, answer in zip(addresses, result.objects())}

    def names_all(self, made, expected, *options, notes=0, **more):
        """Checks that each address of {address: name} has its name, also 4 bytes behind it."""
        addresses = sorted(expected)
        found = self.symbolize(made, [a + 4 * k for a in addresses for k in (0, 1)], *options, notes=notes, **more)
        wrong = [(hex(a + 4 * k), found.get(a + 4 * k), expected[a]) for a in addresses for k in (0, 1)
                 if found.get(a + 4 * k) != expected[a]]
        check(not wrong, 'address, found, expected:', wrong)

    def names_none(self, made, addresses):
        """Checks that these addresses have no name. The command may say that no address is in an image."""
        found = self.symbolize(made, addresses, notes=None)
        check(not any(found.values()), 'named:', {hex(a): name for a, name in found.items() if name})


def run_tests(module, arguments):
    """Runs the functions test_* of a module, each with a harness; its first line says what is tested."""
    harness, failed, chosen = Harness(arguments[0], arguments[1]), 0, arguments[2:]
    tests = [(name, f) for name, f in vars(module).items() if name.startswith('test_')]
    tests = [(name, f) for name, f in tests if not chosen or any(c in name for c in chosen)]
    for name, function in tests:
        try:
            function(harness)
        except (Failure, StopIteration, ValueError, KeyError, OSError) as error:
            failed += 1
            print('%s: %s\n  %s: %s' % (name, function.__doc__.split('\n')[0], type(error).__name__, error))
    print('%d of %d tests passed' % (len(tests) - failed, len(tests)))
    sys.exit(1 if failed or not tests else 0)
