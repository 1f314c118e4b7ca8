"""Records that a terminal or a table cut into several lines: found only on the joined text, and marked as such."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeVar

from crashlens.scan.envelope import Peeled, peel


class Found(Protocol):
    """What a rule found in a message."""

    line: int
    line_end: int
    span: tuple[int, int]
    text: str
    groups: dict[str, str]


_FoundT = TypeVar("_FoundT", bound=Found)


class Joined(NamedTuple):
    """A text made of several lines of the file.

    Attributes:
        pieces: What of it each of the lines holds.
        first: Number of the first of the lines.
        raw: The lines as they stand in the file.
    """

    pieces: list[str]
    first: int
    raw: str


def rejoined(
    joined: Joined, find: Callable[[Peeled], list[_FoundT]], is_fallback: Callable[[_FoundT], bool]
) -> list[_FoundT]:
    """What `find` finds on the joined text and on none of its lines alone, with their lines.

    A fallback is not taken where one of the lines says something by itself: it may well be whole.
    """
    text = "".join(joined.pieces).replace("\n", " ")
    peeled = peel(text)
    start = len(text) - len(peeled.message) if text.endswith(peeled.message) else text.find(peeled.message)
    starts = [0, *accumulate(len(piece) for piece in joined.pieces)]
    named = bool(peeled.stamps) or peeled.rank is not None or peeled.pid is not None
    alone = [find(peel(piece)) for piece in joined.pieces]
    lines = joined.raw.split("\n")
    found: list[_FoundT] = []
    for hit in find(peeled):
        begins = bisect_right(starts, max(0, start + hit.span[0])) - 1
        ends = bisect_right(starts, max(0, start + hit.span[1] - 1)) - 1
        ends = max(begins, min(ends, len(lines) - 1))
        others = [other for piece in alone[begins : ends + 1] for other in piece]
        if any(_says_as_much(other, hit) for other in others) or (others and is_fallback(hit)):
            continue
        begins = 0 if named else begins
        hit.line, hit.line_end = joined.first + begins, joined.first + ends
        hit.text = "\n".join(lines[begins : ends + 1])
        hit.groups["rejoined"] = "yes"
        found.append(hit)
    return found


def _says_as_much(alone: Found, joined: Found) -> bool:
    return all(alone.groups.get(key) == value for key, value in joined.groups.items())
