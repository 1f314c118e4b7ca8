"""Files with one JSON object per line: docker json-file, journal export as JSON, and the JSON of loggers and agents."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from crashlens.scan.json_lines import envelope_of, line_of, message_of, parsed, whole_characters
from crashlens.scan.line_writer import MOST_PART_BYTES, LineWriter, Parts, as_they_are
from crashlens.scan.member import Block, LineMap

MOST_CURSORS = 100_000  # of the journal records seen last, whose repeats are known

_STRING = rb'"((?:[^"\\\n]++|\\[^\n])*+)"'
_DOCKER = re.compile(rb'\{"log":' + _STRING + rb',"stream":"(stdout|stderr)","time":"([0-9T:.Z+-]{10,40})"\}\s{0,2}')
# Entries that end in a line end, all at once; blocks with others are taken line by line.
_WHOLE = re.compile(
    rb'(?m)^\{"log":"((?:[^"\\\n]++|\\(?!n","stream)[^\n])*+)\\n'
    rb'","stream":"(?:stdout|stderr)","time":"[0-9T:.Z+-]{10,40}"\}[ \r]{0,2}$'
)
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
        data = None if self.open else _all_whole(block.data)
        if data is not None:
            numbers = range(block.first_line, block.first_line + data.count(b"\n") + 1)
            where = LineMap(numbers, numbers, block.first_line, block.data, said=_docker_said)
            return Block(block.first_line, data, where)
        out = LineWriter(block, said=_docker_said)
        for number, line in as_they_are(block):
            found = _DOCKER.fullmatch(line)
            if found is None:
                self._other(line, number, out)
            else:
                self._entry(found, number, out)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        out = LineWriter(Block(1, b""), said=_docker_said)
        for parts in self.open.values():
            parts.write(out)
        self.open = {}
        return out.done()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return _notices(self.unread, "JSON object of the docker log driver", cut=self.cut)

    def _other(self, line: bytes, number: int, out: LineWriter) -> None:
        """A line of another shape: an object with more fields, or no object."""
        document = _document(line)
        message = None if document is None else message_of(document)
        if message is None:
            self.unread += bool(line.strip(b"\x00 \t\r"))
            out.add(line, number)
        else:
            out.add_joined(_bytes(message.removesuffix("\n")), (number, number), line)

    def _entry(self, found: re.Match[bytes], number: int, out: LineWriter) -> None:
        body, stream, _ = found.groups()
        ended = body[-2:] == rb"\n" and body[-3:-2] != b"\\"
        if ended:
            body = body[:-2]
        text = _unescaped(body) if b"\\" in body else body
        if not ended and text[-1:] == b"\n":
            ended, text = True, text[:-1]
        parts = self.open.get(stream)
        if parts is None and ended and b"\n" not in text:
            out.add(text, number)
            return
        parts = parts or self.open.setdefault(stream, Parts(b"", number, number, [], []))
        parts.add(text, number, found.string)
        if ended or parts.is_full():
            self.cut += not ended
            self.open.pop(stream).write(out)


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
        out = LineWriter(block, said=_said)
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
        document = _document(line)
        if document is None:
            self.unread += bool(line.strip(b"\x00 \t\r"))
            out.add(line, number)
            return
        if self._is_repeated(document.get("__CURSOR")):
            self.repeated += 1
            return
        message = message_of(document)
        if message is None:
            journal = "__REALTIME_TIMESTAMP" in document or "MESSAGE" in document
            self.empty += journal
            self.unread += not journal
            out.add(line, number)
        elif "\n" in message:
            out.add_joined(_bytes(message.removesuffix("\n")), (number, number), line)
        else:
            out.add(_bytes(message), number)

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


def _all_whole(data: bytes) -> bytes | None:
    """The messages of a block in which every entry is one; None where one is not, or holds line ends."""
    messages, whole = _WHOLE.subn(rb"\1", data)
    ends = data.count(b"\n")
    if whole != ends + (not data.endswith(b"\n")):
        return None
    if b"\\" not in messages:
        return messages
    try:
        decoded = _bytes(_DECODER.decode(f'"{_text(messages)}"'))  # no message holds a quotation mark by itself
    except ValueError:
        return None
    return decoded if decoded.count(b"\n") == ends else None


def _notices(unread: int, what: str, cut: int = 0) -> list[str]:
    notices = [f"{unread:,} lines are no {what}; they were read as they stand."] if unread else []
    if cut:
        notices.append(f"{cut:,} messages are longer than {MOST_PART_BYTES // 1024} KiB; they were read in pieces.")
    return notices


def _document(line: bytes) -> dict[str, Any] | None:
    return parsed(_text(line.strip())) if b"{" in line[:3] else None


def _said(line: bytes) -> bytes:
    document = _document(line)
    return b"" if document is None else _bytes(envelope_of(document))


def _docker_said(line: bytes) -> bytes:
    found = _DOCKER.fullmatch(line)
    if found is None:
        return _said(line)
    return b"\x1elayer=docker\x1fpart=" + found[2] + b"\x1fwhen=" + found[3] + b"\x1e"


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
