"""The systemd journal with one field per line: `journalctl -o export`, `-o json-pretty` and `-o verbose`.

A record is collected from its lines and handed on as the line of its message. Source: systemd,
docs/JOURNAL_EXPORT_FORMATS.md and src/shared/logs-show.c.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from crashlens.scan.json_lines import line_of, parsed
from crashlens.scan.line_writer import LineWriter, as_they_are
from crashlens.scan.member import Block

MOST_FIELDS = 400  # lines of one journal record; more is no record
MOST_LINES = 70_000  # of one record in pretty JSON: one for each byte of a message that is no text
LONGEST_FIELD = 1024 * 1024  # bytes of a field that holds no text
LONGEST_MESSAGE = 64 * 1024  # bytes of a message over several lines

_FIELD = re.compile(rb"([A-Z_][A-Z0-9_]{0,63})=(.*)", re.DOTALL)
_NAME = re.compile(rb"[A-Z_][A-Z0-9_]{0,63}")
_SIZE = 8  # bytes of the length in front of a field that holds no text
_PRETTY = re.compile(rb'[{}]|\t"[A-Za-z_][\w.]{0,63}" ?:|\t\t(?:\d{1,3},?$|")|\t\],?$')
_CURSOR = re.compile(
    rb"\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [A-Z+-][A-Z\d:]{1,6} \[s=[0-9a-f]{1,32};"
    rb"(?:i=[0-9a-f]{1,16};)?(?:b=(?P<boot>[0-9a-f]{1,32});)?(?:m=(?P<uptime>[0-9a-f]{1,13});)?"
    rb"(?:t=(?P<time>[0-9a-f]{1,14});)?"
)
_INDENTED = re.compile(rb" {4}([A-Z_][A-Z0-9_]{0,63})=(.*)", re.DOTALL)


def export_share(lines: list[bytes]) -> float:
    """How many of `lines` are fields of `journalctl -o export`, as a share.

    Where it begins with a cursor, as it does when nothing was cut off, fields that hold no text may be most of it.
    """
    if not any(line.startswith(b"__REALTIME_TIMESTAMP=") for line in lines):
        return 0.0
    if lines[0].startswith(b"__CURSOR="):
        return 1.0
    return sum(_FIELD.fullmatch(line) is not None for line in lines) / len(lines)


def pretty_share(lines: list[bytes]) -> float:
    """How many of `lines` are of `journalctl -o json-pretty`, as a share."""
    if not any(line.lstrip().startswith(b'"__REALTIME_TIMESTAMP"') for line in lines):
        return 0.0
    return sum(_PRETTY.match(line) is not None for line in lines) / len(lines)


def verbose_share(lines: list[bytes]) -> float:
    """How many of `lines` are of `journalctl -o verbose`, as a share."""
    if not any(_CURSOR.match(line) for line in lines[:MOST_FIELDS]):
        return 0.0
    return sum(line.startswith(b"    ") or _CURSOR.match(line) is not None for line in lines) / len(lines)


@dataclass
class _Record:
    """The fields of one record so far, and where its message stands."""

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    lines: tuple[int, int] = (0, 0)
    raw: bytes = b""

    def write(self, out: LineWriter) -> bool:
        """Hand it on as the lines of its message; False where it has none."""
        said = line_of(self.fields) if self.fields else None
        if said is None or not self.lines[0]:
            return False
        message, envelope = (text.encode("utf-8", "replace") for text in (said[1], said[0]))
        out.add_joined(message.removesuffix(b"\n"), self.lines, self.raw, envelope)
        return True

    def rest(self) -> Block:
        """It as a block of its own, where the file ends behind it."""
        out = LineWriter(Block(1, b""))
        self.write(out)
        return out.done()


@dataclass
class Export:
    """`journalctl -o export`: a record is a run of `FIELD=value` lines up to an empty one.

    A field that holds no text, or line ends, is its name, eight bytes of length (little endian), and so many bytes.
    """

    head: list[bytes]
    record: _Record = field(default_factory=_Record)
    open: tuple[str, int, bytearray] | None = None
    unread: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        for number, line in as_they_are(block):
            found = _FIELD.fullmatch(line)
            if self.open is not None:
                self._more(line, number, out)
            elif found and len(self.record.fields) < MOST_FIELDS:
                self._field(found[1].decode(), found[2], (number, number), line)
            elif not line.strip():
                self.record.write(out)
                self.record = _Record()
            elif _NAME.fullmatch(line) and len(self.record.fields) < MOST_FIELDS:
                self.open = (line.decode(), number, bytearray())
            else:
                self.unread += 1
                out.add(line, number)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        return self.record.rest()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return [f"{self.unread:,} lines are no field of a journal record."] if self.unread else []

    def _field(self, name: str, value: bytes, lines: tuple[int, int], raw: bytes) -> None:
        self.record.fields[name] = value.decode("utf-8", "backslashreplace")
        if name == "MESSAGE":
            self.record.lines, self.record.raw = lines, raw

    def _more(self, line: bytes, number: int, out: LineWriter) -> None:
        """One more line of a field that holds no text."""
        if self.open is None:
            return
        name, first, data = self.open
        data += line + b"\n"
        size = int.from_bytes(data[:_SIZE], "little")
        if len(data) < _SIZE or (size <= LONGEST_FIELD and len(data) < _SIZE + size + 1):
            return
        self.open = None
        if len(data) != _SIZE + size + 1:  # it says another length than it has
            self.unread += 1
            out.add(line, number)
            return
        value = bytes(data[_SIZE : _SIZE + size])
        self._field(name, value, (first + 1, number), bytes(data[:-1]))


@dataclass
class Pretty:
    """`journalctl -o json-pretty`: a record is an object over many lines, from `{` to `}`."""

    head: list[bytes]
    lines: list[bytes] = field(default_factory=list[bytes])
    first: int = 0
    unread: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        for number, line in as_they_are(block):
            bare = line.rstrip(b"\r ,")
            if bare == b"{" or (self.lines and len(self.lines) >= MOST_LINES):
                self._give_up(out)
            if not self.lines and bare != b"{":
                self.unread += bool(line.strip(b"\x00 \t\r"))
                out.add(line, number)
                continue
            self.first = self.first if self.lines else number
            self.lines.append(line)
            if bare == b"}":
                self._record(out)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        out = LineWriter(Block(1, b""))
        self._give_up(out)
        return out.done()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return [f"{self.unread:,} lines are of no whole journal record."] if self.unread else []

    def _record(self, out: LineWriter) -> None:
        text = b"\n".join(self.lines).rstrip(b"\r ,")
        document = parsed(text.decode("utf-8", "backslashreplace"))
        begin = next((n for n, line in enumerate(self.lines) if line.lstrip().startswith(b'"MESSAGE"')), None)
        if document is not None and begin is not None:
            end = begin
            if self.lines[begin].rstrip(b"\r ").endswith(b"["):
                end = next((n for n in range(begin, len(self.lines)) if b"]" in self.lines[n]), begin)
            lines = (self.first + begin, self.first + end)
            record = _Record(document, lines, b"\n".join(self.lines[begin : end + 1]))
            if record.write(out):
                self.lines = []
                return
        self._give_up(out)

    def _give_up(self, out: LineWriter) -> None:
        """What is no record is handed on as it stands."""
        for number, line in enumerate(self.lines, self.first):
            self.unread += 1
            out.add_joined(line, (number, number), line)
        self.lines = []


@dataclass
class Verbose:
    """`journalctl -o verbose`: a line with time and cursor, then the fields of the record, each indented.

    The cursor holds the time too, in microseconds since 1970 and since boot: that one knows no zone.
    """

    head: list[bytes]
    record: _Record = field(default_factory=_Record)
    name: str = ""

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        for number, whole in as_they_are(block):
            line = whole.removesuffix(b"\r")
            cursor, found = _CURSOR.match(line), _INDENTED.fullmatch(line)
            if cursor:
                self.record.write(out)
                self.record = _Record(_of_cursor(cursor))
            elif found and self.record.fields and len(self.record.fields) < MOST_FIELDS:
                self.name = found[1].decode()
                self.record.fields.setdefault(self.name, found[2].decode("utf-8", "backslashreplace"))
                if self.name == "MESSAGE":
                    self.record.lines, self.record.raw = (number, number), line
            elif self._goes_on(line, number):
                self._more_of_the_message(line, number)
            else:
                out.add(line, number)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        return self.record.rest()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return []

    def _goes_on(self, line: bytes, number: int) -> bool:
        """Whether a line belongs to the message that stands right in front of it."""
        record = self.record
        near = "MESSAGE" in record.fields and record.lines[1] == number - 1
        return near and line.startswith(b"     ") and len(record.raw) < LONGEST_MESSAGE

    def _more_of_the_message(self, line: bytes, number: int) -> None:
        text = line[len("    MESSAGE=") :] if line[: len("    MESSAGE=")].isspace() else line.lstrip()
        self.record.fields["MESSAGE"] += "\n" + text.decode("utf-8", "backslashreplace")
        self.record.lines = (self.record.lines[0], number)
        self.record.raw += b"\n" + line


def _of_cursor(found: re.Match[bytes]) -> dict[str, Any]:
    """The fields that stand in the cursor of a verbose record, as an export names them."""
    fields: dict[str, Any] = {"_BOOT_ID": (found["boot"] or b"").decode()}
    for name, key in (("__REALTIME_TIMESTAMP", "time"), ("__MONOTONIC_TIMESTAMP", "uptime")):
        if found[key]:
            fields[name] = str(int(found[key], 16))
    return fields
