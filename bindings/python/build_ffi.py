# SPDX-License-Identifier: MIT
"""What the extension module consists of: the library's files, and its public headers as cffi's declarations.

The library is that of this repository, or in a source distribution the copy in the folder library/.
"""
import re
from pathlib import Path

import cffi

HERE = Path(__file__).resolve().parent
TOP = HERE / 'library' if (HERE / 'library').is_dir() else HERE.parent.parent
# As in Package.swift: all C files below these folders, but not the Objective-C layer.
SOURCES, LEFT_OUT = ('arch', 'lib'), 'lib/objc'
GLUE = HERE / 'src' / 'unspool'


def version():
    return re.search(r'^AC_INIT\(\[unspool\], \[([0-9.]+)\]', (TOP / 'configure.ac').read_text(), re.M)[1]


def files(*suffixes):
    return sorted(path for folder in SOURCES for path in (TOP / folder).rglob('*')
                  if path.suffix in suffixes and TOP / LEFT_OUT not in path.parents)


def headers(name='unspool.h', seen=()):
    """The text of a public header, after that of the headers that it includes."""
    seen = seen or set()
    if name in seen:
        return ''
    seen.add(name)
    text = (TOP / 'include' / 'unspool' / name).read_text()
    return ''.join(headers(other, seen) for other in re.findall(r'#include <unspool/(\w+\.h)>', text)) + text


def declarations():
    """All public declarations and those of glue.h, without comments, directives and macros other than numbers."""
    text = re.sub(r'/\*.*?\*/', '', headers() + (GLUE / 'glue.h').read_text(), flags=re.S)
    text = re.sub(r'\bUSP_(API|BEGIN_DECLS|END_DECLS)\b', '', text.replace('\\\n', ' '))
    numbers = re.findall(r'^#define USP_\w+ +\d+$', text, re.M)
    return '\n'.join(numbers) + re.sub(r'^[ \t]*#.*$', '', text, flags=re.M)


ffi = cffi.FFI()
ffi.cdef(declarations())
ffi.set_source('unspool._unspool', (GLUE / 'glue.c').read_text(), include_dirs=[str(TOP / 'include'), str(GLUE)],
               libraries=['dl', 'pthread'], depends=[str(path) for path in files('.c', '.h') + sorted(GLUE.glob('glue.*'))])
