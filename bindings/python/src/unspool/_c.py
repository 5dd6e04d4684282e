# SPDX-License-Identifier: MIT
"""The library's calls as the other modules use them: errors, text, paths, options."""
from __future__ import annotations

import enum
import operator
import os
from typing import Any, Callable, Iterator, Optional, Union

from ._unspool import ffi as ffi, lib as lib

Path = Union[str, bytes, 'os.PathLike[str]', 'os.PathLike[bytes]']
Data = Union[str, bytes, bytearray, memoryview]

STYLES = {'no': lib.USP_DEMANGLE_NO, 'simple': lib.USP_DEMANGLE_SIMPLE, 'full': lib.USP_DEMANGLE_FULL,
          'short': lib.USP_DEMANGLE_SHORT}
ERROR_SIZE = 512


class Status(enum.IntEnum):
    """Why a call failed: the library's enum usp_status, without USP_ and USP_ERROR_."""

    __module__ = 'unspool'
    OK = lib.USP_OK
    ARGUMENT = lib.USP_ERROR_ARGUMENT
    UNREADABLE = lib.USP_ERROR_UNREADABLE
    ABSENT = lib.USP_ERROR_ABSENT
    NO_MEMORY = lib.USP_ERROR_NO_MEMORY
    UNSUPPORTED = lib.USP_ERROR_UNSUPPORTED
    NOT_PREPARED = lib.USP_ERROR_NOT_PREPARED
    NO_THREAD = lib.USP_ERROR_NO_THREAD
    TIMEOUT = lib.USP_ERROR_TIMEOUT
    PERMISSION = lib.USP_ERROR_PERMISSION
    SYSTEM = lib.USP_ERROR_SYSTEM
    FORMAT = lib.USP_ERROR_FORMAT
    TRUNCATED = lib.USP_ERROR_TRUNCATED
    MISMATCH = lib.USP_ERROR_MISMATCH
    NOT_FOUND = lib.USP_ERROR_NOT_FOUND
    BUSY = lib.USP_ERROR_BUSY
    FULL = lib.USP_ERROR_FULL
    STACK_FULL = lib.USP_ERROR_STACK_FULL


class Error(Exception):
    """A call of the library failed. The text is the library's sentence, `status` why."""

    __module__ = 'unspool'
    status: Status

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, status)
        self.status = Status(status)

    def __str__(self) -> str:
        return str(self.args[0])


def text_of(string: Any) -> str:
    """A C string. Bytes that are not UTF-8 become U+FFFD, as in the library's JSON."""
    return ffi.string(string).decode('utf-8', 'replace')


def check(status: int, error: Any = None, about: str = '') -> None:
    """Raises an error unless the status is a success."""
    if status >= 0:
        return
    if status == lib.USP_ERROR_NO_MEMORY:
        raise MemoryError
    message = text_of(error) if error is not None else ''
    if not message:
        message = (about and about + ': ') + text_of(lib.usp_status_string(status))
    raise Error(message, status)


def c_string(text: Path) -> Any:
    """A path or name as a C string, which lives as long as the result."""
    encoded = os.fsencode(text)
    if b'\0' in encoded:
        raise ValueError('embedded null byte')
    return ffi.new('char[]', encoded)


def c_string_or_null(text: Optional[Path]) -> Any:
    """The same for an argument that may be left out: NULL for None."""
    return ffi.NULL if text is None else c_string(text)


def c_bytes(data: Data) -> bytes:
    """Text or a buffer as bytes that no other thread can change during a call."""
    if isinstance(data, str):
        return data.encode('utf-8', 'surrogateescape')
    try:
        return bytes(memoryview(data))  # bytes(5) would be five zeros
    except TypeError:
        hint = ': pass what is in it, as read_bytes() returns it' if isinstance(data, os.PathLike) else ''
        raise TypeError(f'a text or bytes are expected, not {type(data).__name__!r}{hint}') from None


def unsigned(name: str, value: Any, bits: int = 64) -> int:
    """An integer that C's type has room for."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise ValueError(f'{name} is an integer from 0 to 2^{bits} - 1, not {value}')
    return number


def process_id(pid: Any) -> int:
    """A number that C's type has room for; the library says which numbers are processes."""
    number = operator.index(pid)
    if not -1 << 63 <= number < 1 << 63:
        raise ValueError(f'{pid} is not a process id')
    return number


def nanoseconds(name: str, seconds: float) -> int:
    """A duration. A century is the longest."""
    if not 0 <= seconds <= 3.2e9:
        raise ValueError(f'{name} is a number of seconds, not {seconds}')
    return int(seconds * 1e9)


def style_of(name: str) -> int:
    if name not in STYLES:
        raise ValueError(f'demangle is one of {", ".join(STYLES)}, not {name!r}')
    return STYLES[name]


def build_id_of(build_id: Union[str, bytes]) -> bytes:
    """A build id or UUID, in hexadecimal with or without dashes, or as bytes."""
    try:
        found = bytes.fromhex(build_id.replace('-', '')) if isinstance(build_id, str) else c_bytes(build_id)
    except ValueError:
        raise ValueError(f'{build_id!r} is not a build id: it has other characters than hexadecimal digits') from None
    if not 0 < len(found) <= lib.USP_BUILD_ID_MAX:
        raise ValueError(f'a build id has 1 to {lib.USP_BUILD_ID_MAX} bytes, not {len(found)}')
    return found


def options(kind: str) -> Any:
    """A struct of options with the defaults."""
    made = ffi.new(f'struct {kind} *')
    getattr(lib, kind + '_init')(made)
    return made


def made(kind: str, create: Callable[..., int], *arguments: Any, about: str = '', has_error: bool = True) -> Any:
    """An object that `create` makes through its parameter after `arguments`, freed when nothing refers to it. The
    arguments live longer, since the object may use them."""
    free = getattr(lib, kind + '_free')
    place, error = ffi.new(f'struct {kind} **'), ffi.new('char[]', ERROR_SIZE)
    more = (error, ERROR_SIZE) if has_error else ()
    check(create(*arguments, place, *more), error, about)
    return ffi.gc(place[0], lambda pointer, kept=arguments: free(pointer))


def written(write: Callable[[Any, Any], int], missing: str = '') -> bytes:
    """What the library writes: `write` gets a function and its context. missing: the sentence if nothing is found."""
    text = ffi.gc(ffi.new('struct uspy_text *'), lib.uspy_text_clear)
    status = write(ffi.addressof(lib, 'uspy_write'), text)
    if status == lib.USP_ERROR_NOT_FOUND and missing:
        raise Error(missing, status)
    check(status)
    return bytes(ffi.buffer(text.bytes, text.size)) if text.size else b''


def demangler(style: str) -> Any:
    return made('usp_demangler', lib.usp_demangler_create, style_of(style), has_error=False)


def images_of(images: Any) -> Iterator[Any]:
    return (lib.usp_images_get(images, i) for i in range(lib.usp_images_count(images)))
