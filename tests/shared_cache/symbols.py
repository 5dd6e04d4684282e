#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the command reads in caches of each form with the dylibs: images, symbols, methods, reports.

usage: symbols.py UNSPOOL FOLDER [PART_OF_A_NAME]...    FOLDER/ARCH has the dylibs"""
import json
import os
import shutil
import struct
import sys

import cores
import reports
from check_forms import FORMS, references, symbols_of
from harness import NAMES, check, run_tests

# The forms, with where their local symbols are.
ALL = [(arch, form) for arch, forms in FORMS.items() for form in forms]


def each_form(h):
    for arch, form in ALL:
        yield arch, form, h.make(arch, form)


def is_named(form, name):
    """Whether the local symbols of an image are in the cache."""
    if '--locals none' in form:
        return False
    return '--locals-order' not in form or '2,0' not in form or 'libobjc' not in name


def test_images(h):
    """The images of each form, with uuid, address and size."""
    for arch, form, made in each_form(h):
        listed = h.run('images', '--json', made.path).succeeded().objects()[0]['images']
        found = {i['path']: (int(i['load_address'], 16), i.get('uuid')) for i in listed}
        expected = {i['path']: (i['address'], i['uuid'].replace('-', '')) for i in made.truth['images']}
        check(found == expected, arch, form, found, expected)
        for image in listed:
            truth = made.images[image['path'].rsplit('/', 1)[-1]]
            check(int(image['end'], 16) == truth['address'] + truth['text_size'], arch, form, image)


def moved(image, address):
    return address + image['text_delta' if address < image['text_size'] else 'data_delta']


def test_symbols_equal_those_of_the_dylibs(h):
    """Every function that the command names in a dylib has the same name and size in the cache, in each form."""
    before = {}
    for arch, form, made in each_form(h):
        for name, dylib in zip(NAMES, h.dylibs(arch)):
            if not is_named(form, name):
                continue
            if dylib not in before:
                before[dylib] = h.run('symbols', '--json', dylib).succeeded().objects()[0]['symbols']
            image = made.images[name]
            expected = {moved(image, int(s['address'], 16)): (s['symbol'], s['size']) for s in before[dylib]}
            found = h.run('symbols', '--json', made.path, '--image', image['path']).succeeded().objects()[0]
            check(found['uuid'] == image['uuid'].replace('-', ''), arch, form, name, found['uuid'])
            found = {int(s['address'], 16): (s['symbol'], s['size']) for s in found['symbols']}
            # An image of a cache with stubs of its own keeps the code of its old ones.
            stubs = {a for a, s in {**expected, **found}.items() if s[0].startswith('DYLD-STUB$$')}
            wrong = {hex(a): (found.get(a), expected.get(a)) for a in set(found) | set(expected)
                     if a not in stubs and found.get(a) != expected.get(a)}
            check(not wrong, arch, form, name, 'found, expected:', wrong)
            check(not any('redacted' in name for name, _ in found.values()), arch, form, name, '<redacted>')


def extract(h, made, name):
    """Writes an image as a file. Returns its path."""
    path = os.path.join(os.path.dirname(made.path), name)
    h.run('symbols', made.path, '--image', made.images[name]['path'], '--extract', path).succeeded()
    with open(path, 'rb') as file:
        check(file.read(28)[27] & 0x80 == 0, path, 'is marked as an image of a cache')
    return path


def without_stubs(symbols):
    return {int(s['address'], 16): s['symbol'] for s in symbols if not s['symbol'].startswith('DYLD-STUB$$')}


def test_extraction(h):
    """An image that is written as a file has every symbol of its dylib for llvm-nm and for the command, in each form."""
    before = {}
    for arch, form, made in each_form(h):
        for name, dylib in zip(NAMES, h.dylibs(arch)):
            if not is_named(form, name):
                continue
            if dylib not in before:
                listed = h.run('symbols', '--json', dylib).succeeded().objects()[0]['symbols']
                before[dylib] = symbols_of(dylib), without_stubs(listed)
            image, path = made.images[name], extract(h, made, name)
            symbols, listed = before[dylib]
            expected, found = {(n, moved(image, a)) for n, a in symbols}, symbols_of(path)
            check(found == expected, arch, form, name, 'symbols:', sorted(found ^ expected))
            found = without_stubs(h.run('symbols', '--json', path).succeeded().objects()[0]['symbols'])
            expected = {moved(image, a): symbol for a, symbol in listed.items()}
            check(found == expected, arch, form, name, 'named:', set(found.items()) ^ set(expected.items()))


def test_extracted_code(h):
    """llvm-objdump finds the same references in the code of an image that is written as a file as in its dylib."""
    for arch, form in (('arm64', '--header 0x140 --slide 2 --gap'), ('arm64e', '--header 0x228 --layout apart --slide 5'),
                       ('arm64_32', '--header 0x228 --slide 1 --layout apart'), ('x86_64', '--header 0x1c8 --layout whole')):
        made = h.make(arch, form)
        image, dylib = made.images['Gamma'], h.dylibs(arch)[2]
        expected = {moved(image, a): moved(image, to) for a, to in references(dylib, arch).items()}
        found = references(extract(h, made, 'Gamma'), arch)
        check(expected and found == expected, arch, form, 'references:', sorted(set(found.items()) ^ set(expected.items())))


def test_extracted_methods(h):
    """Without local symbols, methods in a file of its own have their names if their lists lead to names in the image, and
    never wrong ones: names that count from the cache's selectors are not in the file."""
    for arch, form in (('arm64', '--header 0x140 --methods keep --selector-base none --locals none'),
                       ('arm64', '--header 0x228 --layout apart --locals none'),
                       ('arm64e', '--header 0x238 --layout apart --methods types --locals none')):
        made = h.make(arch, form)
        listed = h.run('symbols', '--json', '--objc', extract(h, made, 'Gamma')).succeeded().objects()[0]['symbols']
        found = {int(s['address'], 16): s['symbol'] for s in listed}
        check(found == (made.methods() if '--methods keep' in form else {}), arch, form, found)


def test_extracted_commands(h):
    """A load command whose data lies in the __LINKEDIT of all images, and is not kept, is not in the file: LLVM's tools would
    refuse it. A command of an unknown kind is kept."""
    made = h.make('arm64', '--header 0x1c8 --layout whole')
    dropped = (0x1d, 0x1e, 0x21, 0x29, 0x2b, 0x2e, 0x36, 0x37, 0x38, 0x3a, 0x80000034)
    at = made.bytes('.2').find(b'\xcf\xfa\xed\xfe')
    count, size = made.peek(at + 16, 'II', suffix='.2')
    for i, kind in enumerate((*dropped, 0x7fff)):
        made.poke(at + 32 + size + 16 * i, 'IIII', kind, 16, 0x40000000, 0x100, suffix='.2')
    made.poke(at + 16, 'II', count + len(dropped) + 1, size + 16 * (len(dropped) + 1), suffix='.2')
    path = extract(h, made, 'Gamma')
    with open(path, 'rb') as file:
        content = file.read()
    kinds, at = [], 32
    for _ in range(struct.unpack_from('<I', content, 16)[0]):
        kind, size = struct.unpack_from('<II', content, at)
        kinds.append(kind)
        at += size
    check(0x7fff in kinds and not set(kinds) & set(dropped), [hex(kind) for kind in kinds])


def test_extraction_that_fails(h):
    """A file that exists is kept, also the cache; of an image that cannot be read no file is left."""
    made = h.make('arm64', '--header 0x200 --layout whole --locals symbols')
    for path in (made.path, extract(h, made, 'Gamma')):
        with open(path, 'rb') as file:
            before = file.read()
        result = h.run('symbols', made.path, '--image', 'Gamma', '--extract', path)
        with open(path, 'rb') as file:
            check(result.status == 4 and path in result.err and file.read() == before, result)
    result = h.run('symbols', path, '--extract', path + '2')
    check(result.status == 2 and not os.path.exists(path + '2'), result)
    os.remove(made.file('.02'))
    result = h.run('symbols', made.path, '--image', 'Gamma', '--extract', path + '2')
    check(result.status == 3 and not os.path.exists(path + '2'), result)
    check(os.path.basename(made.file('.02')) in result.err, result)


def test_permissions_of_an_extracted_file(h):
    """A file that is written has the permissions of the user's mask."""
    made = h.make('arm64', '--header 0x140')
    before = os.umask(0)
    try:
        for mask in (0o022, 0o027, 0o077):
            os.umask(mask)
            path = os.path.join(os.path.dirname(made.path), 'Gamma-%o' % mask)
            h.run('symbols', made.path, '--image', 'Gamma', '--extract', path).succeeded()
            check(os.stat(path).st_mode & 0o777 == 0o666 & ~mask, oct(mask), oct(os.stat(path).st_mode))
    finally:
        os.umask(before)


def test_methods(h):
    """Objective-C methods without a symbol are named from the metadata, in each form."""
    for arch, form in ALL:
        form = form.replace('--locals symbols', '').replace('--locals kept', '') + ' --locals none'
        made = h.make(arch, form)
        h.names_all(made, {**made.methods(), **made.exported()})
        found = h.run('symbols', '--json', made.path, '--image', 'Gamma', '--objc').succeeded().objects()[0]['symbols']
        check({int(s['address'], 16): s['symbol'] for s in found} == made.methods(), arch, form, found)


def test_addresses_with_a_slide(h):
    """Addresses of a process are named with the slide of its cache."""
    made = h.make('arm64', '--header 0x200 --layout whole --locals symbols')
    slid = {address + 0x4c2c000: name for address, name in made.code().items()}
    h.names_all(made, slid, '-s', '0x4c2c000')


def test_report(h):
    """A report with frames in three system images, and the cache alone: every frame has its name, in each form."""
    names = ('sys_abort', 'hidden_multiply', 'lookup_method', 'gamma_hidden', '-[Gamma(Extra) addedTo:and:]', 'gamma_entry')
    for arch, form in ALL:
        form = form.replace('--locals none', '').replace('--locals-order 2,0', '')
        made = h.make(arch, form)
        path = os.path.join(h.work, 'App.ips')
        with open(path, 'w') as file:
            file.write(reports.make_report(made, 0x4c2c000 if '--slide 0' not in form else 0, names))
        result = h.run('report', '--quiet', '--strict', '--json', '--shared-cache', made.path, path).succeeded()
        text = json.dumps(result.objects())
        for name in names:
            check(json.dumps(name)[1:-1] in text, arch, form, name, result)
        check('redacted' not in text, arch, form)
        result = h.run('symbolize', '--quiet', '--log', path, '--shared-cache', made.path).succeeded()
        for name in names:
            check(name in result.out, arch, form, name, result)


# The functions on the stack of a core.
CORE_NAMES = ['hidden_add', 'sys_add', 'sys_abort', 'gamma_entry']


def test_core(h):
    """A core without the memory of the cache: code, unwind tables and names come from the cache of its UUID. The thread
    is in a function without a frame record, so that only its unwind table leads to the caller."""
    expected = CORE_NAMES
    for form in ('--header 0x140', '--header 0x1c8', '--header 0x1c8 --layout whole',
                 '--header 0x228 --layout apart --locals symbols'):
        made = h.make('arm64', form)
        path = os.path.join(h.work, 'core')
        with open(path, 'wb') as file:
            file.write(cores.make_core(made, 0x4c2c000))
        found = h.run('stack', '--json', '--shared-cache', made.path, path).succeeded().objects()[0]
        names = [frame.get('symbol') for frame in found['threads'][0]['frames']]
        check(names == expected, form, names, found)
        other = h.make('arm64', form + ' --seed other')
        result = h.run('stack', '--json', '--shared-cache', other.path, path)
        check(not any(name in result.out for name in expected), result)
        result = h.run('stack', '--json', path)
        check(not any(name in result.out for name in expected), result)


def test_core_with_the_text_of_a_cache(h):
    """Of a cache, the files with text suffice to unwind a core; a store has the names."""
    for form in ('--header 0x228 --layout apart --locals symbols', '--header 0x200 --layout apart --locals symbols --gap'):
        made = h.make('arm64', form)
        folder = os.path.dirname(made.path)
        path, store = os.path.join(h.work, 'core'), os.path.join(folder, 'store')
        with open(path, 'wb') as file:
            file.write(cores.make_core(made, 0x4c2c000))
        h.run('store', 'add', '--quiet', '-o', store, made.path).succeeded()
        for suffix in made.suffixes():
            if suffix.endswith(('.dylddata', '.dyldlinkedit', '.symbols')):
                os.remove(made.file(suffix))
        result = h.run('stack', '--json', '--sysroot', folder, '--index', store, path)
        names = [frame.get('symbol') for frame in result.objects()[0]['threads'][0]['frames']]
        check(result.status == 0 and names == CORE_NAMES, form, names, result)


def test_store(h):
    """A store that was made from the cache names the same frames when the cache is gone."""
    names = ('sys_abort', 'hidden_multiply', 'lookup_method', 'gamma_hidden', '-[Gamma(Extra) addedTo:and:]', 'gamma_entry')
    for arch, form in (('arm64', '--header 0x200 --layout apart --stubs --locals symbols'), ('arm64', '--header 0x140'),
                       ('arm64e', '--header 0x228 --layout apart --locals symbols'), ('arm64_32', '--header 0x228 --layout apart'),
                       ('x86_64', '--header 0x1c8 --layout whole --locals kept')):
        made = h.make(arch, form)
        path, store = os.path.join(h.work, 'App.ips'), os.path.join(os.path.dirname(made.path), 'store')
        with open(path, 'w') as file:
            file.write(reports.make_report(made, 0x4c2c000, names))
        h.run('store', 'add', '--quiet', '-o', store, made.path).succeeded()
        for name in os.listdir(os.path.dirname(made.path)):
            if name.startswith('dyld_'):
                os.remove(os.path.join(os.path.dirname(made.path), name))
        result = h.run('report', '--quiet', '--strict', '--json', '--index', store, path).succeeded()
        for name in names:
            check(json.dumps(name)[1:-1] in result.out, arch, form, name, result)


def test_stubs_of_a_report(h):
    """Frames in stubs and branch islands are named after their targets, by the cache and by its store alone."""
    for arch, form in (('arm64', '--header 0x228 --layout apart --stubs'), ('arm64e', '--header 0x200 --layout apart --stubs'),
                       ('arm64', '--header 0x98 --islands')):
        made = h.make(arch, form)
        folder, path = os.path.dirname(made.path), os.path.join(h.work, 'App.ips')
        store = os.path.join(folder, 'store')
        stubs = dict(made.truth['stubs'])
        with open(path, 'w') as file:
            file.write(reports.make_report(made, 0x4c2c000, ('sys_abort',), stubs=stubs))
        expected = ['sys_abort'] + ['DYLD-STUB$$' + name.lstrip('_') for name in stubs.values()]

        def names(*options):
            result = h.run('report', '--quiet', '--json', *options, path).succeeded()
            frames = result.objects()[0]['reports'][0]['threads'][0]['frames']
            found = [frame.get('symbol') for frame in frames]
            check(found == expected, arch, form, options, found, expected)

        names('--shared-cache', made.path)
        h.run('store', 'add', '--quiet', '-o', store, made.path).succeeded()
        os.rename(made.path, made.path + '.gone')
        names('--index', store)
        os.rename(made.path + '.gone', made.path)
        store += '-of-some'
        h.run('store', 'add', '--quiet', '-o', store, '--only', 'stubs,libSystem.B.dylib', made.path).succeeded()
        names('--index', store)


def test_store_without_local_symbols(h):
    """Without local symbols, a store names exported functions and methods, and no other function after the one before
    it: the cache's function starts say where that one ends."""
    for arch, form in (('arm64', '--header 0x228 --layout apart --locals none'), ('x86_64', '--header 0x1c8 --locals none')):
        made = h.make(arch, form)
        store = os.path.join(os.path.dirname(made.path), 'store')
        h.run('store', 'add', '--quiet', '-o', store, made.path).succeeded()
        named = {**made.methods(), **made.exported()}
        functions = [(image, address) for image in made.truth['images'] for _, address, _, section in image['symbols']
                     if section == '__text']
        frames = [{'uuid': image['uuid'].replace('-', ''), 'offset': address + 4 - image['address']}
                  for image, address in functions]
        result = h.run('symbolize', '--records', '--index', store, text=json.dumps({'frames': frames}) + '\n').succeeded()
        found = {address: frame.get('symbol') for (_, address), frame in zip(functions, result.objects()[0]['frames'])}
        expected = {address: named.get(address) for _, address in functions}
        check(found == expected and None in expected.values(), arch, form, found, expected)


def test_store_of_some_images(h):
    """`store add --only` makes indexes of some images; a second run makes those that are missing."""
    made = h.make('arm64', '--header 0x200 --layout whole --locals symbols')
    store = os.path.join(os.path.dirname(made.path), 'store')
    h.run('store', 'add', '--quiet', '-o', store, '--only', 'Gamma', made.path).succeeded()
    first = {os.path.join(p, n) for p, _, names in os.walk(store) for n in names}
    check(first, 'no index')
    h.run('store', 'add', '--quiet', '-o', store, made.path).succeeded()
    second = {os.path.join(p, n) for p, _, names in os.walk(store) for n in names}
    check(first < second, sorted(second))
    result = h.run('store', 'add', '-o', store + '-2', '--only', 'Gama,Gamma,libAbsent.dylib', made.path)
    check(result.status == 1 and len(result.out.splitlines()) == 1, 'one index and status 1:', result)
    for name in ('Gama', 'libAbsent.dylib'):
        check('%s: none of its images has the name %s\n' % (made.path, name) in result.err, result)


def test_store_of_an_incomplete_cache(h):
    """`store add` names a file of the cache that is missing or cut, once, adds the rest, and has status 1."""
    for damage in (os.remove, lambda path: os.truncate(path, 0x4010)):
        made = h.make('arm64', '--header 0x200 --layout whole --locals symbols')
        damage(made.file('.symbols'))
        store = os.path.join(os.path.dirname(made.path), 'store')
        result = h.run('store', 'add', '-o', store, made.path)
        check(result.status == 1 and result.err.count(made.file('.symbols')) == 1, result)
        check(len(result.out.splitlines()) == len(made.images), result)


def test_store_of_a_folder(h):
    """`store add` takes the main files in a folder, also those for development, and no sub-cache by itself."""
    for name in ('dyld_shared_cache_arm64', 'dyld_shared_cache_arm64.development'):
        made = h.make('arm64', '--header 0x200 --layout apart --locals symbols', file=name)
        folder = os.path.dirname(made.path)
        result = h.run('store', 'add', '-o', os.path.join(h.work, name + '.store'), folder).succeeded()
        check(len(result.out.splitlines()) == len(made.images), result)


def test_many_caches(h):
    """An image of the last of many caches is found by its UUID."""
    made = h.make('arm64', '--header 0x200 --layout one --locals main')
    folder = os.path.dirname(made.path)
    entry, count = made.peek(0x88, 'QQ')
    places = (0x58, *range(entry, entry + 32 * count, 32))
    kept = [made.peek(at, '2s')[0] for at in places]
    for n in range(70):
        for at, uuid in zip(places, kept):
            made.poke(at, '2s', uuid if n == 69 else bytes((n, uuid[1] ^ 1)))
        os.mkdir(os.path.join(folder, 'v%02d' % n))
        shutil.copy(made.path, os.path.join(folder, 'v%02d' % n))
    os.remove(made.path)
    uuid = next(image['uuid'] for image in made.truth['images'])
    result = h.run('symbols', '--shared-cache', folder, '--uuid', uuid).succeeded()
    check('sys_add' in result.out, result)


def test_folders(h):
    """A folder stands for the caches in it, as Xcode, IPSW archives, macOS and simulators have them."""
    simulators = 'Library/Developer/CoreSimulator/Caches/dyld/25A354/com.apple.CoreSimulator.SimRuntime.iOS-26-0.23A343'
    for place in (simulators, 'iOS DeviceSupport/iPhone15,2 17.4 (21E219)/Symbols/System/Library/Caches/com.apple.dyld',
                  'System/Library/dyld', 'System/Volumes/Preboot/Cryptexes/OS/System/Library/dyld',
                  'System/DriverKit/System/Library/dyld'):
        if place == simulators:
            made = h.make('arm64', '--header 0x228 --slide 0 --locals kept', file='dyld_sim_shared_cache_arm64')
        else:
            made = h.make('arm64e', '--header 0x228 --layout apart --locals symbols')
        top = os.path.join(os.path.dirname(made.path), 'top')
        folder = os.path.join(top, place)
        os.makedirs(folder)
        for name in os.listdir(os.path.dirname(made.path)):
            if name.startswith('dyld_'):
                os.rename(os.path.join(os.path.dirname(made.path), name), os.path.join(folder, name))
        made.path = top
        h.names_all(made, made.code())


if __name__ == '__main__':
    run_tests(sys.modules[__name__], sys.argv[1:])
