#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damaged caches: each gives a sentence or is served as far as it is whole, and does no harm. A crash, a hang, a report
of a sanitizer and memory without limit are failures.

usage: hostile.py UNSPOOL FOLDER [PART_OF_A_NAME]...    FOLDER/ARCH has the dylibs"""
import os
import random
import shutil
import struct
import sys

from harness import check, run_tests

WHOLE = '--layout whole --locals symbols --header 0x208'
LARGE = (0, 1, 0x80000000, 0xffffffff)


def use(h, made, says=None):
    """Runs what reads most of a cache. says: part of the message that one of the commands must print."""
    text = ''
    for arguments in (('symbols', made.path, '--image', 'Gamma'),
                      ('symbolize', '--shared-cache', made.path, *map(hex, sorted(made.code())))):
        result = h.run(*arguments)
        check(result.status in (0, 1, 2, 3), result)
        text += result.err
    path = made.path + '.extracted'
    result = h.run('symbols', made.path, '--image', 'Gamma', '--extract', path)
    check(result.status in (0, 2, 3) and os.path.exists(path) == (result.status == 0), result)
    if result.status == 0:
        files = [os.path.join(os.path.dirname(path), name) for name in os.listdir(os.path.dirname(path))]
        check(os.path.getsize(path) < (2 << 20) + 2 * sum(os.lstat(file).st_size for file in files), 'extracted:', os.path.getsize(path))
        os.remove(path)
    check(says is None or says in text, 'no message with', says, 'but:', text)
    check(all(line.startswith('unspool: ') or not line for line in text.split('\n')), text)
    return text


def test_counts(h):
    """Counts and offsets of the header's tables: zero, one, the largest ones."""
    for arch, form in (('arm64', WHOLE), ('arm64', '--header 0x98 --islands')):
        whole = h.make(arch, form)
        for at in (0x10, 0x14, 0x18, 0x1c, 0x70, 0x74, 0x88, 0x90, 0x138, 0x13c, 0x188, 0x18c, 0x1c0, 0x1c4):
            if at >= int(form.split('--header ')[1].split()[0], 16):
                continue
            kept = whole.peek(at, 'I')[0]
            for value in h.sampled(LARGE):
                whole.poke(at, 'I', value)
                use(h, whole)
            whole.poke(at, 'I', kept)
        h.names_all(whole, whole.code())


def test_overlaps(h):
    """Two mappings with the same addresses, in one file and in two."""
    made = h.make('arm64', WHOLE)
    first, size = made.peek(0x208, 'QQ')
    made.place_mapping(0, first, size, '.01')
    use(h, made, 'dyld_shared_cache_arm64.01')
    made = h.make('arm64', WHOLE)
    made.place_mapping(1, first, size)
    use(h, made, 'dyld_shared_cache_arm64')


def test_overlapping_segments(h):
    """An image whose segments lie over each other is not put together: a small cache could become a file of gigabytes."""
    made = h.make('arm64', WHOLE)
    content = made.bytes('.02')
    text, data = content.find(b'__TEXT\0'), content.find(b'__DATA\0')
    made.poke(data + 16, 'Q', made.peek(text + 16, 'Q', suffix='.02')[0], suffix='.02')
    path = made.path + '.extracted'
    result = h.run('symbols', made.path, '--image', 'Gamma', '--extract', path)
    check(result.status == 3 and '__DATA cannot be placed' in result.err and not os.path.exists(path), result)


def test_damaged_image(h):
    """`store add` names an image whose load commands are damaged, has status 1, and makes the indexes of the others."""
    made = h.make('arm64', WHOLE)
    made.poke(made.bytes('.02').find(b'\xcf\xfa\xed\xfe') + 20, 'I', 0xffffffff, suffix='.02')
    result = h.run('store', 'add', '-o', os.path.join(os.path.dirname(made.path), 'store'), made.path)
    check(result.status == 1 and len(result.out.splitlines()) == len(made.images) - 1, result)
    check(any('4294967295 bytes of load commands' in line for line in result.err.splitlines()), result)


def test_cache_as_an_object_file(h):
    """A cache that is given as an object file is called a shared cache, and the message says how it is given."""
    made = h.make('arm64', WHOLE)
    result = h.run('symbolize', '-o', made.path, hex(made.symbol('sys_add')))
    check(result.status == 3 and 'a dyld shared cache' in result.err and '--shared-cache' in result.err, result)


def test_circles(h):
    """Sub-caches that are the main file, or each other, or in another folder."""
    for suffix in (b'', b'.02', b'/../dyld_shared_cache_arm64', b'.01/../../x', b'\xff' * 32):
        made = h.make('arm64', WHOLE)
        entry = made.peek(0x188, 'I')[0]
        made.poke(entry + 24, '32s', suffix)
        use(h, made, 'dyld_shared_cache_arm64')
    # A file that is a link to the main file has the main file's uuid.
    made = h.make('arm64', WHOLE)
    made.poke(made.peek(0x188, 'I')[0], '16s', made.peek(0x58, '16s')[0])
    os.remove(made.file('.01'))
    os.link(made.path, made.file('.01'))
    use(h, made)


def test_foreign_sub_cache(h):
    """A sub-cache and a file of symbols of another build are named and left out; the rest is served."""
    made, other = h.make('arm64', WHOLE), h.make('arm64', WHOLE + ' --seed other')
    for suffix in ('.02', '.symbols'):
        shutil.copy(other.file(suffix), made.file(suffix))
    text = use(h, made, 'dyld_shared_cache_arm64.02')
    check('dyld_shared_cache_arm64.symbols' in text, text)
    exported = {a: n for a, n in made.exported().items() if n.startswith('sys_')}
    h.names_all(made, exported, notes=2)


def test_cut_files(h):
    """Each file cut at several places: named once, and the rest is served."""
    whole = h.make('arm64', WHOLE)
    for suffix in ('', '.01', '.02', '.symbols'):
        content = whole.bytes(suffix)
        for cut in h.sampled((0, 10, 0x58, 0x200, 0x210, 0x1000, 0x4000, 0x4004, 0x8000, len(content) // 2,
                              len(content) - 0x5000)):
            with open(whole.file(suffix), 'wb') as file:
                file.write(content[:max(cut, 0)])
            # The writer puts 0x100 bytes behind what the file needs.
            is_cut = cut < len(content) - 0x100
            name = 'dyld_shared_cache_arm64' + suffix + ':'
            text = use(h, whole, name if is_cut else None)
            check(not suffix or text.count(name) == (2 if is_cut else 0), 'not once of each command:', text)
        with open(whole.file(suffix), 'wb') as file:
            file.write(content)
    h.names_all(whole, whole.code())


def test_special_files(h):
    """A sub-cache that is a folder, a pipe, or unreadable."""
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink(path, path)):
        made = h.make('arm64', WHOLE)
        os.remove(made.file('.01'))
        make(made.file('.01'))
        use(h, made, 'dyld_shared_cache_arm64.01')
    made = h.make('arm64', WHOLE)
    os.remove(made.path)
    os.mkfifo(made.path)
    result = h.run('images', '--shared-cache', made.path)
    check(result.status == 3, result)


def test_slide_info(h):
    """Chains that do not end, that leave the page, and counts of pages and extras that the file does not have."""
    for arch, form in (('arm64', '--slide 2 --several-chains'), ('arm64e', '--slide 3'), ('arm64e', '--slide 5'),
                       ('arm64_32', '--slide 4'), ('arm64_32', '--slide 1')):
        made = h.make(arch, '--header 0x140 --locals none ' + form)
        table = made.peek(0x138, 'I')[0]
        info = made.peek(table + 56 + 24, 'Q')[0]
        for at in range(4, 40, 4):
            kept = made.peek(info + at, 'I')[0]
            for value in h.sampled(LARGE + (0x3fffffff, 8)):
                made.poke(info + at, 'I', value)
                use(h, made)
            made.poke(info + at, 'I', kept)
        h.names_all(made, made.methods())


def add_commands(made, suffix, commands):
    """Adds load commands to the first image of a file, behind its own ones."""
    content = made.bytes(suffix)
    header = content.find(b'\xcf\xfa\xed\xfe')
    count, size = made.peek(header + 16, 'II', suffix)
    made.poke(header + 32 + size, '%ds' % len(b''.join(commands)), b''.join(commands), suffix=suffix)
    made.poke(header + 16, 'II', count + len(commands), size + len(b''.join(commands)), suffix=suffix)


def test_repeated_tables(h):
    """Of several tables of function starts, or of exports, the first is copied: 300 of them do not make a large file."""
    for kind in (0x26, 0x80000033):
        made = h.make('arm64', WHOLE)
        path = made.path + '.extracted'
        h.run('symbols', made.path, '--image', 'Gamma', '--extract', path).succeeded()
        size = os.path.getsize(path)
        offset = made.peek(made.bytes('.02').find(b'__LINKEDIT\0') + 32, 'Q', suffix='.02')[0]
        add_commands(made, '.02', [struct.pack('<IIII', kind, 16, offset, 0x3ffffff)] * 300)
        os.remove(path)
        h.run('symbols', made.path, '--image', 'Gamma', '--extract', path).succeeded()
        check(os.path.getsize(path) < size + 0x10000, 'extracted:', size, 'bytes, then', os.path.getsize(path))
        h.names_all(made, made.code())


def test_aliases_with_many_commands(h):
    """An image that an old cache lists 16,384 times is opened once, although it has a megabyte of load commands."""
    made = h.make('arm64', '--header 0x68')
    last = made.peek(0x10, 'I')[0] + 32 * (made.peek(0x14, 'I')[0] - 1)
    address, size, offset = made.peek(last, 'QQQ')
    commands = struct.pack('<II', 0x7fff, 8) * ((1 << 17) - 1)
    image = struct.pack('<IIIIIIII', 0xfeedfacf, 0x100000c, 0, 6, len(commands) // 8, len(commands), 0, 0) + commands
    made.poke(offset + size, '%ds' % len(image), image)
    made.poke(last + 8, 'Q', size + len(image))
    path, entries = made.peek(made.peek(0x18, 'I')[0] + 24, 'I')[0], offset + size + len(image)
    made.poke(entries, '%ds' % (16384 * 32), struct.pack('<QQQII', address + size, 0, 0, path, 0) * 16384)
    made.poke(0x18, 'II', entries, 16384)
    result = h.run('images', '--json', made.path)
    check(result.status == 0 and len(result.objects()[0]['images']) == 1, result)
    made.poke(0x1c, 'I', 16385)
    result = h.run('images', '--json', made.path)
    check(result.status == 3 and 'too many images' in result.err, result)


def test_local_symbols_of_too_many_images(h):
    """The index of local symbols has at most as many images as a cache: each look-up would read all of it."""
    made = h.make('arm64', WHOLE)
    info = made.peek(0x48, 'Q', suffix='.symbols')[0]
    os.truncate(made.file('.symbols'), 1 << 40)
    made.poke(info + 20, 'I', 0x80000000, suffix='.symbols')
    result = h.run('images', made.path).succeeded(notes=1)
    check('local symbols of 2147483648 images' in result.err, result)
    h.names_all(made, {a: n for a, n in made.exported().items() if n.startswith('sys_')}, notes=1)


def test_local_symbols(h):
    """The table of local symbols with damaged offsets and counts."""
    made = h.make('arm64', WHOLE)
    info = made.peek(0x48, 'Q', suffix='.symbols')[0]
    for at in range(0, 24, 4):
        kept = made.peek(info + at, 'I', suffix='.symbols')[0]
        for value in h.sampled(LARGE):
            made.poke(info + at, 'I', value, suffix='.symbols')
            use(h, made)
        made.poke(info + at, 'I', kept, suffix='.symbols')
    h.names_all(made, made.code())


def test_random_damage(h):
    """Bytes of the headers, tables, load commands and slide info are changed at random, with a fixed seed."""
    generator = random.Random(43)
    for arch, form in (('arm64', WHOLE), ('arm64e', '--header 0x228 --layout apart --stubs --locals symbols'),
                       ('arm64_32', '--header 0x140 --slide 4'), ('x86_64', '--header 0x1c8 --layout whole --locals kept')):
        made = h.make(arch, form)
        names = sorted(n for n in os.listdir(os.path.dirname(made.path)) if n.startswith('dyld_'))
        kept = {n: open(os.path.join(os.path.dirname(made.path), n), 'rb').read() for n in names}
        for _ in range(int(os.environ.get('USP_HOSTILE_RUNS', '6'))):
            name = generator.choice(names)
            content = bytearray(kept[name])
            for _ in range(generator.choice((1, 3, 30))):
                limit = generator.choice((0x240, 0x1000, len(content)))
                at = generator.randrange(limit)
                content[at] = generator.choice((0, 0xff, 0x80, 0x7f, generator.randrange(256)))
            path = os.path.join(os.path.dirname(made.path), name)
            with open(path, 'wb') as file:
                file.write(content)
            use(h, made)
            with open(path, 'wb') as file:
                file.write(kept[name])


def test_pages_that_are_too_large(h):
    """Slide information whose pages are larger than any of dyld's, or not aligned, is named; functions keep their names."""
    for size in (0x10000, 0x8000, 0x5000):
        made = h.make('arm64', '--header 0x140 --slide 2')
        info = made.peek(made.peek(0x138, 'I')[0] + 56 + 24, 'Q')[0]
        made.poke(info + 4, 'I', size)
        result = h.run('images', made.path).succeeded(notes=1)
        check('pages of %d bytes' % size in result.err, result)
        h.names_all(made, made.exported(), notes=1)


if __name__ == '__main__':
    run_tests(sys.modules[__name__], sys.argv[1:])
