"""Files with one JSON object per line: docker json-file, journal export as JSON, and the JSON of loggers and agents."""

import json
import re
from dataclasses import dataclass, field

from crashlens.scan.json_lines import MOST_LINES, line_of, parsed, whole_characters
from crashlens.scan.line_writer import MOST_PART_BYTES, LineWriter, Parts, as_they_are
from crashlens.scan.member import Block, LineMap
from crashlens.scan.peeled import RS, US

MOST_CURSORS = 100_000  # of the journal records seen last, whose repeats are known

_STRING = rb'"((?:[^"\\\n]++|\\[^\n])*+)"'
_DOCKER = re.compile(rb'\{"log":' + _STRING + rb',"stream":"(stdout|stderr)","time":"([0-9T:.Z+-]{10,40})"\}\s{0,2}')
# Entries without an escape but the line end, all at once; what is left is taken one by one.
_WHOLE = re.compile(
    rb'(?m)^\{"log":"([^"\\\n]*+)\\n","stream":"(stdout|stderr)","time":"([0-9T:.Z+-]{10,40})"\}[ \r]{0,2}$'
)
_WRITTEN = b"\x1elayer=docker\x1fpart=\\2\x1fwhen=\\3\x1e\\1"
_JOURNAL = re.compile(rb'"(\w{1,64})":"((?:[^"\\\n]++|\\[^\n])*+)"')
_JOURNAL_FIELDS = (
    b"__REALTIME_TIMESTAMP", b"_SOURCE_MONOTONIC_TIMESTAMP", b"__MONOTONIC_TIMESTAMP", b"_BOOT_ID", b"_HOSTNAME",
    b"_PID", b"SYSLOG_PID", b"SYSLOG_IDENTIFIER", b"_COMM", b"_TRANSPORT", b"__CURSOR",
)  # fmt: skip
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
        data, whole = _WHOLE.subn(_WRITTEN, block.data)
        count = data.count(b"\n") + (not data.endswith(b"\n"))
        if whole == count and not self.open:
            numbers = range(block.first_line, block.first_line + count)
            return Block(block.first_line, data, LineMap(numbers, numbers, block.first_line, block.data))
        out = LineWriter(block)
        add, waiting = out.add, self.open
        for (number, line), done in zip(as_they_are(block), data.split(b"\n"), strict=False):
            if done[:1] == b"\x1e" and not waiting:
                add(done, number)
                continue
            found = _DOCKER.fullmatch(line)
            if found is None:
                self._other(line, number, out)
            else:
                self._entry(found, number, out)
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

    def _entry(self, found: re.Match[bytes], number: int, out: LineWriter) -> None:
        body, stream, time = found.groups()
        ended = body[-2:] == rb"\n" and body[-3:-2] != b"\\"
        if ended:
            body = body[:-2]
        text = _unescaped(body) if b"\\" in body else body
        if not ended and text[-1:] == b"\n":
            ended, text = True, text[:-1]
        prefix = b"\x1elayer=docker\x1fpart=" + stream + b"\x1fwhen=" + time + b"\x1e"
        parts = self.open.get(stream)
        if parts is None and ended and b"\n" not in text:
            out.add(prefix + text, number)
            return
        parts = parts or self.open.setdefault(stream, Parts(prefix, number, number, [], []))
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
        document = _journal_record(line) or (parsed(_text(line.strip())) if b"{" in line[:3] else None)
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


def _journal_record(line: bytes) -> dict[str, str] | None:
    """The fields of a journal record that are read, without parsing the others; None where it is not that simple.

    Inside a string every quotation mark has a backslash before it, so `"NAME":"` stands at a field of the record only.
    """
    if line[:2] != b'{"' or line[-1:] != b"}" or b'"__REALTIME_TIMESTAMP":"' not in line or b":{" in line:
        return None
    at = line.find(b'"MESSAGE":"')
    message = _JOURNAL.match(line, at) if at >= 0 else None
    if message is None:
        return None
    record = {"MESSAGE": _text(_unescaped(message[2]) if b"\\" in message[2] else message[2])}
    for name in _JOURNAL_FIELDS:
        start = line.find(b'"' + name + b'":"')
        if start < 0:
            continue
        start += len(name) + 4
        value = line[start : line.find(b'"', start)]
        if b"\\" in value:
            return None
        record[name.decode()] = _text(value)
    return record


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
