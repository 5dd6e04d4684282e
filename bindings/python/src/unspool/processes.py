# SPDX-License-Identifier: MIT
"""Stacks of running processes and of cores, and samples of a process."""
from __future__ import annotations

import json
import time
from typing import Any, Literal, Optional, Union, overload

from . import _c
from ._c import Path, ffi, lib

FORMATS = {_c.text_of(lib.usp_profile_format_string(value)): value
           for value in ffi.typeof('enum usp_profile_format').elements}


def _options(timeout: float, max_frames: int, sysroot: Any = ffi.NULL, program: Any = ffi.NULL) -> Any:
    options = _c.options('usp_snapshot_options')
    options.timeout, options.max_frames = _c.nanoseconds('timeout', timeout), _c.unsigned('max_frames', max_frames, 32)
    options.sysroot, options.program = sysroot, program
    return options


def _stacks(snapshot: Any, lines: bool, store: Optional[Path], demangle: str) -> dict[str, Any]:
    """A snapshot as doc/schema/stacks.schema.json says."""
    wanted, folder = _c.options('usp_symbolizer_options'), _c.c_string_or_null(store)
    wanted.index_store = folder
    symbolizer = _c.made('usp_symbolizer', lib.usp_symbolizer_create_for_snapshot, snapshot, wanted, has_error=False)
    demangler, shown = _c.demangler(demangle), _c.options('usp_format_options')
    shown.style, shown.symbolizer, shown.demangler = lib.USP_FORMAT_JSON, symbolizer, demangler
    shown.flags = lib.USP_FORMAT_LINES if lines else 0
    found: dict[str, Any] = json.loads(
        _c.written(lambda write, context: lib.usp_format_snapshot(snapshot, shown, write, context)))
    return found


def snapshot(pid: Optional[int] = None, *, lines: bool = True, store: Optional[Path] = None, demangle: str = 'full',
             timeout: float = 0.1, max_frames: int = 512) -> dict[str, Any]:
    """The stacks of all threads of a process at one moment, as doc/schema/stacks.schema.json says.

    pid: None is this process, whose threads a helper process stops. lines: with source lines and inlined calls.
    timeout: for how many seconds threads may be stopped. store: a folder of indexes.
    """
    options = _options(timeout, max_frames)
    if pid is None:
        options.means = lib.USP_SNAPSHOT_BY_HELPER
        taken = _c.made('usp_snapshot', lib.usp_snapshot_create_self, options, has_error=False)
    else:
        taken = _c.made('usp_snapshot', lib.usp_snapshot_create_process, _c.process_id(pid), options)
    return _stacks(taken, lines, store, demangle)


def _mach_exception(info: Any) -> Optional[dict[str, Any]]:
    if info.mach_exception == 0:
        return None
    name = lib.usp_mach_exception_string(info.mach_exception)
    return {'number': info.mach_exception, 'name': _c.text_of(name) if name else None, 'code': info.mach_codes[0],
            'subcode': info.mach_codes[1]}


class Core:
    """A core file, or a raw capture of unspool (doc/raw-format.md). Any number of threads may use one."""

    def __init__(self, path: Path, *, sysroot: Optional[Path] = None, program: Optional[Path] = None,
                 max_frames: int = 512) -> None:
        name, root, file = _c.c_string(path), _c.c_string_or_null(sysroot), _c.c_string_or_null(program)
        options = _options(1, max_frames, root, file)
        try:
            self._snapshot = _c.made('usp_snapshot', lib.usp_snapshot_open_raw, name, options)
        except _c.Error as error:
            if error.status != lib.USP_ERROR_UNSUPPORTED:
                raise
            self._snapshot = _c.made('usp_snapshot', lib.usp_snapshot_open_core, name, options)

    @property
    def info(self) -> dict[str, Any]:
        """arch, pid, program, signal, crash, crashed_thread, fault_address, mach_exception, threads, missed, truncated.

        None: unknown. mach_exception, of crash reports of Apple systems, has number, name, code and subcode.
        """
        info = lib.usp_snapshot_get_info(self._snapshot)
        return {'arch': _c.text_of(lib.usp_arch_string(info.arch)), 'pid': info.pid or None,
                'program': _c.text_of(info.program) or None, 'signal': info.signal or None,
                'crash': _c.text_of(info.crash) or None if info.crash else None,
                'crashed_thread': info.crashed_thread or None,
                'fault_address': info.fault_address if info.flags & lib.USP_SNAPSHOT_FAULT else None,
                'mach_exception': _mach_exception(info), 'threads': info.thread_count, 'missed': info.missed,
                'truncated': bool(info.flags & lib.USP_SNAPSHOT_TRUNCATED)}

    @property
    def messages(self) -> list[str]:
        """Sentences about files and threads that were missing or refused."""
        found: list[str] = []
        while (text := lib.usp_snapshot_message(self._snapshot, len(found))) != ffi.NULL:
            found.append(_c.text_of(text))
        return found

    def stacks(self, *, lines: bool = True, store: Optional[Path] = None, demangle: str = 'full') -> dict[str, Any]:
        """The stacks of all threads, as doc/schema/stacks.schema.json says."""
        return _stacks(self._snapshot, lines, store, demangle)


@overload
def record(pid: int, seconds: float, *, format: Literal['json'] = 'json', rate: float = 100, lines: bool = True,
           store: Optional[Path] = None, demangle: str = 'full', max_frames: int = 256, memory: int = 64 << 20,
           budget: float = 5) -> dict[str, Any]: ...


@overload
def record(pid: int, seconds: float, *, format: Literal['tree', 'folded', 'pprof', 'speedscope', 'firefox', 'svg', 'otlp'],
           rate: float = 100, lines: bool = True, store: Optional[Path] = None, demangle: str = 'full',
           max_frames: int = 256, memory: int = 64 << 20, budget: float = 5) -> bytes: ...


def record(pid: int, seconds: float, *, format: str = 'json', rate: float = 100, lines: bool = True,
           store: Optional[Path] = None, demangle: str = 'full', max_frames: int = 256, memory: int = 64 << 20,
           budget: float = 5) -> Union[dict[str, Any], bytes]:
    """Samples all threads of a process for some seconds, or until it ends.

    Returns the profile: for the format json a dict as doc/schema/profile.schema.json says, for tree, folded, pprof,
    speedscope, firefox, svg and otlp bytes. rate: samples per second. memory: at most so many bytes of samples.
    budget: percent of a processor, and of each thread's time, that sampling may take; 0: any.
    """
    if format not in FORMATS:
        raise ValueError(f'format is one of {", ".join(sorted(FORMATS))}, not {format!r}')
    pid = _c.process_id(pid)
    if pid <= 0:
        raise ValueError(f'{pid} is not a process')
    if not rate > 0:
        raise ValueError(f'rate is samples per second, not {rate!r}')
    if not seconds > 0:
        raise ValueError(f'seconds is for how long samples are taken, not {seconds!r}')
    if not 0 <= budget <= 1e6:
        raise ValueError(f'budget is a number of percent, not {budget!r}')
    options = _c.options('usp_sampler_options')
    options.which, options.process, options.interval = lib.USP_SAMPLER_ALL, pid, int(min(1e9 / rate, 1e18))
    options.max_frames, options.memory = _c.unsigned('max_frames', max_frames, 32), _c.unsigned('memory', memory)
    options.budget_cpu = options.budget_stopped = int(budget * 10)
    sampler = _c.made('usp_sampler', lib.usp_sampler_create, options)
    _c.check(lib.usp_sampler_start(sampler))
    end, run = time.monotonic() + seconds, ffi.new('struct usp_profile_run *')
    while (left := end - time.monotonic()) > 0:
        lib.usp_sampler_get_run(sampler, run)
        if run.start and not lib.usp_sampler_is_alive(sampler):
            break
        time.sleep(min(left, 0.05))
    _c.check(lib.usp_sampler_stop(sampler))
    profile = _c.made('usp_profile', lib.usp_sampler_read, sampler, 0, (1 << 64) - 1, 0, has_error=False)
    written = _profile(profile, pid, format, lines, store, demangle)
    if format != 'json':
        return written
    found: dict[str, Any] = json.loads(written)
    return found


def _profile(profile: Any, pid: int, format: str, lines: bool, store: Optional[Path], demangle: str) -> bytes:
    images = _c.made('usp_images', lib.usp_images_create_profile, profile, has_error=False)
    names, folder = _c.options('usp_symbolizer_options'), _c.c_string_or_null(store)
    names.process, names.index_store = pid, folder
    symbolizer = _c.made('usp_symbolizer', lib.usp_symbolizer_create, images, names, has_error=False)
    demangler, shown = _c.demangler(demangle), _c.options('usp_profile_write_options')
    shown.format, shown.symbolizer, shown.images, shown.demangler = FORMATS[format], symbolizer, images, demangler
    shown.flags = lib.USP_PROFILE_LINES if lines else 0
    return _c.written(lambda write, context: lib.usp_profile_write(profile, shown, write, context))
