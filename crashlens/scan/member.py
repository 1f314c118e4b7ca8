"""One file as a stream of decoded lines: what are its bytes, how are they packed, where do its lines end?

A line ends at LF, nothing else, so that `file:line` agrees with an editor and with grep. Everything here is bounded:
a line longer than `LONGEST_LINE` is cut, a stream longer than `MOST_DECODED` ends there, and both are said.
"""

import codecs
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NamedTuple

from crashlens.rules.matcher import Candidate
from crashlens.scan.packed import BLOCK, TooMuchMemoryError, damaged_errors, has_zstd, is_zstd, open_stream

HEAD = 64 * 1024
LONGEST_LINE = 1024 * 1024
LINE_END = 64 * 1024  # of an overlong line this much of its end is kept: errors are glued behind progress bars
MOST_DECODED = 16 * 1024**3  # no log that a person keeps is longer; a bomb is
MOST_RATIO = 2000  # decoded bytes per packed byte; gzip of one repeated byte reaches about 1030
RATIO_FREE = 64 * 1024**2  # up to here any ratio passes: small files may be all zeros
COUNTED_PLAIN = 4096  # bytes; in more than that numpy counts LF five times as fast
NUMPY_PAYS = 64 * 1024**2  # bytes of a source behind which numpy is loaded for that
MOST_LEADING_NUL = 1024**3  # a log rotated under a program that goes on writing starts with a hole of its old length


@dataclass(slots=True)
class LineMap:
    """Where the lines of a normalised block stand in the file.

    Attributes:
        first: Number of the first line of the file that each line was made of, from 1.
        last: Number of the last.
        raw_first: Number of the first line in `raw`.
        raw: The lines of the file that the block was made of.
        kept: What a line was made of, by its index, where that does not stand in `raw` alone.
        pieces: The parts of a line, by its index, that hard wrapping may have cut; such a line is only tried.
        said: What the envelope that was taken off says, from the line of the file, as `write_fields` writes it. It is
            asked for the lines that matter only.
    """

    first: Sequence[int]
    last: Sequence[int]
    raw_first: int
    raw: bytes
    kept: dict[int, bytes] = field(default_factory=dict[int, bytes])
    pieces: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    said: Callable[[bytes], bytes] | None = None
    _lines: list[bytes] | None = None

    def shown(self, index: int) -> bytes:
        """The lines of the file that line `index` was made of, as they stand there."""
        kept = self.kept.get(index)
        if kept is not None:
            return kept
        if self._lines is None:
            self._lines = self.raw.split(b"\n")
        first, last = self.first[index] - self.raw_first, self.last[index] - self.raw_first
        return self._lines[first] if first == last else b"\n".join(self._lines[first : last + 1])


class Searched(NamedTuple):
    """What a search found in a block: its data as they were searched, the candidates, the lines before each of them."""

    data: bytes
    candidates: list[Candidate]
    lines: list[int]


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines: UTF-8 bytes and the number of the first line in them.

    A normaliser sets `lines`: then the lines are not those of the file, and it says where they come from. `searched` is
    there where the block was searched already.
    """

    first_line: int
    data: bytes
    lines: LineMap | None = None
    searched: Searched | None = None


def count_lines(data: bytes, start: int = 0, end: int | None = None) -> int:
    """How many LF stand in `data`, or between two offsets of it."""
    end = len(data) if end is None else end
    numpy = sys.modules.get("numpy")
    if numpy is None or end - start < COUNTED_PLAIN:
        return data.count(b"\n", start, end)
    return int(numpy.count_nonzero(numpy.frombuffer(data, numpy.uint8, end - start, start) == ord("\n")))


_UNREAD_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"%PDF-": "a PDF",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file",
    b"\x89PNG": "an image",
}


@dataclass
class Member:
    """A file of the case while it is read.

    Attributes:
        path: Path as it is shown and stored, relative, with `/`.
        file: Where it lies on this machine.
        notices: What was wrong with it, one sentence each; grows while it is read.
        lines: Lines seen so far.
        sha256: Digest of the bytes on disk, once it was read to its end.
        complete: False once something was left out.
        size: Bytes on disk.
        packing: gzip, bzip2, xz, zstd, or "" for none.
        head_notices: What was wrong with the part that `head` decoded.
        leading_nul: NUL bytes before the first other byte, as `head` found them.
    """

    path: str
    file: Path
    notices: list[str] = field(default_factory=list[str])
    lines: int = 0
    sha256: str | None = None
    complete: bool = True
    size: int = 0
    packing: str = ""
    head_notices: list[str] = field(default_factory=list[str])
    leading_nul: int = 0

    def head(self) -> bytes:
        """The first 64 KiB after decompression, decoding and leading NUL bytes; empty where nothing can be decoded."""
        try:
            with self.file.open("rb") as raw:
                out = b""
                self.head_notices.clear()
                self.leading_nul = 0
                for piece in self._decoded(raw, _not_hashed, self.head_notices):
                    solid = piece if out else piece.lstrip(b"\x00")
                    self.leading_nul += len(piece) - len(solid)
                    out += solid
                    if len(out) >= HEAD or self.leading_nul > MOST_LEADING_NUL:
                        break
                return out[:HEAD]
        except OSError:
            return b""

    def unreadable_kind(self) -> str | None:
        """What the file is when it is none that can be read as text, such as "a PDF"; else None."""
        with self.file.open("rb") as raw:
            start = raw.read(8)
        if is_zstd(start) and not has_zstd():
            return "zstd compressed"
        return next((kind for magic, kind in _UNREAD_PACKED.items() if start.startswith(magic)), None)

    def digest(self) -> str:
        """SHA-256 of the bytes on disk, for a file whose lines are not read."""
        with self.file.open("rb") as raw:
            self.sha256 = hashlib.file_digest(raw, "sha256").hexdigest()
        return self.sha256

    def unpacked(self) -> Iterator[bytes]:
        """The bytes after decompression, not decoded; guarded like `blocks`, and cut where it cuts."""
        with self.file.open("rb") as raw:
            yield from self._unpacked(raw, _not_hashed, self.notices)

    def blocks(self) -> Iterator[Block]:
        """All lines in blocks of about 256 KiB; the last line may lack its LF. Sets `lines` and `sha256`."""
        digest = hashlib.sha256()
        self.lines = 0
        with self.file.open("rb") as raw:
            joiner, decoded = _Joiner(), 0
            for piece in self._decoded(raw, digest.update, self.notices):
                decoded += len(piece)
                if decoded > NUMPY_PAYS:
                    import_module("numpy")  # for count_lines
                whole, dropped = joiner.join(piece)
                if whole:
                    yield self._block(whole, dropped)
            last, dropped = joiner.close()
            if last:
                yield self._block(last, dropped)
            while chunk := raw.read(BLOCK):
                digest.update(chunk)
        self.sha256 = digest.hexdigest()

    def _block(self, data: bytes, dropped: int) -> Block:
        block = Block(self.lines + 1, data)
        if dropped:
            self.complete = False
            self.notices.append(
                f"Line {block.first_line} is longer than {LONGEST_LINE // 1024} KiB; {dropped:,} bytes in its middle "
                "were not searched."
            )
        self.lines += count_lines(data) + (0 if data.endswith(b"\n") else 1)
        return block

    def _decoded(self, raw: BinaryIO, hashed: Callable[[bytes], None], notices: list[str]) -> Iterator[bytes]:
        out = 0
        decode: codecs.IncrementalDecoder | None = None
        first = True
        for piece in self._unpacked(raw, hashed, notices):
            data = piece
            if first:
                first = False
                data, decode = _text_start(piece)
            if decode is not None:
                data = decode.decode(data).encode("utf-8", "surrogatepass")
            out += len(data)
            if out > MOST_DECODED:
                notices.append(f"Reading stopped after {MOST_DECODED // 1024**3} GiB; what follows was not searched.")
                self.complete = False
                return
            yield data

    def _unpacked(self, raw: BinaryIO, hashed: Callable[[bytes], None], notices: list[str]) -> Iterator[bytes]:
        first = raw.read(BLOCK)
        hashed(first)
        opened = open_stream(first)
        if opened is None:
            while first:
                yield first
                first = raw.read(BLOCK)
                hashed(first)
            return
        self.packing, stream = opened
        read, made, chunk = len(first), 0, first
        try:
            while chunk:
                for piece in stream.feed(chunk):
                    made += len(piece)
                    if made > RATIO_FREE and made > MOST_RATIO * read:
                        notices.append(
                            f"Reading stopped: {made:,} bytes came out of {read:,} packed bytes, which no log does."
                        )
                        self.complete = False
                        return
                    yield piece
                chunk = raw.read(BLOCK)
                hashed(chunk)
                read += len(chunk)
        except TooMuchMemoryError as error:
            notices.append(f"The {self.packing} stream needs {error} to be read; the lines before that were read.")
            self.complete = False
            return
        except damaged_errors() as error:
            notices.append(f"The {self.packing} stream is damaged ({error}); the lines before that were read.")
            self.complete = False
            return
        if stream.trailing:
            notices.append(f"Behind the {self.packing} stream stand bytes that are not packed; they were not searched.")
            self.complete = False
        if not stream.finished:
            notices.append(f"The {self.packing} stream ends early; the lines up to there were read.")
            self.complete = False


def _not_hashed(_piece: bytes) -> None:
    """The head of a file is read without its digest."""


def _text_start(piece: bytes) -> tuple[bytes, codecs.IncrementalDecoder | None]:
    if piece.startswith(codecs.BOM_UTF8):
        return piece[3:], None
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if piece.startswith(mark):
            return piece[2:], codecs.getincrementaldecoder(name)("replace")
    return piece, None


class _Joiner:
    """Joins pieces into whole lines; of an overlong line only the start and the end are kept."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._dropped = 0

    def join(self, piece: bytes) -> tuple[bytes, int]:
        """Whole lines that `piece` completes, and how many bytes of the first of them were dropped."""
        end = piece.rfind(b"\n") + 1
        if not end:
            self._keep(piece)
            return b"", 0
        first_end = piece.index(b"\n") + 1
        self._keep(piece[:first_end])
        whole, dropped = b"".join([self._head, self._tail, memoryview(piece)[first_end:end]]), self._dropped
        self._head, self._tail, self._dropped = piece[end:], b"", 0
        return whole, dropped

    def close(self) -> tuple[bytes, int]:
        """What is left when the stream ends without an LF."""
        return self._head + self._tail, self._dropped

    def _keep(self, piece: bytes) -> None:
        room = LONGEST_LINE - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > LINE_END:
            self._dropped += len(self._tail) - LINE_END
            self._tail = self._tail[-LINE_END:]
