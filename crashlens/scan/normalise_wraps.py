"""Text that a terminal or a table broke: pastes wrapped at a fixed width, and log tables with wrapped cells.

Whether two lines are one cannot be known, so nothing is replaced: the joined text is tried in front of its lines, and a
record that only it holds is marked.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from crashlens.scan.envelope import peel, strip_unprinted
from crashlens.scan.line_writer import LineWriter, as_they_are
from crashlens.scan.member import Block

LEAST_WIDTH, MOST_WIDTH = 60, 500  # of a terminal
MOST_JOINED = 16 * 1024  # characters of one joined text
LEAST_WRAPPED = 3  # lines of exactly the width
MOST_PIECES = 64
MOST_PASTED = 4 * 1024 * 1024  # bytes of a paste; what is longer was written by a program
MOST_RULER_CHARACTERS = 2  # different ones: `=====`, `+----+----+`
START = 5  # characters by which lines of a program resemble each other

_TABLE_ROW = re.compile(r"(?:\[[\d/]{0,10} ?\d\d:\d\d:\d\d\] | {9,24})(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +(?=\S)")
_TABLE_PLACE = re.compile(r" +[\w.-]{1,80}\.py:\d{1,6} *$")
_TABLE_REST = re.compile(r" {16,40}(?=\S)")


def wrapped_share(lines: list[bytes]) -> float:
    """1 where most long lines have one and the same width, as a paste from a terminal has; else 0."""
    return 1.0 if _width(lines) else 0.0


def rich_share(lines: list[bytes]) -> float:
    """1 where rows of a log table are followed by lines that only hold the rest of a cell; else 0."""
    texts = [_clean(line) for line in lines]
    rows = [n for n, text in enumerate(texts) if _TABLE_ROW.match(text)]
    goes_on = sum(n + 1 < len(texts) and _TABLE_REST.match(texts[n + 1]) is not None for n in rows)
    return 1.0 if len(rows) * 4 >= len(texts) and goes_on else 0.0


def _width(lines: list[bytes]) -> int | None:
    texts = [_clean(line) for line in lines]
    widths = Counter(len(text) for text in texts if not _is_ruler(text))
    long = {width: count for width, count in widths.items() if width >= LEAST_WIDTH}
    width = next((one for one in sorted(long, reverse=True) if long[one] >= LEAST_WRAPPED), None)
    if width is None or width > MOST_WIDTH:
        return None
    beyond = sum(count for one, count in long.items() if one > width)
    if beyond > max(1, long[width] // 20) or 3 * long[width] < sum(long.values()):
        return None
    pairs = [(one, after) for one, after in pairwise(texts) if len(one) == width]
    alike = sum(one[:START] == after[:START] for one, after in pairs)
    return width if 2 * alike < len(pairs) else None  # lines of a program that are equally long begin alike


def _is_ruler(text: str) -> bool:
    return len(set(text.strip())) <= MOST_RULER_CHARACTERS


def _clean(line: bytes) -> str:
    return strip_unprinted(line).removesuffix(b"\r").decode("utf-8", "backslashreplace")


@dataclass
class _Joiner:
    """Writes every line as it is, and in front of lines that may be one the joined text."""

    head: list[bytes]
    chain: list[tuple[int, bytes, str]] = field(default_factory=list[tuple[int, bytes, str]])
    seen: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        self.seen += len(block.data)
        if self.seen > MOST_PASTED:
            return block
        out = LineWriter(block)
        for number, line in as_they_are(block):
            text = _clean(line)
            full = len(self.chain) == MOST_PIECES or sum(len(one) for _, _, one in self.chain) > MOST_JOINED
            if self.chain and (full or not self._goes_on(self.chain[-1][2], text)):
                self._flush(out)
            self.chain.append((number, line, text))
        self._flush(out)  # a record across two blocks of a paste is not worth holding one back
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        return None

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return []

    def _goes_on(self, before: str, after: str) -> bool:
        raise NotImplementedError

    def _pieces(self, texts: list[str]) -> list[str]:
        return texts

    def _flush(self, out: LineWriter) -> None:
        if len(self.chain) > 1:
            pieces = self._pieces([text for _, _, text in self.chain])
            out.pieces[len(out.lines)] = pieces
            raw = b"\n".join(line for _, line, _ in self.chain)
            joined = "".join(pieces).replace("\n", " ").encode("utf-8", "replace")
            out.add_joined(joined, (self.chain[0][0], self.chain[-1][0]), raw)
        for number, line, _ in self.chain:
            out.add(line, number)
        self.chain = []


@dataclass
class Wraps(_Joiner):
    """A paste cut at a fixed width: a line of that width may go on in the next."""

    width: int = field(init=False)

    def __post_init__(self) -> None:
        self.width = _width(self.head) or 0

    def _goes_on(self, before: str, after: str) -> bool:
        if len(before) < self.width or before.endswith("  ") or _is_ruler(before) or _is_ruler(after):
            return False
        peeled = peel(after)
        return not peeled.stamps and peeled.rank is None and peeled.message == after


@dataclass
class Rich(_Joiner):
    """A log table of `rich`: time, level, message, place; long messages go on below their column."""

    def _goes_on(self, before: str, after: str) -> bool:
        row = _TABLE_ROW.match(before) or _TABLE_REST.match(before)
        return row is not None and _TABLE_REST.match(after) is not None and not _TABLE_ROW.match(after)

    def _pieces(self, texts: list[str]) -> list[str]:
        first, *rest = (_TABLE_PLACE.sub("", text).rstrip() for text in texts)
        return [first, *(f" {text.lstrip()}" for text in rest)]
