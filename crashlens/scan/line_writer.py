"""Collects the lines that a normaliser makes of a block, and where each of them stands in the file."""

from collections.abc import Callable
from dataclasses import dataclass, field

from crashlens.scan.member import Block, LineMap

MOST_PART_LINES = 2000  # lines of the file that one joined line may be made of
MOST_PART_BYTES = 1024 * 1024


@dataclass
class LineWriter:
    """The lines made of one block."""

    block: Block
    lines: list[bytes] = field(default_factory=list[bytes])
    first: list[int] = field(default_factory=list[int])
    last: list[int] = field(default_factory=list[int])
    kept: dict[int, bytes] = field(default_factory=dict[int, bytes])
    pieces: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    said: Callable[[bytes], bytes] | None = None

    def add(self, text: bytes, line: int) -> None:
        """A line made of one line of the file."""
        self.lines.append(text)
        self.first.append(line)
        self.last.append(line)

    def add_joined(self, text: bytes, lines: tuple[int, int], raw: bytes, prefix: bytes = b"") -> None:
        """The lines of a message made of one or more lines of the file, `prefix` in front of each.

        What exceeds the most lines that a message may have stays together in the last of them.
        """
        for piece in text.split(b"\n", MOST_PART_LINES - 1):
            self.kept[len(self.lines)] = raw
            self.lines.append(prefix + piece.replace(b"\n", b"\r"))
            self.first.append(lines[0])
            self.last.append(lines[1])

    def done(self) -> Block:
        """The block of these lines."""
        data = b"".join(line + b"\n" for line in self.lines)
        raw = self.block.data
        where = LineMap(self.first, self.last, self.block.first_line, raw, self.kept, self.pieces, self.said)
        return Block(self.block.first_line, data, where)


@dataclass
class Parts:
    """A line of which not all parts were seen yet.

    Attributes:
        prefix: The envelope of the first part.
        line: Its line in the file.
        line_end: That of the last part.
        texts: What the parts hold.
        raw: The parts as they stand in the file.
        size: Bytes so far.
    """

    prefix: bytes
    line: int
    line_end: int
    texts: list[bytes]
    raw: list[bytes]
    size: int = 0

    def add(self, text: bytes, line: int, raw: bytes) -> None:
        """One more part."""
        self.texts.append(text)
        self.raw.append(raw)
        self.line_end = line
        self.size += len(text)

    def is_full(self) -> bool:
        """Whether it has grown beyond what one line may be."""
        return self.size > MOST_PART_BYTES or len(self.texts) > MOST_PART_LINES

    def write(self, out: LineWriter) -> None:
        """Hand it on as one line. Its text is that of all parts where they follow each other, else of the first."""
        whole = self.line_end - self.line + 1 == len(self.raw)
        raw = b"\n".join(self.raw) if whole else self.raw[0]
        out.add_joined(b"".join(self.texts), (self.line, self.line_end), raw, self.prefix)


def as_they_are(block: Block) -> list[tuple[int, bytes]]:
    """The lines of a block with their numbers; the last may lack its LF."""
    lines = block.data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return list(enumerate(lines, block.first_line))
