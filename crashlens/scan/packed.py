"""Packed bytes to plain ones: gzip, bzip2, xz and zstd, in pieces of bounded size whatever the input claims.

gzip goes through isal where it is installed (three times as fast as zlib), zstd through the standard library of Python
3.14 or its backport. What a stream holds is not trusted: no call returns more than `BLOCK` bytes, and a zstd frame that
asks for a larger window than the command `zstd` grants is refused.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

BLOCK = 256 * 1024
ZSTD_WINDOW_LOG = 27  # 128 MiB, as the command grants without --memory
_GZIP, _ZSTD, _SKIPPED = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"


class TooMuchMemoryError(ValueError):
    """A stream asks for more memory than is granted; the text says how much."""


class Stream(Protocol):
    """Undoes one kind of packing, piece by piece.

    Attributes:
        finished: Whether what was fed so far is a whole stream.
        trailing: Whether bytes that are not packed stand behind it.
    """

    finished: bool
    trailing: bool

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What comes out of the next bytes, at most `BLOCK` bytes at a time."""
        ...


class _Zlib:
    """gzip, concatenated members included; at most BLOCK bytes come out at a time."""

    def __init__(self) -> None:
        self._inner = _gzip_member()
        self._ended = b""  # the start of what may be another member, once one has ended
        self.finished = False
        self.trailing = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.finished:
            data = self._next_member(data)
        while data:
            out = self._inner.decompress(data, BLOCK)
            if out:
                yield out
            self.finished = self._inner.eof
            data = self._inner.unconsumed_tail
            if self.finished:
                data = self._next_member(self._inner.unused_data)

    def _next_member(self, data: bytes) -> bytes:
        """What of `data` belongs to a further member. Behind the last one tape tools leave NUL bytes."""
        data = b"" if self.trailing else self._ended + data
        self._ended = b""
        if data.startswith(_GZIP):
            self._inner = _gzip_member()
            self.finished = False
            return data
        if data == b"\x1f":
            self._ended = data
        elif data.strip(b"\x00"):
            self.trailing = True
        return b""


class _Incremental:
    """bzip2 and xz, concatenated streams included."""

    def __init__(self, make: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> None:
        self._make = make
        self._inner = make()
        self.finished = False
        self.trailing = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.finished:
            data = data.lstrip(b"\x00")
            if not data:
                return
            self._inner = self._make()
            self.finished = False
        while True:
            out = self._inner.decompress(data, max_length=BLOCK)
            if out:
                yield out
            self.finished = self._inner.eof
            if self._inner.eof:
                data = self._inner.unused_data.lstrip(b"\x00")
                if not data:
                    return
                self._inner = self._make()
                self.finished = False
            elif self._inner.needs_input:
                return
            else:
                data = b""


class _Zstd:
    """zstd, concatenated and skippable frames included."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._inner = self._new()
        self._ended: bytes = b""  # the start of what may be another frame, once one has ended
        self.finished = False
        self.trailing = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.finished:
            data = self._next_frame(data)
            if self.finished:
                return
        while True:
            try:
                out = self._inner.decompress(data, BLOCK)
            except self._library.ZstdError as error:
                if "too much memory" in str(error):
                    raise TooMuchMemoryError(f"more than {2**ZSTD_WINDOW_LOG // 1024**2} MiB of memory") from None
                raise
            if out:
                yield out
            self.finished = self._inner.eof
            data = b""
            if self.finished:
                data = self._next_frame(self._inner.unused_data)
                if self.finished:
                    return
            elif self._inner.needs_input:
                return

    def _next_frame(self, data: bytes) -> bytes:
        data = b"" if self.trailing else self._ended + data
        self._ended = b""
        if is_zstd(data):
            self._inner = self._new()
            self.finished = False
            return data
        if len(data) < len(_ZSTD) and data.strip(b"\x00"):
            self._ended = data
        elif data.strip(b"\x00"):
            self.trailing = True
        return b""

    def _new(self) -> Any:
        return self._library.ZstdDecompressor(
            options={self._library.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}
        )


_PACKED: tuple[tuple[bytes, str, Callable[[], Stream]], ...] = (
    (_GZIP, "gzip", _Zlib),
    (b"BZh", "bzip2", lambda: _Incremental(bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\x00", "xz", lambda: _Incremental(lzma.LZMADecompressor)),
)


def open_stream(first: bytes) -> tuple[str, Stream] | None:
    """The name of the packing of a file that starts with `first`, and what undoes it; None where it is not packed."""
    library = _zstd() if is_zstd(first) else None
    if library is not None:
        return "zstd", _Zstd(library)
    return next(((name, make()) for magic, name, make in _PACKED if first.startswith(magic)), None)


def is_zstd(start: bytes) -> bool:
    """Whether a zstd frame starts here; parallel packers write a skippable one first."""
    return start.startswith(_ZSTD) or (start[1:4] == _SKIPPED and start[0] >> 4 == 5)


def has_zstd() -> bool:
    """Whether zstd can be read here."""
    return _zstd() is not None


def damaged_errors() -> tuple[type[Exception], ...]:
    """What the libraries raise for a stream that is damaged."""
    isal, zstd = _library("isal.isal_zlib"), _zstd()
    known = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)
    return (*known, *([isal.error] if isal else []), *([zstd.ZstdError] if zstd else []))


def _gzip_member() -> Any:
    return (_library("isal.isal_zlib") or zlib).decompressobj(31)


def _zstd() -> ModuleType | None:
    return _library("compression.zstd") or _library("backports.zstd")


@lru_cache
def _library(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None
