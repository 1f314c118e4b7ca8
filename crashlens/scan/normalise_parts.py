"""Container logs whose long lines come in parts (CRI), and the export format of the journal (one field per line)."""

import re
from dataclasses import dataclass, field

from crashlens.scan.json_lines import line_of
from crashlens.scan.line_writer import MOST_PART_BYTES, LineWriter, Parts, as_they_are
from crashlens.scan.member import Block

MOST_FIELDS = 400  # lines of one journal record; more is no record

_CRI = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) )([FP])(?::[\w:]{1,20})? (.*)",
    re.DOTALL,
)
_FIELD = re.compile(rb"([A-Z_][A-Z0-9_]{0,63})=(.*)", re.DOTALL)
_PART = (b" stdout P ", b" stderr P ", b" stdout P:", b" stderr P:")


def cri_share(lines: list[bytes]) -> float:
    """How many of `lines` are of a container runtime, as a share."""
    return sum(_CRI.fullmatch(line) is not None for line in lines) / len(lines)


def export_share(lines: list[bytes]) -> float:
    """How many of `lines` are fields of `journalctl -o export`, as a share."""
    if not any(line.startswith(b"__REALTIME_TIMESTAMP=") for line in lines):
        return 0.0
    return sum(_FIELD.fullmatch(line) is not None for line in lines) / len(lines)


@dataclass
class Cri:
    """The log of a container runtime: parts `P` go on until `F`, per stream. Blocks without parts pass untouched."""

    head: list[bytes]
    open: dict[bytes, Parts] = field(default_factory=dict[bytes, Parts])
    unread: int = 0
    cut: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        if not self.open and not any(mark in block.data for mark in _PART):
            return block
        out = LineWriter(block)
        for number, line in as_they_are(block):
            found = _CRI.fullmatch(line.removesuffix(b"\r"))
            if found is None:
                out.add(line, number)
                continue
            prefix, stream, tag, text = found.groups()
            if stream not in self.open and tag == b"F":
                out.add(line, number)
                continue
            parts = self.open.setdefault(stream, Parts(prefix + b"F ", number, number, [], []))
            parts.add(text, number, line)
            if tag == b"F" or parts.is_full():
                self.cut += tag == b"P"
                parts.write(out)
                del self.open[stream]
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
        if not self.cut:
            return []
        return [f"{self.cut:,} messages are longer than {MOST_PART_BYTES // 1024} KiB; they were read in pieces."]


@dataclass
class Export:
    """`journalctl -o export`: a record is a run of `FIELD=value` lines up to an empty one.

    Fields with a length and bytes in place of `=` hold what is no text; what of it is a line by itself is read as such.
    """

    head: list[bytes]
    fields: dict[str, str] = field(default_factory=dict[str, str])
    raw: list[bytes] = field(default_factory=list[bytes])
    line: int = 0
    message_line: int = 0
    unread: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        for number, line in as_they_are(block):
            found = _FIELD.fullmatch(line)
            if found and len(self.fields) < MOST_FIELDS:
                name = found[1].decode()
                self.fields[name] = found[2].decode("utf-8", "backslashreplace")
                if name == "MESSAGE":
                    self.message_line, self.raw = number, [line]
            elif line.strip():
                self.unread += 1
                out.add(line, number)
            else:
                self._record(out)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        out = LineWriter(Block(1, b""))
        self._record(out)
        return out.done()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return [f"{self.unread:,} lines are no field of a journal record."] if self.unread else []

    def _record(self, out: LineWriter) -> None:
        said = line_of(dict(self.fields)) if self.fields else None
        if said is not None:
            place = (self.message_line, self.message_line)
            out.add_joined(said[1].encode("utf-8", "replace"), place, self.raw[0], said[0].encode("utf-8", "replace"))
        self.fields, self.raw = {}, []
