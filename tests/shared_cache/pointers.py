#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every pointer of made caches, as the library reads it, with what the dylib's fixups say, for each version of
slide info. No byte beside a pointer may change.

usage: pointers.py CACHE_WORDS FOLDER [PART_OF_A_NAME]...    FOLDER/ARCH has the dylibs"""
import subprocess
import sys

from check_forms import FORMS
from dylib import Dylib
from harness import check, run_tests


def words(h, made, addresses):
    width = '4' if made.truth['arch'] == 'arm64_32' else '8'
    lines = subprocess.run([h.unspool, made.path, width], input=''.join('%x\n' % a for a in addresses), text=True,
                           check=True, capture_output=True).stdout.split()
    check(len(lines) == len(addresses), len(lines), 'answers')
    return dict(zip(addresses, (None if line == '-' else int(line, 16) for line in lines)))


def test_pointers(h):
    """Pointers of slide info 1 to 5 and of simulators, with several chains on a page and with bits 56 to 63."""
    seen = set()
    for arch, forms in FORMS.items():
        for form in forms:
            made = h.make(arch, form)
            expected = {slot: value for image in made.truth['images'] for slot, value in image['pointers']}
            found = words(h, made, sorted(expected))
            wrong = {hex(a): (found[a] and hex(found[a]), hex(expected[a])) for a in expected if found[a] != expected[a]}
            check(not wrong and len(expected) > 20, arch, form, 'found, expected:', wrong)
            seen.add(form.split('--slide ')[1].split()[0])
            if '--slide 3' in form or '--slide 5' in form:
                check(any(value >> 56 for value in expected.values()), arch, form, 'no pointer has bits 56 to 63')
    check(seen == set('012345'), seen)


def test_other_words(h):
    """Numbers between pointers stay: the chain of slide info 4 goes through them."""
    for arch, form in (('arm64_32', '--header 0x140 --slide 4 --methods keep'), ('arm64e', '--header 0x228 --slide 5 --methods keep'),
                       ('arm64', '--header 0x140 --slide 2 --several-chains --methods keep')):
        made = h.make(arch, form)
        for image, path in zip(made.truth['images'], h.dylibs(arch)):
            dylib = Dylib(path)
            fixed = dylib.rebases | set(dylib.binds)
            expected = {address + image['data_delta']: dylib.read_pointer(address)
                        for segment in dylib.segments if segment.name.startswith('__DATA')
                        for address in range(segment.address, segment.address + segment.size, dylib.pointer)
                        if address not in fixed}
            found = words(h, made, sorted(expected))
            wrong = [(hex(a), found[a], expected[a]) for a in expected if found[a] != expected[a]]
            check(not wrong and any(expected.values()), arch, form, image['path'], wrong)


if __name__ == '__main__':
    run_tests(sys.modules[__name__], sys.argv[1:])
