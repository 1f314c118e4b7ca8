"""Archives to members: which files does a tar or zip hold, and which of them are not taken out, and why?

Nothing is written under a name of the archive: each member goes to a temporary file that is gone once it was read. So
names that lead out of the archive can do no harm, and are still refused and said, as are links, devices, archives in
archives, and what would grow beyond the caps.
"""

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Literal, Protocol, cast

from crashlens.scan.member import RATIO_FREE, Member

MOST_MEMBERS = 20_000
MOST_MEMBER_BYTES = 4 * 1024**3
MOST_ARCHIVE_BYTES = 16 * 1024**3
# Bytes out of one packed byte, beyond RATIO_FREE. Below that of a gzip file alone: bundles come from others, deflate
# ends at about 1030, and of the logs of the reference data none reaches 20.
MOST_RATIO = 500
INSIDE = "!"  # stands between the path of an archive and the name of its member
_CHUNK = 256 * 1024
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, ValueError)

ArchiveKind = Literal["tar", "zip"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that is not read, and why; `state` is `not_read` for what was wanted and could not be read."""

    path: str
    why: str
    state: Literal["skipped", "not_read"] = "skipped"


def archive_kind(member: Member) -> ArchiveKind | None:
    """What kind of archive `member` is, by its content: a zip, a tar (packed or not), or None."""
    try:
        with member.file.open("rb") as raw:
            if raw.read(4) in _ZIP:
                return "zip"
        start = b""
        for piece in Member(member.path, member.file).unpacked():
            start += piece
            if len(start) >= 512:
                break
    except OSError:
        return None
    return "tar" if start[257:262] == b"ustar" else None


def archive_members(member: Member, kind: ArchiveKind) -> Iterator[Member | LeftOut]:
    """Every regular file of an archive, as a member named `archive!name`; what is refused comes as `LeftOut`.

    A member lies in a temporary file until the next one is asked for.
    """
    with TemporaryDirectory(prefix="crashlens-") as folder:
        room = _Room(member, Path(folder) / "member")
        try:
            yield from room.tar() if kind == "tar" else room.zip()
        except _DAMAGED as error:
            behind = f" behind {room.last}" if room.last else ""
            why = f"the archive is damaged{behind} ({error}); what stands before that was read"
            yield LeftOut(member.path, why, "skipped" if room.last else "not_read")
        except OSError as error:
            yield LeftOut(member.path, f"the archive cannot be unpacked further ({error.strerror or error})")
        for notice in member.notices:
            yield LeftOut(member.path, notice[:1].lower() + notice[1:].rstrip("."))


class _Source(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _Pieces:
    """Pieces of bytes as a file that can only be read on.

    Attributes:
        last_solid: Where the last byte that is not NUL stood, among the bytes taken so far.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")
        self._taken = 0
        self.last_solid = -1

    def read(self, size: int) -> bytes:
        """At most `size` bytes, fewer only at the end."""
        out: list[memoryview] = []
        while size > 0 and (self._piece or self._next()):
            out.append(self._piece[:size])
            self._piece = self._piece[size:]
            size -= len(out[-1])
        return b"".join(out)

    def drain(self) -> None:
        """Take all that is left."""
        while self._next():
            pass

    def _next(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        solid = len(piece.rstrip(b"\x00"))
        if solid:
            self.last_solid = self._taken + solid - 1
        self._taken += len(piece)
        self._piece = memoryview(piece)
        return True


class _Room:
    """One archive while it is unpacked: what was taken out so far, and the caps."""

    def __init__(self, archive: Member, file: Path) -> None:
        self._archive = archive
        self._file = file
        self._bytes = 0
        self._names: set[str] = set()
        self.last = ""

    def tar(self) -> Iterator[Member | LeftOut]:
        stream = _Pieces(self._archive.unpacked())
        with tarfile.open(mode="r|", fileobj=cast("IO[bytes]", stream)) as archive:
            for info in archive:
                if info.isdir():
                    continue
                why = None if info.isreg() else _not_regular(info)
                source = None if why else archive.extractfile(info)
                yield from self._take(info.name, info.size, why, source)
                if self._full():
                    yield LeftOut(self._archive.path, self._full())
                    return
            stream.drain()
            if stream.last_solid >= archive.offset:  # tarfile ends at a header that it cannot read, and says nothing
                raise tarfile.ReadError("a header that cannot be read")

    def zip(self) -> Iterator[Member | LeftOut]:
        with zipfile.ZipFile(self._archive.file) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.filename):
                if info.is_dir():
                    continue
                why = _refused_zip(info)
                if why:
                    yield from self._take(info.filename, info.file_size, why, None)
                else:
                    with archive.open(info) as source:
                        yield from self._take(info.filename, info.file_size, None, source)
                if self._full():
                    yield LeftOut(self._archive.path, self._full())
                    return

    def _full(self) -> str:
        if len(self._names) >= MOST_MEMBERS:
            return f"more than {MOST_MEMBERS:,} members; the rest was not read"
        if self._bytes >= MOST_ARCHIVE_BYTES:
            return f"more than {MOST_ARCHIVE_BYTES // 1024**3} GiB came out of it; the rest was not read"
        return ""

    def _take(self, name: str, size: int, why: str | None, source: _Source | None) -> Iterator[Member | LeftOut]:
        shown = f"{self._archive.path}{INSIDE}{_printable(name)}"
        self.last = _printable(name)
        why = why or _bad_name(name)
        if why is None and shown in self._names:
            why = "a second member of this name"
        if why is None and size > MOST_MEMBER_BYTES:
            why = f"it would unpack to more than {MOST_MEMBER_BYTES // 1024**3} GiB"
        self._names.add(shown)
        if why is not None or source is None:
            yield LeftOut(shown, why or "it holds no bytes")
            return
        member = Member(shown, self._file)
        problem = self._write(source, member)
        member.size = self._file.stat().st_size
        if archive_kind(member) is not None:
            yield LeftOut(shown, "an archive inside an archive")
        else:
            yield member
        if problem is not None:
            raise problem

    def _write(self, source: _Source, member: Member) -> Exception | None:
        """Copy one member out. What makes it end early is said on it; a damaged archive is given back, to be raised."""
        made = 0
        most = max(RATIO_FREE, MOST_RATIO * self._archive.size)
        with self._file.open("wb") as out:
            try:
                while chunk := source.read(_CHUNK):
                    made += len(chunk)
                    self._bytes += len(chunk)
                    if made > MOST_MEMBER_BYTES or made > most:
                        member.complete = False
                        member.notices.append(f"Unpacking stopped after {made:,} bytes: no log packs that well.")
                        return None
                    out.write(chunk)
            except _DAMAGED as error:
                member.complete = False
                member.notices.append(f"The archive is damaged inside it ({error}); what stands before that was read.")
                return error
        return None


def _printable(name: str) -> str:
    shown = PurePosixPath(name.replace("\\", "/")).as_posix()
    return os.fsencode(shown).decode("utf-8", "backslashreplace")


def _bad_name(name: str) -> str | None:
    plain = name.replace("\\", "/")
    if plain.startswith("/") or ".." in PurePosixPath(plain).parts or plain[1:2] == ":":
        return "its name leads out of the archive"
    return None


def _not_regular(info: tarfile.TarInfo) -> str:
    return "a link inside an archive" if info.issym() or info.islnk() else "not a regular file"


def _refused_zip(info: zipfile.ZipInfo) -> str | None:
    if info.flag_bits & 0x1:
        return "it is encrypted"
    mode = info.external_attr >> 16
    if mode and stat.S_ISLNK(mode):
        return "a link inside an archive"
    if info.file_size > RATIO_FREE and info.file_size > MOST_RATIO * max(1, info.compress_size):
        return f"{info.file_size:,} bytes out of {info.compress_size:,} packed ones, which no log does"
    return None
