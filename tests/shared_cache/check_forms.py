#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one cache of each form and compares it with its dylibs: read back by read_back.py, and images of it, extracted,
by llvm-nm and llvm-objdump.

usage: check_forms.py FOLDER ARCH...    FOLDER/ARCH has the dylibs"""
import json
import os
import re
import subprocess
import sys
import uuid

import make_cache
from read_back import ReadBack

# For each architecture the arguments of make_cache.py.
FORMS = {
    'arm64': [
        '--header 0x28 --slide 0 --locals kept --selector-base none --methods keep',
        '--header 0x68 --slide 1 --selector-base none --methods keep',
        '--header 0x98 --slide 2 --islands --alias /usr/lib/libgamma.dylib=2',
        '--header 0xf8 --slide 2 --several-chains',
        '--header 0x140 --slide 2 --gap --locals kept',
        '--header 0x1c8 --slide 2 --layout whole --locals symbols --locals-order 2,0',
        '--header 0x200 --slide 2 --layout apart --stubs --locals symbols',
        '--header 0x208 --slide 0 --locals kept --selector-base none --methods keep',
        '--header 0x228 --slide 2 --layout apart --stubs --linkedit-distance 0x140000000',
    ],
    'arm64e': [
        '--header 0x140 --slide 3',
        '--header 0x1c8 --slide 3 --layout whole --locals symbols',
        '--header 0x200 --slide 5 --layout apart --stubs --locals symbols',
        '--header 0x238 --slide 5 --layout apart --methods types --spare 3 --magic dyld_v1arm64ex1 --locals none',
    ],
    'arm64_32': [
        '--header 0x140 --slide 4',
        '--header 0x1c8 --slide 1 --layout whole --locals symbols --locals-order 1,2,0',
        '--header 0x228 --slide 1 --layout apart --methods types',
    ],
    'x86_64': [
        '--header 0x140 --slide 2 --locals kept',
        '--header 0x1c8 --slide 2 --layout whole --locals kept',
        '--header 0x208 --slide 2 --layout apart --several-chains --locals kept',
    ],
}


def check(condition, *what):
    if not condition:
        raise AssertionError(' '.join(map(str, what)))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols_of(path):
    """Returns {(name, address)} of the defined symbols by llvm-nm."""
    rows = (line.split(' ', 2) for line in output('llvm-nm-19', '-n', path).splitlines() if line[0] != ' ')
    return {(name, int(address, 16)) for address, _, name in rows}


def references(path, arch):
    """Returns {address of the instruction: address that it computes} by llvm-objdump."""
    found = {}
    text = output('llvm-objdump-19', '-d', '--no-show-raw-insn', '--no-print-imm-hex', path)
    pattern = r'^ *([0-9a-f]+):.*# 0x([0-9a-f]+)' if arch == 'x86_64' else r'^ *([0-9a-f]+):\s+adrp\s+\w+, 0x([0-9a-f]+)'
    for match in re.finditer(pattern, text, re.M):
        found[int(match[1], 16)] = int(match[2], 16)
    return found


def moved(image, address):
    return address + image['text_delta' if address < image['text_size'] else 'data_delta']


def check_extracted(cache, image, dylib, arch, work, dropped):
    """Compares an extracted image with the dylib by LLVM's tools."""
    path = os.path.join(work, 'extracted')
    with open(path, 'wb') as file:
        file.write(cache.extract(image['address']))
    expected = {(name, moved(image, address)) for name, address in symbols_of(dylib)}
    found = symbols_of(path)
    if dropped:
        locals_ = {(name, address) for name, address, kind, _ in image['symbols'] if kind == 'local'}
        expected -= locals_
        found = {f for f in found if f[0] != '<redacted>'}
    check(found == expected, image['path'], 'symbols:', sorted(found ^ expected))
    before, after = references(dylib, arch), references(path, arch)
    check(before, image['path'], 'has no reference')
    expected = {moved(image, at): moved(image, to) for at, to in before.items()}
    check(after == expected, image['path'], 'references:', sorted(set(after.items()) ^ set(expected.items())))


def check_cache(path, truth, options):
    cache = ReadBack(path)
    check(str(uuid.UUID(bytes=cache.main.uuid)) == truth['uuid'] or cache.main.header < 0x68, 'uuid')
    check(len(cache.files) == len(truth['files']), 'files')
    pointers = {slot: value for image in truth['images'] for slot, value in image['pointers']}
    if options.slide:
        read = cache.pointers()
        check(read == pointers, 'pointers:', [(hex(a), hex(b)) for a, b in sorted(set(read.items()) ^ set(pointers.items()))])
    named = dict(cache.images)
    for image in truth['images']:
        check(named[image['path']] == image['address'], image['path'], 'address')
        if cache.main.header >= 0x98:
            check(str(uuid.UUID(bytes=cache.uuids()[image['address']])) == image['uuid'], image['path'], 'uuid')
        check_locals(cache, image, options)
    return cache


def check_locals(cache, image, options):
    offset = next((o + image['address'] - a for f in cache.files for a, s, o, _, _ in f.mappings if a <= image['address'] < a + s))
    if options.locals not in ('main', 'symbols') or options.locals_order and image['path'].endswith('objc.A.dylib'):
        return
    expected = {(name, address) for name, address, kind, _ in image['symbols'] if kind == 'local'}
    found = cache.local_symbols(image['address'], offset)
    check(found == expected, image['path'], 'local symbols:', found, expected)


def main():
    work, architectures = sys.argv[1], sys.argv[2:]
    for arch in architectures:
        folder = os.path.join(work, 'arm64' if arch == 'arm64e' else arch)
        dylibs = [os.path.join(folder, name) for name in ('libSystem.B.dylib', 'libobjc.A.dylib', 'Gamma')]
        for number, form in enumerate(FORMS[arch]):
            out = os.path.join(work, '%s-%d' % (arch, number))
            os.mkdir(out)
            path, truth = os.path.join(out, 'dyld_shared_cache_' + arch), os.path.join(out, 'truth.json')
            arguments = ['--out', path, '--arch', arch, '--truth', truth, *form.split(), *dylibs]
            options = make_cache.parse_arguments(arguments)
            make_cache.Cache(options).write()
            with open(truth) as file:
                truth = json.load(file)
            try:
                cache = check_cache(path, truth, options)
                # The others have the same code.
                if form is FORMS[arch][-1]:
                    for image, dylib in zip(truth['images'], dylibs):
                        check_extracted(cache, image, dylib, arch, work, options.locals != 'kept')
            except AssertionError as error:
                sys.exit('%s %s: %s' % (arch, form, error))
        print('%s: %d forms' % (arch, len(FORMS[arch])))


if __name__ == '__main__':
    main()
