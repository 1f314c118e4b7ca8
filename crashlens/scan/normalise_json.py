"""Files with one JSON object per line: docker json-file, journal export as JSON, and the JSON of loggers and agents."""

import json
import re
from dataclasses import dataclass, field

from crashlens.scan.json_lines import MOST_LINES, line_of, parsed, whole_characters
from crashlens.scan.line_writer import MOST_PART_BYTES, LineWriter, Parts, as_they_are
from crashlens.scan.member import Block
from crashlens.scan.peeled import RS, US

MOST_CURSORS = 100_000  # of the journal records seen last, whose repeats are known

_STRING = rb'"((?:[^"\\\n]++|\\[^\n])*+)"'
_DOCKER = re.compile(rb'\{"log":' + _STRING + rb',"stream":"(stdout|stderr)","time":"([0-9T:.Z+-]{10,40})"\}\s{0,2}')
_DECODER = json.JSONDecoder(strict=False)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


def docker_share(lines: list[bytes]) -> float:
    """How many of `lines` are of the json-file log driver, as a share."""
    return sum(_DOCKER.fullmatch(line) is not None for line in lines) / len(lines)


def journal_share(lines: list[bytes]) -> float:
    """How many of `lines` are records of `journalctl -o json`, as a share."""
    return sum(
        line[:1] == b"{" and (b'"__REALTIME_TIMESTAMP"' in line or b'"MESSAGE":' in line) for line in lines
    ) / len(lines)


def line_share(lines: list[bytes]) -> float:
    """How many of `lines` are JSON objects that carry a log line, as a share."""
    if lines[0][:1] != b"{":
        return 0.0
    found = 0
    for line in lines:
        document = parsed(_text(line.strip())) if line[:1] == b"{" else None
        found += document is not None and line_of(document) is not None
    return found / len(lines)


@dataclass
class Docker:
    """The json-file driver of docker: `log` goes on over several objects until it ends in a line end."""

    head: list[bytes]
    open: dict[bytes, Parts] = field(default_factory=dict[bytes, Parts])
    unread: int = 0
    cut: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        match, add, waiting = _DOCKER.fullmatch, out.add, self.open
        for number, line in as_they_are(block):
            found = match(line)
            if found is None:
                self._other(line, number, out)
                continue
            body, stream, time = found.groups()
            ended = body[-2:] == rb"\n" and body[-3:-2] != b"\\"
            if ended:
                body = body[:-2]
            text = _unescaped(body) if b"\\" in body else body
            if not ended and text[-1:] == b"\n":
                ended, text = True, text[:-1]
            if stream in waiting or not ended:
                self._part(out, stream, _docker_prefix(stream, time), text, ended, (number, line))
            elif b"\n" in text:
                out.add_joined(_docker_prefix(stream, time), text, (number, number), line)
            else:
                add(b"\x1elayer=docker\x1fpart=" + stream + b"\x1fwhen=" + time + b"\x1e" + text, number)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        out = LineWriter(Block(1, b""))
        for parts in self.open.values():
            parts.write(out)
        self.open = {}
        return out.done()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return _notices(self.unread, "JSON object of the docker log driver", cut=self.cut)

    def _other(self, line: bytes, number: int, out: LineWriter) -> None:
        """A line of another shape: an object with more fields, or no object."""
        said = _line(line)
        if said is None:
            self.unread += bool(line.strip(b"\x00 \t\r"))
            out.add(line, number)
            return
        prefix, message = said
        _add_each(out, prefix, message, number)

    def _part(
        self, out: LineWriter, stream: bytes, prefix: bytes, text: bytes, ended: bool, place: tuple[int, bytes]
    ) -> None:
        parts = self.open.setdefault(stream, Parts(prefix, place[0], place[0], [], []))
        parts.add(text, *place)
        if ended or parts.is_full():
            self.cut += not ended
            parts.write(out)
            del self.open[stream]


@dataclass
class Documents:
    """One object per line, each a whole message; journal records that stand there twice are read once."""

    head: list[bytes]
    unread: int = 0
    empty: int = 0
    repeated: int = 0
    seen: dict[str, None] = field(default_factory=dict[str, None])

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        for number, line in as_they_are(block):
            self._line(line, number, out)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        return None

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        notices = _notices(self.unread, "JSON object with a message")
        if self.empty:
            notices.append(f"{self.empty:,} journal records have no message (it was too big, or none was kept).")
        if self.repeated:
            notices.append(f"{self.repeated:,} journal records stand there more than once; they were read once.")
        return notices

    def _line(self, line: bytes, number: int, out: LineWriter) -> None:
        document = parsed(_text(line.strip())) if b"{" in line[:3] else None
        if document is None:
            self.unread += bool(line.strip(b"\x00 \t\r"))
            out.add(line, number)
            return
        if self._is_repeated(document.get("__CURSOR")):
            self.repeated += 1
            return
        said = line_of(document)
        if said is None:
            self.empty += "__REALTIME_TIMESTAMP" in document or "MESSAGE" in document
            self.unread += not ("__REALTIME_TIMESTAMP" in document or "MESSAGE" in document)
            out.add(line, number)
            return
        prefix, message = said
        _add_each(out, prefix, message, number)

    def _is_repeated(self, cursor: object) -> bool:
        if not isinstance(cursor, str):
            return False
        key = cursor[:500]
        if key in self.seen:
            return True
        self.seen[key] = None
        if len(self.seen) > MOST_CURSORS:
            del self.seen[next(iter(self.seen))]
        return False


def _notices(unread: int, what: str, cut: int = 0) -> list[str]:
    notices = [f"{unread:,} lines are no {what}; they were read as they stand."] if unread else []
    if cut:
        notices.append(f"{cut:,} messages are longer than {MOST_PART_BYTES // 1024} KiB; they were read in pieces.")
    return notices


def _add_each(out: LineWriter, prefix: str, message: str, number: int) -> None:
    """The lines of one message; what exceeds the most that one may hold stays together in the last of them."""
    for piece in message.removesuffix("\n").split("\n", MOST_LINES - 1):
        out.add(_bytes(prefix + piece.replace("\n", "\r")), number)


def _line(line: bytes) -> tuple[str, str] | None:
    document = parsed(_text(line.strip())) if b"{" in line[:3] else None
    return None if document is None else line_of(document)


def _docker_prefix(stream: bytes, time: bytes) -> bytes:
    return b"\x1elayer=docker\x1fpart=" + stream + b"\x1fwhen=" + time + b"\x1e"


def _unescaped(body: bytes) -> bytes:
    """The bytes that a JSON string stands for; where it is none, what is no escape stays as it is."""
    text = _text(body)
    try:
        return _bytes(_DECODER.decode(f'"{text}"'))
    except ValueError:
        return _bytes(_ESCAPE.sub(_character, text))


def _character(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 16)) if code else _PLAIN.get(found[2], found[0])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    """UTF-8; bytes that were none are kept, halves of a character outside the first plane are joined or replaced."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return whole_characters(text).encode("utf-8")


assert (RS, US) == ("\x1e", "\x1f")  # noqa: S101 - the prefixes above are written out for speed
