# SPDX-License-Identifier: MIT
"""Names of addresses, of frames in reports, and of mangled symbols."""
from __future__ import annotations

import json
import os
import threading
import warnings
import weakref
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Union

from . import _c
from ._c import Data, Path, ffi, lib


def demangle(name: Union[str, bytes], style: str = 'full') -> str:
    """The demangled form of a C++, Rust, Swift or Kotlin name; any other name as it is.

    style: 'full', 'simple' (without parameters), 'short' (for stacks) or 'no'.
    """
    encoded = _c.c_bytes(name)
    if b'\0' in encoded:
        raise ValueError('embedded null byte')
    demangler, mangled = _c.demangler(style), ffi.new('char[]', encoded)
    found: bytes = ffi.string(lib.usp_demangle(demangler, mangled))
    return found.decode('utf-8', 'surrogateescape')


# ---- addresses of a file

def _open_images(path: Path, arch: Optional[str], build_id: Union[str, bytes, None], load_address: Optional[int]) -> Any:
    options = _c.options('usp_image_file_options')
    if arch is not None:
        name = _c.c_string(arch)
        options.arch = lib.usp_arch_from_string(name)
        options.variant = lib.usp_variant_from_string(name)
        if options.arch == lib.USP_ARCH_NONE:
            raise ValueError(f'{arch!r} is not a processor')
    if build_id is not None:
        wanted = _c.build_id_of(build_id)
        options.build_id_size = len(wanted)
        ffi.memmove(options.build_id, wanted, len(wanted))
    if load_address is not None:
        options.flags |= lib.USP_IMAGE_FILE_LOADED
        options.load_address = _c.unsigned('load_address', load_address)
    return _c.made('usp_images', lib.usp_images_open, _c.c_string(path), options)


def _id_of(image: Any) -> bytes:
    return bytes(ffi.buffer(image.build_id, min(image.build_id_size, lib.USP_BUILD_ID_MAX)))


def _image_fields(image: Any) -> dict[str, Any]:
    """What the JSON schemas say of an image's build and processor."""
    found: dict[str, Any] = {'arch': _c.text_of(lib.usp_arch_string(image.arch))}
    variant = _c.text_of(lib.usp_variant_string(image.arch, image.variant))
    if variant != found['arch']:
        found['variant'] = variant
    if image.build_id_size:
        found['uuid' if image.flags & lib.USP_IMAGE_MACHO else 'build_id'] = _id_of(image).hex()
    return found


def _source_fields(frame: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if frame.directory:
        found['source_directory'] = _c.text_of(frame.directory)
    if frame.file:
        found['source_file'] = _c.text_of(frame.file)
    if frame.line:
        found['source_line'] = frame.line
    if frame.column:
        found['source_column'] = frame.column
    return found


def _inlined_fields(frames: list[Any], name_of: Any) -> dict[str, Any]:
    """The inlined calls: all frames but the last."""
    calls = [{**({'symbol': name_of(frame.function)} if frame.function else {}), **_source_fields(frame)}
             for frame in frames[:-1]]
    return {'inlined': calls} if calls else {}


class _Symbolizer:
    """Looks addresses up in one image, and answers as doc/schema/symbolize.schema.json says."""

    def __init__(self, path: Path, images: Any, store: Optional[Path], style: str) -> None:
        self.images, self.style, self.demangler = images, _c.style_of(style), _c.demangler(style)
        count = lib.usp_images_count(images)
        if count != 1:
            known = ', '.join(_c.text_of(lib.usp_variant_string(image.arch, image.variant)) for image in _c.images_of(images))
            raise ValueError(f'{os.fsdecode(path)}: has {count} images ({known}): arch or build_id selects one')
        self.image = lib.usp_images_get(images, 0)
        options, folder = _c.options('usp_symbolizer_options'), _c.c_string_or_null(store)
        options.index_store = folder
        self.symbolizer = _c.made('usp_symbolizer', lib.usp_symbolizer_create, images, options, has_error=False)
        self.frames = ffi.new('struct usp_source_frame[]', lib.USP_ANSWER_FRAMES)
        self.lines = ffi.new('struct usp_lines *')

    def name_of(self, function: Any) -> str:
        return _c.text_of(lib.usp_demangle(self.demangler, function))

    def answer(self, address: int) -> dict[str, Any]:
        lines, address = self.lines, _c.unsigned('an address', address)
        lib.usp_lines_init(lines, self.frames, lib.USP_ANSWER_FRAMES)
        lines.flags = lib.USP_LINES_FILL
        status = lib.usp_symbolize_lines(self.symbolizer, address, lines)
        if status != lib.USP_ERROR_NOT_FOUND:
            _c.check(status)
        symbol, found = lines.symbol, {'input': hex(address)}
        frames = [self.frames[i] for i in range(min(lines.count, lib.USP_ANSWER_FRAMES))]
        if symbol.image_path or symbol.name:
            found['address'] = hex(address)
        if symbol.image_path:
            found['image_path'] = _c.text_of(symbol.image_path)
            found.update((key, value) for key, value in _image_fields(self.image).items() if key in ('uuid', 'build_id'))
            found['image_offset'] = hex((address - symbol.image_load) & (1 << 64) - 1)
        return {**found, **self.function_fields(symbol, frames), **_inlined_fields(frames, self.name_of)}

    def function_fields(self, symbol: Any, frames: list[Any]) -> dict[str, Any]:
        name, offset, strategy, found = symbol.name, symbol.offset, symbol.strategy, {}
        own = frames[-1] if frames else None
        # Debug information names a function that the symbol table lacks.
        if own and own.function and own.start and own.named_by == lib.USP_STRATEGY_DEBUG_INFO:
            name, offset, strategy = own.function, own.address - own.start, own.named_by
        if name:
            found['symbol'], mangled = self.name_of(name), _c.text_of(name)
            if mangled != found['symbol']:
                found['mangled'] = mangled
            found['symbol_offset'] = offset
            found['named_by'] = _c.text_of(lib.usp_strategy_string(strategy))
        if own and own.file:
            found.update(_source_fields(own))
        elif name and symbol.source_file:
            found['source_file'] = _c.text_of(symbol.source_file)
        return found


def symbolize(path: Path, addresses: Iterable[int], *, load_address: Optional[int] = None, arch: Optional[str] = None,
              build_id: Union[str, bytes, None] = None, store: Optional[Path] = None,
              demangle: str = 'full') -> list[dict[str, Any]]:
    """What is at addresses of a program, library or dSYM: one dict for each, as doc/schema/symbolize.schema.json says.

    load_address: where the image begins in memory; 0 for offsets in the image; None for addresses as it was linked.
    arch, build_id: which image of a file that has several. store: a folder of indexes, used for lines.
    """
    symbolizer = _Symbolizer(path, _open_images(path, arch, build_id, load_address), store, demangle)
    return [symbolizer.answer(address) for address in addresses]


# ---- places of reports

class Signatures(NamedTuple):
    """What Store.signatures found, in the memory layout of Arrow columns."""
    name_offsets: memoryview  # int32, one more than records: where each record's names begin
    names: bytes              # functions, innermost first, inlined calls too; a NUL is between two
    stacks: memoryview        # int64: a hash of all (build, offset) pairs
    kinds: memoryview         # uint8: 1 a stack, 0 unreadable, 2 something else: Store.symbolize_record reads it


class Store:
    """Where the symbols of builds are: a folder of indexes, and files that are used as they are.

    Builds stay open between calls. Threads may share a store, one at a time uses it. A child process after os.fork has
    the store, too.
    """

    def __init__(self, path: Optional[Path] = None, *, files: Iterable[Path] = (), demangle: str = 'full') -> None:
        if isinstance(files, (str, bytes, os.PathLike)):
            raise TypeError('files is a list of paths, not one')
        self.path = None if path is None else os.fsdecode(path)
        self._style = _c.style_of(demangle)
        self._rows = [row for file in files for row in self._rows_of(file)]
        self._open()
        _stores.add(self)

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Any] = [_c.c_string_or_null(self.path)]
        self._store = ffi.gc(ffi.new('struct uspy_store *'), lambda store: lib.uspy_text_clear(ffi.addressof(store, 'text')))
        self._store.folder = self._kept[0]
        self._add_files(self._rows)
        options = _c.options('usp_builds_options')
        options.demangling = self._style
        options.index_store = self._kept[0]
        options.find = ffi.addressof(lib, 'uspy_find_build')
        options.context = self._store
        self._builds = _c.made('usp_builds', lib.usp_builds_create, options, has_error=False)
        self._store.builds = self._builds

    def _after_fork(self) -> None:
        """In a child process: a call that another thread of the parent was in does not end here."""
        if self._lock.locked():
            _unfinished.append((self._store, self._builds, self._kept))
            self._open()

    def _rows_of(self, file: Path) -> Iterator[tuple[str, bytes]]:
        images = _open_images(file, None, None, None)
        return iter([(_c.text_of(image.path), _id_of(image)) for image in _c.images_of(images)])

    def _add_files(self, rows: list[tuple[str, bytes]]) -> None:
        files = ffi.new('struct uspy_file[]', len(rows))
        for entry, (path, build_id) in zip(files, rows):
            entry.path, entry.name = c_path, name = _c.c_string(path), _c.c_string(os.path.basename(path))
            entry.build_id_size = len(build_id)
            ffi.memmove(entry.build_id, build_id, len(build_id))
            self._kept += [c_path, name]
        self._kept.append(files)
        self._store.files, self._store.file_count = files, len(rows)

    def add(self, path: Path, *, arch: Optional[str] = None, build_id: Union[str, bytes, None] = None,
            threads: int = 0) -> list[dict[str, Any]]:
        """Makes the index of each image in a file and stores it in the folder. An intact, equally rich index is kept.

        Returns a dict for each image: arch, uuid or build_id, kept, and message (what was wrong with the file).
        """
        if self.path is None:
            raise ValueError('a store without a folder holds no indexes')
        images, added = _open_images(path, arch, build_id, None), []
        folder = _c.c_string(self.path)
        for image in _c.images_of(images):
            index = ffi.new('struct usp_index *')
            lib.usp_index_init(index, folder)
            index.threads, index.flags = _c.unsigned('threads', threads, 32), lib.USP_INDEX_KEEP
            _c.check(lib.usp_index_write(images, image, index), index.message, os.fsdecode(path))
            added.append({**_image_fields(image), 'kept': bool(index.is_kept), 'message': _c.text_of(index.message)})
        return added

    def __contains__(self, build_id: Union[str, bytes]) -> bool:
        """Whether the folder has an index of the build."""
        wanted, image = _c.build_id_of(build_id), ffi.new('struct usp_image *')
        return self.path is not None and lib.usp_index_image(_c.c_string(self.path), wanted, len(wanted), image) == lib.USP_OK

    def symbolize(self, build_id: Union[str, bytes], offsets: Iterable[int], *, exact: bool = False) -> list[list[dict[str, Any]]]:
        """The functions at offsets from where a build is loaded: for each a list, the innermost inlined call first.

        A function has the keys symbol, source_directory, source_file, source_line, source_column, as far as they are
        known. Without `exact`, offsets are those of return addresses. An unknown place has an empty list.
        """
        wanted, offsets = _c.build_id_of(build_id), list(offsets)
        places, answers = ffi.new('struct usp_place[]', len(offsets)), ffi.new('struct usp_answer[]', len(offsets))
        for place, offset in zip(places, offsets):
            place.offset, place.build_id_size = _c.unsigned('an offset', offset), len(wanted)
            place.flags = lib.USP_PLACE_EXACT if exact else 0
            ffi.memmove(place.build_id, wanted, len(wanted))
        with self._lock:
            try:
                _c.check(lib.usp_symbolize_places(self._builds, places, answers, len(offsets)))
                return [self._functions(answer) for answer in answers]
            finally:
                lib.usp_builds_trim(self._builds)

    @staticmethod
    def _functions(answer: Any) -> list[dict[str, Any]]:
        if answer.status != lib.USP_ERROR_NOT_FOUND:
            _c.check(answer.status)
        return [{**({'symbol': _c.text_of(frame.function)} if frame.function else {}), **_source_fields(frame)}
                for frame in ffi.unpack(answer.frames, answer.count)] if answer.count else []

    def _reader_options(self, flags: int) -> Any:
        options = _c.options('usp_reader_options')
        options.flags = flags
        options.find = ffi.addressof(lib, 'uspy_find_place')
        options.context = self._store
        return options

    def symbolize_record(self, record: Data) -> bytes:
        """A record (a JSON object, doc/schema/record.schema.json, or a report of another format in JSON) with names:
        JSON as doc/schema/record-answer.schema.json says."""
        text, error, store = _c.c_bytes(record), ffi.new('char[]', _c.ERROR_SIZE), self._store
        options = self._reader_options(lib.USP_READER_RECORD)
        options.write = ffi.addressof(lib, 'uspy_write')
        with self._lock:
            reader = _c.made('usp_reader', lib.usp_reader_create, options, has_error=False)
            try:
                store.text.size = 0
                _c.check(lib.usp_reader_write_whole(reader, text, len(text), error, _c.ERROR_SIZE), error)
                return bytes(ffi.buffer(store.text.bytes, store.text.size)) if store.text.size else b''
            finally:
                lib.usp_builds_trim(self._builds)

    def signatures(self, records: Data, offsets: Any, depth: int = 5) -> Signatures:
        """Symbolicates many records at once and gives what equal ones have in common: the innermost `depth` functions and
        a hash of the stack. records and offsets (int32) are the buffers of an Arrow column of binary values."""
        data, ends = (memoryview(buffer if memoryview(buffer).readonly else bytes(buffer)).cast('B')
                      for buffer in (_c.c_bytes(records) if isinstance(records, str) else records, offsets))
        ends = ends.cast('i')
        count = len(ends) - 1
        if count < 0:
            raise ValueError('offsets is empty')
        name_offsets, stacks, kinds = (bytearray(size * n) for size, n in ((4, count + 1), (8, count), (1, count)))
        asked = ffi.new('struct uspy_signatures *', {'size': len(data), 'count': count,
                                                    'depth': _c.unsigned('depth', depth, 32)})
        kept = [ffi.from_buffer(kind, buffer) for kind, buffer in (
            ('char[]', data), ('int32_t[]', ends), ('int32_t[]', name_offsets), ('int64_t[]', stacks), ('uint8_t[]', kinds))]
        asked.records, asked.offsets, asked.name_offsets, asked.stacks, asked.kinds = kept
        with self._lock:
            _c.check(lib.uspy_find_signatures(self._store, asked))
            text = self._store.text
            names = bytes(ffi.buffer(text.bytes, text.size)) if text.size else b''
        return Signatures(memoryview(name_offsets).cast('i'), names, memoryview(stacks).cast('q'), memoryview(kinds))


_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_unfinished: list[Any] = []  # of child processes: what a call of the parent's was using is never freed


def _after_fork() -> None:
    for store in list(_stores):
        store._after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _store_of(store: Union[Store, Path, None]) -> Optional[Store]:
    return store if store is None or isinstance(store, Store) else Store(store)


def _report(data: Data, store: Union[Store, Path, None], style: int, keep_names: bool, crashed: bool,
            thread: Optional[int], app: bool) -> bytes:
    text, error, wanted = _c.c_bytes(data), ffi.new('char[]', _c.ERROR_SIZE), _store_of(store)
    place, shown = ffi.new('struct usp_report **'), _c.options('usp_report_options')
    shown.style, shown.thread = style, _c.unsigned('thread', thread or 0)
    shown.flags = (crashed and lib.USP_REPORT_CRASHED) | (thread is not None and lib.USP_REPORT_THREAD) | \
        (app and lib.USP_REPORT_APP)
    if wanted is None:
        status = lib.usp_report_create(_c.options('usp_reader_options'), text, len(text), place, error, _c.ERROR_SIZE)
    else:
        options = wanted._reader_options(0 if keep_names else lib.USP_READER_NAMED)
        with wanted._lock:
            status = lib.usp_report_create(options, text, len(text), place, error, _c.ERROR_SIZE)
            lib.usp_builds_trim(wanted._builds)
    _c.check(status, error)
    report = ffi.gc(place[0], lib.usp_report_free)
    if error[0] != b'\0':
        warnings.warn(_c.text_of(error), stacklevel=3)
    missing = 'no thread crashed' if thread is None else f'no thread has the number or id {thread}'
    return _c.written(lambda write, context: lib.usp_report_write(report, shown, write, context), missing)


def report(data: Data, store: Union[Store, Path, None] = None, *, keep_names: bool = False, crashed: bool = False,
           thread: Optional[int] = None, app: bool = False) -> dict[str, Any]:
    """A crash report, log or profile of any format in doc/reports.md, as doc/schema/report.schema.json says.

    store: where the symbols are: a Store or a folder of indexes. keep_names: names in the text are not corrected.
    crashed, thread: only the threads that crashed, or those with this number or id. app: without the system's frames.
    Text that is cut off is read as far as it is whole, with a warning.
    """
    found: dict[str, Any] = json.loads(_report(data, store, lib.USP_REPORT_JSON, keep_names, crashed, thread, app))
    return found


def report_text(data: Data, store: Union[Store, Path, None] = None, *, keep_names: bool = False, crashed: bool = False,
                thread: Optional[int] = None, app: bool = False) -> str:
    """The same for people: header, exception, threads, images."""
    return _report(data, store, lib.USP_REPORT_TEXT, keep_names, crashed, thread, app).decode('utf-8', 'replace')
