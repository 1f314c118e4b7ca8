"""Which rules could match which lines of a block: the interface of the engines, and the pure reference.

An engine answers with candidates only. Whether a candidate line really matches is decided by the patterns, on that
line, by scan/. So every engine gives the same records, as long as it leaves out no line that a pattern would match and
names the same lines with an error word.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

# A line with one of these words that no rule claims is counted, so that a report can say what it did not understand.
ERROR_WORDS = (
    b"rror", b"ERROR", b"FATAL", b"atal", b"xception", b"abort", b"Abort", b"illed", b"imed out", b"imeout", b"ailed",
    b"ailure",
)  # fmt: skip
# A block with one of these holds what terminals do not show, or what is left of it; it is taken out before the search.
UNPRINTED = (b"\x00", b"\x1b", b"[0m", b"[m")
# Of a line longer than this only the start, the end and what is near a literal are matched, so every engine decides it
# by its literals.
LONG_LINE = 32 * 1024


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line of a block that some rules could match.

    Attributes:
        start: Offset of its first byte in the block.
        end: Offset behind its last byte, the LF not included.
        items: Numbers of the rules, ascending; empty for a line that only holds an error word.
        error: Whether it holds an error word.
    """

    start: int
    end: int
    items: tuple[int, ...]
    error: bool = False


class Matcher(Protocol):
    """Finds candidate lines in a block of whole lines without ANSI escapes, in order."""

    @property
    def engine(self) -> str:
        """What searches: `reference`, or the name of the library."""
        ...

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """Every line that a rule could match or that holds an error word, once, in order."""
        ...

    def clean_candidates(self, block: bytes) -> list[Candidate] | None:
        """The same, of a block as it stands in the file; None: it holds one of `UNPRINTED`."""
        ...


class LiteralMatcher:
    """The reference engine: plain byte search for each literal, on any platform.

    Args:
        literals: The literals of each item (rule or step line), in the order that numbers them.
    """

    engine = "reference"

    def __init__(self, literals: Sequence[Sequence[str]]) -> None:
        owners: dict[bytes, list[int]] = {}
        for number, words in enumerate(literals):
            for word in words:
                owners.setdefault(word.encode(), []).append(number)
        self._owners = owners

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """See `Matcher.candidates`: every line with a literal of a rule or an error word."""
        lines: dict[int, set[int]] = {}
        for literal, numbers in self._owners.items():
            for start in _line_starts(block, literal):
                lines.setdefault(start, set()).update(numbers)
        errors = {start for word in ERROR_WORDS for start in _line_starts(block, word)}
        for start in sorted(lines.keys() | errors):
            end = block.find(b"\n", start)
            items = tuple(sorted(lines.get(start, ())))
            yield Candidate(start, len(block) if end < 0 else end, items, start in errors)

    def clean_candidates(self, block: bytes) -> list[Candidate] | None:
        """See `Matcher.clean_candidates`."""
        return None if any(mark in block for mark in UNPRINTED) else list(self.candidates(block))


def _line_starts(block: bytes, literal: bytes) -> Iterator[int]:
    at = block.find(literal)
    while at >= 0:
        yield block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at)
        if end < 0:
            return
        at = block.find(literal, end)
