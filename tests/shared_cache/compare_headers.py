#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every offset and size that the writer of shared caches uses with dyld's own headers. For people, not in CI:
Apple publishes dyld's source, and nothing of it is in this project.

usage: compare_headers.py REPOSITORY TAG...

REPOSITORY is a clone of dyld's published source, TAG a version such as dyld-1378. The structures of each tag's headers
are compiled, and the compiler says where their members are."""
import os
import re
import subprocess
import sys
import tempfile

from cache import OFFSETS

# Members whose name changed; a part of the members of `flags` are bits, so its place is that of the member behind it.
OLD_NAMES = {
    'imagesOffsetOld': ('imagesOffset',), 'imagesCountOld': ('imagesCount',), 'slideInfoOffsetUnused': ('slideInfoOffset',),
    'slideInfoSizeUnused': ('slideInfoSize',), 'dyldInCacheMH': ('accelerateInfoAddr', 'accelerateInfoAddrUnusedOrDyldAddr',
                                                                 'accelerateInfoOffset'),
    'dyldInCacheEntry': ('accelerateInfoSize', 'accelerateInfoSizeUnusedOrDyldStartFuncAddr'),
    'subCacheArrayOffset': ('subCachesUUIDOffset',), 'subCacheArrayCount': ('subCachesUUIDCount',),
    'symbolFileUUID': ('symbolSubCacheUUID',),
}
# Of each other structure: its size, and members with their offsets.
STRUCTURES = {
    'dyld_cache_mapping_info': (32, {'address': 0, 'size': 8, 'fileOffset': 16, 'maxProt': 24, 'initProt': 28}),
    'dyld_cache_mapping_and_slide_info': (56, {'address': 0, 'size': 8, 'fileOffset': 16, 'slideInfoFileOffset': 24,
                                               'slideInfoFileSize': 32, 'flags': 40, 'maxProt': 48, 'initProt': 52}),
    'dyld_cache_image_info': (32, {'address': 0, 'modTime': 8, 'inode': 16, 'pathFileOffset': 24}),
    'dyld_cache_image_text_info': (32, {'uuid': 0, 'loadAddress': 16, 'textSegmentSize': 24, 'pathOffset': 28}),
    'dyld_subcache_entry_v1': (24, {'uuid': 0, 'cacheVMOffset': 16}),
    'dyld_subcache_entry': (56, {'uuid': 0, 'cacheVMOffset': 16, 'fileSuffix': 24}),
    'dyld_cache_local_symbols_info': (24, {'nlistOffset': 0, 'nlistCount': 4, 'stringsOffset': 8, 'stringsSize': 12,
                                           'entriesOffset': 16, 'entriesCount': 20}),
    'dyld_cache_local_symbols_entry': (12, {'dylibOffset': 0, 'nlistStartIndex': 4, 'nlistCount': 8}),
    'dyld_cache_local_symbols_entry_64': (16, {'dylibOffset': 0, 'nlistStartIndex': 8, 'nlistCount': 12}),
    'dyld_cache_slide_info': (24, {'version': 0, 'toc_offset': 4, 'toc_count': 8, 'entries_offset': 12,
                                   'entries_count': 16, 'entries_size': 20}),
    'dyld_cache_slide_info2': (40, {'version': 0, 'page_size': 4, 'page_starts_offset': 8, 'page_starts_count': 12,
                                    'page_extras_offset': 16, 'page_extras_count': 20, 'delta_mask': 24, 'value_add': 32}),
    'dyld_cache_slide_info3': (24, {'version': 0, 'page_size': 4, 'page_starts_count': 8, 'auth_value_add': 16,
                                    'page_starts': 24}),
    'dyld_cache_slide_info4': (40, {'version': 0, 'page_size': 4, 'page_starts_offset': 8, 'page_starts_count': 12,
                                    'page_extras_offset': 16, 'page_extras_count': 20, 'delta_mask': 24, 'value_add': 32}),
    'dyld_cache_slide_info5': (24, {'version': 0, 'page_size': 4, 'page_starts_count': 8, 'value_add': 16,
                                    'page_starts': 24}),
    'ObjCOptimizationHeader': (None, {'relativeMethodSelectorBaseAddressOffset': 48}),
    'objc_opt_t': (None, {'version': 0, 'relativeMethodSelectorBaseAddressOffset': 40}),
}
# Older tags have one kind of entry for sub-caches under the newer name.
SMALL_ENTRY = {'dyld_subcache_entry': (24, {'uuid': 0, 'cacheVMOffset': 16})}
FILES = ('include/mach-o/dyld_cache_format.h', 'cache-builder/dyld_cache_format.h', 'dyld3/shared-cache/dyld_cache_format.h',
         'launch-cache/dyld_cache_format.h',
         'common/DyldSharedCache.h', 'include/objc-shared-cache.h')


def git(repository, *arguments):
    return subprocess.run(['git', '--git-dir', repository, *arguments], capture_output=True, text=True, errors='replace')


def structures(text):
    """Returns {name: members} of the structures in a header, without comments and functions."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*', '', text, flags=re.S)
    found = {}
    for match in re.finditer(r'\bstruct\s+(?:VIS_HIDDEN\s+|alignas\([^{]*?\)\s*)*(\w+)\s*\{', text):
        depth, end = 1, match.end()
        while depth:
            depth += {'{': 1, '}': -1}.get(text[end], 0)
            end += 1
        body = text[match.end():end - 1]
        # Only what is before the first function.
        body = re.split(r'\n[^;\n]*\([^;]*\)\s*(?:const\s*)?\{', body)[0]
        found.setdefault(match[1], body)
    return found


def members(body):
    """Returns the members that are not bits."""
    names = []
    for declaration in body.split(';'):
        if ':' not in declaration:
            match = re.search(r'(\w+)\s*(?:\[[^\]]*\]\s*)?$', declaration.strip())
            if match and len(declaration.split()) > 1:
                names.append(match[1])
    return names


def layout(body, folder):
    """Returns the size of a structure and {member: offset} by the compiler."""
    names = members(body)
    source = '#include <cstddef>\n#include <cstdint>\n#include <cstdio>\ntypedef uint8_t uuid_t[16];\nstruct S {%s};\nint main() {\n' % body
    source += 'std::printf("%zu\\n", sizeof(S));\n'
    source += ''.join('std::printf("%s %%zu\\n", offsetof(S, %s));\n' % (name, name) for name in names) + '}\n'
    path = os.path.join(folder, 'layout.cc')
    with open(path, 'w') as file:
        file.write(source)
    compiler = os.environ.get('CXX', 'c++')
    subprocess.run([compiler, '-w', path, '-o', path + '.out'], check=True)
    lines = subprocess.run([path + '.out'], check=True, capture_output=True, text=True).stdout.splitlines()
    return int(lines[0]), {name: int(at) for name, at in (line.split() for line in lines[1:])}


def compare_header(body, folder):
    size, found = layout(body, folder)
    compared, wrong = 0, []
    for name, (at, length) in OFFSETS.items():
        if at + length > size or name in ('flags', 'cputype', 'cpusubtype'):
            continue
        own = next((n for n in (name, *OLD_NAMES.get(name, ())) if n in found and found[n] == at), None)
        compared += 1
        if own is None:
            wrong.append('%s is not at %#x' % (name, at))
    return size, compared, wrong


def compare_tag(repository, tag, folder):
    found = {}
    for path in FILES:
        shown = git(repository, 'show', '%s:%s' % (tag, path))
        if shown.returncode == 0:
            for name, body in structures(shown.stdout).items():
                found.setdefault(name, body)
    if 'dyld_cache_header' not in found:
        print('%s: no header of caches' % tag)
        return False
    size, compared, wrong = compare_header(found['dyld_cache_header'], folder)
    expected = dict(STRUCTURES, **(SMALL_ENTRY if 'dyld_subcache_entry_v1' not in found else {}))
    for name, (length, offsets) in expected.items():
        if name not in found:
            continue
        own_size, own = layout(found[name], folder)
        if length is not None and own_size != length:
            wrong.append('%s has %d bytes, not %d' % (name, own_size, length))
        for member, at in offsets.items():
            if member not in own and name in ('objc_opt_t', 'ObjCOptimizationHeader'):
                continue
            compared += 1
            if own.get(member) != at:
                wrong.append('%s.%s is at %s, not %d' % (name, member, own.get(member), at))
    print('%s: header of %#x bytes, %d offsets compared, %d differ' % (tag, size, compared, len(wrong)))
    for line in wrong:
        print('  ' + line)
    return not wrong


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        results = [compare_tag(sys.argv[1], tag, folder) for tag in sys.argv[2:]]
    sys.exit(0 if all(results) else 1)


if __name__ == '__main__':
    main()
