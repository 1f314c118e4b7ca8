"""Which lines of a block could hold a record, and how many lines stand before each."""

from crashlens.rules.matcher import Matcher
from crashlens.scan.envelope import strip_unprinted
from crashlens.scan.member import Searched, count_lines


def search(data: bytes, matcher: Matcher) -> Searched:
    """The candidates of the data of one block."""
    shown, candidates = data, matcher.clean_candidates(data)
    if candidates is None:
        shown = strip_unprinted(data)
        candidates = list(matcher.candidates(shown))
    at = line = 0
    lines: list[int] = []
    for one in candidates:
        line += count_lines(shown, at, one.start)
        at = one.start
        lines.append(line)
    return Searched(shown, candidates, lines)
