#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each fault that readers of shared caches are known to have, as a test: what the files are, and what must be named.

usage: traps.py UNSPOOL FOLDER [PART_OF_A_NAME]...    FOLDER/ARCH has the dylibs"""
import os
import shutil
import sys
import uuid

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'bench'))

import reports
import shared_cache as large_cache
from harness import HIDDEN, check, run_tests

APART = '--layout apart --locals symbols '
WHOLE = '--layout whole --locals symbols '


def test_01_suffixes_are_read(h):
    """Files of sub-caches have the suffixes that the main file lists: .02.dylddata, .03.dyldlinkedit."""
    made = h.make('arm64', APART + '--header 0x200')
    for suffix in ('.01', '.02.dylddata', '.03.dyldlinkedit', '.symbols'):
        check(os.path.exists(made.file(suffix)), suffix)
    h.names_all(made, made.code())
    made = h.make('arm64', APART + '--header 0x200', file='dyld_shared_cache_arm64.development')
    check(os.path.exists(made.file('.02.dylddata')) and not made.file('.01').endswith('.development.01'))
    h.names_all(made, made.code())
    made = h.make('arm64', WHOLE + '--header 0x1c8')
    check(os.path.exists(made.file('.1')) and not os.path.exists(made.file('.01')))
    h.names_all(made, made.code())


def test_01_numbered_files_of_a_cache_for_development(h):
    """Numbered files have the whole name of a main file for development. Those of the other cache lie beside them: they
    have another uuid. Without its own, the message names the other cache's file."""
    made = h.make('arm64', WHOLE + '--header 0x1c8', file='dyld_shared_cache_arm64.development')
    numbered = [made.file(suffix) for suffix in ('.1', '.2', '.3') if os.path.exists(made.file(suffix))]
    check(len(numbered) > 1, numbered)
    for path in numbered:
        own = path.replace('arm64.', 'arm64.development.')
        shutil.copy(path, own)
        with open(path, 'r+b') as other:
            other.seek(0x58)
            other.write(b'another cache')
    h.names_all(made, made.code())
    os.remove(numbered[0].replace('arm64.', 'arm64.development.'))
    result = h.run('images', made.path).succeeded(notes=1)
    check(numbered[0] + ': belongs to another cache' in result.err, result)


def test_02_entries_of_sub_caches_have_two_sizes(h):
    """Entries of sub-caches have 24 or 56 bytes: the uuid of each of three is compared with its file's."""
    for header, size, suffixes in (('0x1c8', 24, ('.1', '.2', '.3')), ('0x208', 56, ('.01', '.02', '.03'))):
        for n, suffix in enumerate(suffixes):
            made = h.make('arm64', '--layout whole --spare 1 --header ' + header)
            h.names_all(made, made.code())
            made.poke(made.peek(0x188, 'I')[0] + size * n, 'B', made.peek(0x58, 'B', suffix=suffix)[0] ^ 1)
            result = h.run('images', made.path).succeeded(notes=1)
            check(os.path.basename(made.file(suffix)) in result.err, suffix, result)
            h.symbolize(made, [made.symbol('sys_add')], notes=1)


def test_03_cache_type_does_not_decide(h):
    """The form of the entries follows from the header's size, not from cacheType 0."""
    for cache_type in (0, 1, 2, 7):
        made = h.make('arm64', WHOLE + '--header 0x200 --cache-type %d' % cache_type)
        h.names_all(made, made.code())


def test_04_a_file_of_symbols_exists_only_with_a_uuid(h):
    """Without a uuid of it no .symbols is opened; with one, a missing file is reported once and the rest is served."""
    made = h.make('arm64', '--layout whole --locals none --header 0x200')
    h.names_all(made, made.exported())
    # A file that does not belong to the cache is there, and must not be used.
    with open(made.file('.symbols'), 'wb') as file:
        file.write(b'foreign')
    h.names_all(made, made.exported())
    made = h.make('arm64', WHOLE + '--header 0x200')
    os.remove(made.file('.symbols'))
    h.names_all(made, made.exported(), notes=1)
    result = h.run('images', made.path).succeeded(notes=1)
    check('dyld_shared_cache_arm64.symbols' in result.err, result)


def test_05_an_unknown_magic_is_read(h):
    """The magic of an architecture that is not known is read as any other: the processor comes from the images."""
    made = h.make('arm64e', '--header 0x238 --layout apart --magic dyld_v1arm64ex1 --cpu 0x0100000c,0xc0000019')
    h.names_all(made, made.code())
    made = h.make('arm64', '--header 0x140')
    for name in ('   arm64', '  arm64e', 'arm64_32', '  x86_64', ' x86_64h', '    i386', '   armv7', '  armv7s', '  armv7k', 'unheard'):
        made.poke(0, '16s', b'dyld_v1' + name.encode())
        h.names_all(made, made.code())


def test_06_pointers_of_version_5_have_high_bits(h):
    """Slide info 5 has padding before its 64-bit field, and pointers have bits 34 to 41 for the bits 56 to 63."""
    made = h.make('arm64e', '--header 0x228 --layout apart --slide 5 --locals none')
    h.names_all(made, made.methods())


def test_07_the_file_of_symbols_is_not_mapped(h):
    """.symbols has a mapping at address 0, which is not an address of the cache: 0x10 is nowhere."""
    made = h.make('arm64', WHOLE + '--header 0x200')
    answer = h.run('symbolize', '--shared-cache', made.path, '--json', '0x10', hex(made.symbol('sys_add'))).objects()
    check('symbol' not in answer[0] and 'image_path' not in answer[0], answer)
    check(answer[1]['symbol'] == 'sys_add', answer)


def test_08_local_symbols_are_found_by_the_place_of_the_image(h):
    """Entries of local symbols are in another order than the images, and one image has none."""
    for form in ('--header 0x140', '--header 0x1c8', '--header 0x208 --layout whole --locals symbols'):
        made = h.make('arm64', form + ' --locals-order 2,0')
        for name in HIDDEN:
            expected = None if name == 'lookup_method' else name
            found = h.symbolize(made, [made.symbol(name)])
            check(list(found.values()) == [expected], form, name, found)
        h.names_all(made, made.exported())


def test_09_linkedit_is_far_from_text(h):
    """__LINKEDIT is 5 GB of addresses behind __TEXT: table = LINKEDIT.vmaddr + (offset - LINKEDIT.fileoff), 64-bit."""
    made = h.make('arm64', '--header 0x228 --layout apart --linkedit-distance 0x140000000 --locals kept')
    check(made.truth['size'] > 5 << 30)
    h.names_all(made, made.code())


def test_10_addresses_outside_of_mappings(h):
    """A gap has no name, nor what is behind the last byte; a mapping that wraps around is refused with a sentence."""
    made = h.make('arm64', '--header 0x228 --layout apart --linkedit-distance 0x140000000')
    mappings = [m for f in made.truth['files'] for m in f['mappings']]
    last = max(a + s for a, s, _ in mappings)
    gap = max(a for a, s, _ in mappings) - 0x10000
    h.names_none(made, [made.truth['base'] - 4, gap, last - 4, last, last + 4, 2 ** 64 - 4])
    for size in (0x8000, 2 ** 64 - 0x1000):
        made = h.make('arm64', '--header 0x228 --layout apart')
        made.place_mapping(0, 2 ** 64 - 0x4000, size, '.01')
        result = h.run('images', made.path)
        check('dyld_shared_cache_arm64.01' in result.err, result)
        made.place_mapping(0, 2 ** 64 - 0x4000, size)
        result = h.run('images', made.path)
        check(result.status and 'dyld_shared_cache_arm64' in result.err, result)


def test_11_symbols_of_arm64_32_have_12_bytes(h):
    """arm64_32 has symbols, load commands and pointers of 32 bits, for slide info 1 and 4."""
    for form in ('--header 0x140 --slide 4', '--header 0x1c8 --slide 1 --layout whole --locals symbols',
                 '--header 0x228 --slide 1 --layout apart --locals kept'):
        made = h.make('arm64_32', form)
        h.names_all(made, made.code())
        made = h.make('arm64_32', form.split(' --locals')[0] + ' --locals none')
        h.names_all(made, {**made.exported(), **made.methods()})


def test_12_many_files_with_few_descriptors(h):
    """70 sub-caches are read with 64 file descriptors."""
    made = h.make('arm64', WHOLE + '--header 0x200 --spare 70')
    h.names_all(made, made.code(), files=64)


def test_13_memory(h):
    """One name of a cache of 6 GB takes less than 64 MB of memory."""
    made = h.make('arm64', WHOLE + '--header 0x200 --sparse 0x180000000')
    check(os.path.getsize(made.file('.03')) > 6 << 30)
    result = h.peak('symbolize', '--shared-cache', made.path, hex(made.symbol('gamma_hidden')))
    check(result.status == 0 and 'gamma_hidden' in result.out, result)
    check(result.peak < 64 << 20, 'peak of memory:', result.peak)


def bytes_read(h, *arguments):
    """Returns how many bytes a command reads from files, and its output. None: this kernel does not count them."""
    read_out, write_out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write_out, 1)
        os.execv(h.unspool, [h.unspool, *arguments])
    os.close(write_out)
    with os.fdopen(read_out, 'rb') as out:
        text = out.read().decode()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        with open('/proc/%d/io' % pid) as file:
            count = int(file.read().split()[1])
    except OSError:
        count = None
    os.waitpid(pid, 0)
    return count, text


def test_13_pages_of_other_images(h):
    """A name takes no page of the images that do not hold the address: with 20 times as many images, the command reads
    no more than their entries in the lists."""
    sizes = (12, 240)
    read = []
    for images in sizes:
        folder = os.path.join(h.work, '%d-images' % images)
        os.mkdir(folder)
        made = large_cache.Maker(folder, images)
        made.make()
        count, text = bytes_read(h, 'symbolize', '--shared-cache', made.path, hex(made.address(images // 2, 77)))
        check(large_cache.NAME % (images // 2, 77) in text, text)
        read.append(count)
    if None in read:
        print('test_13_pages_of_other_images: the kernel does not count bytes that are read')
        return
    # An image has 140 bytes in the lists, and 16 in the local symbols. Pages have 16 KB.
    most = (sizes[1] - sizes[0]) * 156 + 4 * 0x4000
    check(read[1] - read[0] <= most, 'bytes read:', read, 'most:', most)


def test_13_an_image_is_read_once(h):
    """One name in each of 60 images reads each image once, although the command then asks which files it used. An image
    has 35 KB of symbols beside 32 KB in .symbols, with 106 KB of names: 13 pages of 16 KB, those of lists included."""
    folder, path = os.path.join(h.work, 'read-once'), os.path.join(h.work, 'addresses')
    os.mkdir(folder)
    made = large_cache.Maker(folder, 60)
    made.make()
    with open(path, 'w') as file:
        file.writelines('%#x\n' % made.address(n, 77) for n in range(60))
    count, text = bytes_read(h, 'symbolize', '--shared-cache', made.path, '-f', path)
    for n, line in enumerate(text.splitlines()):
        check(large_cache.NAME % (n, 77) in line, line)
    check(count is None or count <= 60 * 16 * 0x4000, 'bytes read:', count)


def test_14_foreign_data_between_segments(h):
    """Other data lie between the segments of an image: they belong to no image, and no table reads across them."""
    for form in ('--header 0x140', '--header 0x228 --layout apart --locals symbols', '--header 0x1c8 --layout whole'):
        made = h.make('arm64', form + ' --gap')
        h.names_all(made, made.code())
        h.names_none(made, [image['address'] + image['text_size'] + 8 for image in made.truth['images']])


def test_15_linkedit_is_longer_than_its_mapping(h):
    """The size of __LINKEDIT goes past its mapping: symbols are read as far as the file has them."""
    for form in ('--header 0x140 --locals kept', '--header 0x228 --layout apart --locals kept'):
        made = h.make('arm64', form + ' --linkedit-excess 0x10000000')
        h.names_all(made, made.code())


def test_16_method_lists_with_types_from_the_base(h):
    """The flag 0x20000000 of a method list: names and types count from the selector base."""
    for arch in ('arm64', 'arm64e', 'arm64_32', 'x86_64'):
        made = h.make(arch, '--header 0x238 --layout apart --methods types --locals none')
        h.names_all(made, made.methods())


def test_17_the_selector_base_of_older_caches(h):
    """Until iOS 15 the selector base is in libobjc's __objc_opt_ro, not in the header."""
    for form in ('--header 0x140', '--header 0x1c8 --layout whole'):
        made = h.make('arm64', form + ' --selector-base libobjc --locals none')
        h.names_all(made, made.methods())
    made = h.make('arm64', '--header 0x1e0 --selector-base header --locals none')
    h.names_all(made, made.methods())


def test_18_pointers_count_from_the_base_of_the_cache(h):
    """A pointer in a sub-cache counts from the cache's base, not from the sub-cache's."""
    for arch, slide in (('arm64e', 3), ('arm64e', 5), ('x86_64', 2), ('arm64', 2)):
        made = h.make(arch, '--header 0x200 --layout whole --locals none --slide %d' % slide)
        h.names_all(made, made.methods())


def test_19_a_stub_is_not_the_function_before_it(h):
    """An address in a stub has the name of its target, and never that of the previous symbol."""
    for arch in ('arm64', 'arm64e'):
        made = h.make(arch, '--header 0x228 --layout apart --stubs')
        check(len(made.truth['stubs']) > 3)
        found = h.symbolize(made, [address for address, _ in made.truth['stubs']])
        for address, name in made.truth['stubs']:
            check(found[address] and found[address].split('$$')[-1] == name.lstrip('_'), hex(address), found[address], name)
        last = max(address for address, _ in made.truth['stubs'])
        h.names_none(made, [last + 0x400])
    made = h.make('arm64', '--header 0x98 --islands')
    found = h.symbolize(made, [address for address, _ in made.truth['stubs']])
    for address, name in made.truth['stubs']:
        check(found[address] and found[address].split('$$')[-1] == name.lstrip('_'), hex(address), found[address], name)


def test_20_no_libobjc(h):
    """A cache without libobjc is not an error."""
    for form in ('--header 0x140', '--header 0x1c8 --layout whole', '--header 0x228 --layout apart --selector-base none'):
        made = h.make('arm64', form, names=('libSystem.B.dylib',))
        h.names_all(made, made.code())


def test_21_the_field_at_0x78_is_an_address(h):
    """Newer headers have the address of dyld where older ones have the accelerator table."""
    made = h.make('arm64', '--header 0x228 --layout apart --dyld-header 0x180008000')
    h.names_all(made, made.code())
    made = h.make('arm64', '--header 0x140 --dyld-header 0xffffffffffff0000')
    h.names_all(made, made.code())


def test_22_files_that_are_cut_or_no_caches(h):
    """A file that is cut at any table, or is none of a cache, gives a message with its name."""
    made = h.make('arm64', '--header 0x208 --layout whole')
    whole = made.bytes()
    tables = [0, 8, 16, 0x100, 0x208, 0x220, *(made.peek(at, 'I')[0] for at in (0x138, 0x188, 0x1c0)),
              made.peek(0x88, 'Q')[0], made.peek(made.peek(0x1c0, 'I')[0] + 24, 'I')[0]]
    for cut in sorted({at + more for at in tables for more in (0, 5)}):
        with open(made.path, 'wb') as file:
            file.write(whole[:cut])
        result = h.run('images', '--shared-cache', made.path)
        check('dyld_shared_cache_arm64' in result.err, 'cut at', hex(cut), result)
        check(result.status, 'cut at', hex(cut), result)
    for content in (b'dyld_v2   arm64\0' + whole[16:], b'\xcf\xfa\xed\xfe' + bytes(100), b'', b'dyld_v1'):
        with open(made.path, 'wb') as file:
            file.write(content)
        result = h.run('images', '--shared-cache', made.path)
        check(result.status and made.path in result.err, content[:20], result)
    with open(made.path, 'wb') as file:
        file.write(b'AotCache' + bytes(100))
    for arguments in (('images', made.path), ('images', '--shared-cache', made.path)):
        result = h.run(*arguments)
        check(result.status and "Rosetta's translation of a dyld shared cache" in result.err, result)


def test_23_a_cache_of_another_build(h):
    """A report of another build gets no name from the cache; the uuid that is wanted is printed."""
    made = h.make('arm64', WHOLE + '--header 0x200')
    report = reports.make_report(made, slide=0x4c2c000, names=('sys_abort', 'hidden_add'), foreign=True)
    path = os.path.join(h.work, 'foreign.ips')
    with open(path, 'w') as file:
        file.write(report)
    result = h.run('report', '--shared-cache', made.path, path)
    check('sys_abort' not in result.out and 'hidden_add' not in result.out, result)
    wanted = uuid.UUID(reports.foreign_uuid(made.images['libSystem.B.dylib']['uuid']))
    check(wanted.hex in (result.out + result.err).lower().replace('-', ''), 'the wanted uuid is not printed:', result)


if __name__ == '__main__':
    run_tests(sys.modules[__name__], sys.argv[1:])
