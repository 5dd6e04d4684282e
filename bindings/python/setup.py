# SPDX-License-Identifier: MIT
"""Builds the package unspool: one extension module with the whole library in it (build_ffi.py).

UNSPOOL_SYSTEM=yes links the module with the installed libunspool instead.
"""
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from build_ffi import TOP, files, version  # noqa: E402

FLAGS = ['-std=gnu11', '-O2', '-fvisibility=hidden', f'-I{TOP}', f'-I{TOP / "include"}', f'-ffile-prefix-map={TOP}=.']
# Libraries that decompress debug information: name, header, function, macro. Used where the compiler finds them.
COMPRESSION = (('z', 'zlib.h', 'uncompress', 'HAVE_ZLIB'), ('lzma', 'lzma.h', 'lzma_stream_decoder', 'HAVE_LZMA'),
               ('zstd', 'zstd.h', 'ZSTD_decompress', 'HAVE_ZSTD'))


class BuildLibrary(build_ext):
    """Compiles the library's files before the module, several at a time, and hides their names."""

    def build_extensions(self):
        folder, module, flags = Path(self.build_temp), self.extensions[0], list(FLAGS)
        if os.environ.get('UNSPOOL_SYSTEM') == 'yes':
            module.libraries.insert(0, 'unspool')
            return super().build_extensions()
        for name, header, function, macro in COMPRESSION:
            if self.has(folder, name, header, function):
                flags.append(f'-D{macro}')
                module.libraries.append(name)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            module.extra_objects = list(pool.map(lambda path: self.compile(folder, path, flags), files('.c')))
        names = folder / 'names.map'
        names.write_text('{ global: PyInit_*; _cffi_pypyinit_*; local: *; };\n')
        module.extra_compile_args += flags
        module.extra_link_args.append(f'-Wl,--version-script={names}')
        return super().build_extensions()

    def compile(self, folder, path, flags):
        target = folder / 'library' / path.relative_to(TOP).with_suffix('.o')
        target.parent.mkdir(parents=True, exist_ok=True)
        self.spawn([*self.compiler.compiler_so, *flags, '-c', str(path), '-o', str(target)])
        return str(target)

    def has(self, folder, name, header, function):
        folder.mkdir(parents=True, exist_ok=True)
        test = folder / f'has_{name}.c'
        test.write_text(f'#include <{header}>\nvoid *volatile used = (void *){function};\nint main(void) {{ return 0; }}\n')
        try:
            self.spawn([*self.compiler.compiler_so, str(test), f'-l{name}', '-o', str(test.with_suffix(''))])
        except Exception:  # the class depends on the version of setuptools
            return False
        return True


class CopyLibrary(sdist):
    """Puts a copy of the library's files into the source distribution."""

    def make_release_tree(self, base_dir, names):
        super().make_release_tree(base_dir, names)
        copied = files('.c', '.h') + sorted((TOP / 'include').rglob('*.h')) + [TOP / 'configure.ac', TOP / 'COPYING']
        for path in copied:
            target = Path(base_dir, 'library', path.relative_to(TOP))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


setup(version=version(), cffi_modules=['build_ffi.py:ffi'], cmdclass={'build_ext': BuildLibrary, 'sdist': CopyLibrary},
      options={'bdist_wheel': {'py_limited_api': 'cp39'}})
