"""The fast engine: every rule in one pass over a block, by hyperscan where it is installed.

It searches a wider form of each pattern (widen.py), so that a common literal does not make a common candidate. Lines
that are long, not UTF-8 or hold an escaped quotation mark are decided by their literals, as the reference does, because
there the text that a pattern sees is not the bytes of the line.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from crashlens.catalog.user_cache import cached_bytes, keep_bytes
from crashlens.rules.matcher import ERROR_WORDS, LONG_LINE, UNPRINTED, Candidate, LiteralMatcher, Matcher
from crashlens.rules.widen import Wide, widened

ENGINE = "CRASHLENS_ENGINE"  # environment variable; `reference` searches without hyperscan
LITERAL_LINE = LONG_LINE // 2  # scan/ may put more in front of a line before it measures it
FEW_BYTES = 128 * 1024  # of a source that is shorter, plain search ends before hyperscan is ready
# An escaped quotation mark: the message may be a string of JSON or Go, which is read without them (scan/envelope.py).
_ESCAPED, _ESCAPES = b'\\"', 2**31 - 2
_ERROR = -1  # stands for an error word where the number of an item stands
_MARK = 2**31 - 1  # the number of what terminals do not show


def fast_engine() -> str | None:
    """The library that the fast engine would use, or None where plain search has to do."""
    if os.environ.get(ENGINE) == "reference" or find_spec("hyperscan") is None:
        return None
    return "hyperscan"


_Fired = dict[int, set[int]]  # the start of each line that fired, with the numbers that did; `_ERROR` for an error word


class AutoMatcher:
    """Plain search for the first bytes of a source, the fast engine for the rest of a long one.

    Args:
        literals: The literals of each item (rule or step line), in the order that numbers them.
        patterns: The pattern of each; empty for one that only its literals find.
        few_bytes: So many bytes are searched before the fast engine is made ready.
    """

    def __init__(
        self, literals: Sequence[Sequence[str]], patterns: Sequence[str], *, few_bytes: int = FEW_BYTES
    ) -> None:
        self._literals, self._patterns = literals, patterns
        self._current: Matcher = LiteralMatcher(literals)
        self._left = few_bytes

    @property
    def engine(self) -> str:
        """What searches now."""
        return self._current.engine

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """See `Matcher.candidates`."""
        return self._matcher(block).candidates(block)

    def clean_candidates(self, block: bytes) -> list[Candidate] | None:
        """See `Matcher.clean_candidates`."""
        return self._matcher(block).clean_candidates(block)

    def _matcher(self, block: bytes) -> Matcher:
        if self._left > 0:
            self._left -= len(block)
            if self._left <= 0 and fast_engine() is not None:
                self._current = HyperscanMatcher(self._literals, self._patterns)
        return self._current


class HyperscanMatcher:
    """All items in one pass.

    Args:
        literals: The literals of each item (rule or step line), in the order that numbers them.
        patterns: The pattern of each; empty for one that only its literals find.

    Raises:
        ImportError: hyperscan is not installed.
    """

    engine = "hyperscan"

    def __init__(self, literals: Sequence[Sequence[str]], patterns: Sequence[str]) -> None:
        wide = _widened(patterns)
        self._plain = [[_quoted(word.encode()) for word in words] for words in literals]
        chosen = [
            words if one is None or not one.searched else list(one.searched)
            for words, one in zip(self._plain, wide, strict=True)
        ]
        self._search = _Search(chosen, self._plain)
        # Where a stretch or a literal is searched, the whole wider pattern is asked before the line is taken apart.
        self._asked = {
            n: _Asked(one.whole) for n, one in enumerate(wide) if one is not None and one.searched != (one.whole,)
        }

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """See `Matcher.candidates`."""
        return self._of_lines(block, *self._search.lines(block))

    def clean_candidates(self, block: bytes) -> list[Candidate] | None:
        """See `Matcher.clean_candidates`."""
        found = self._search.clean_lines(block)
        return None if found is None else list(self._of_lines(block, *found))

    def _of_lines(self, block: bytes, lines: _Fired, escapes: bool) -> Iterator[Candidate]:  # noqa: FBT001
        odd = _odd_lines(block)
        if escapes:
            odd = sorted({*odd, *_escaped_lines(block)})
        if odd:
            self._decide_by_literals(block, odd, lines)
        odd_starts = {start for start, _ in odd}
        for start in sorted(lines):
            end = block.find(b"\n", start)
            end = len(block) if end < 0 else end
            numbers = lines[start]
            error = _ERROR in numbers
            numbers.discard(_ERROR)
            if numbers and start not in odd_starts:
                numbers = {n for n in numbers if n not in self._asked or self._asked[n].fits(block, start, end)}
            if numbers or error:
                yield Candidate(start, end, tuple(sorted(numbers)), error)

    def _decide_by_literals(self, block: bytes, odd: list[tuple[int, int]], lines: dict[int, set[int]]) -> None:
        joined = b"\n".join([block[start:end] for start, end in odd])
        (found, _), at = self._odd.lines(joined), 0
        for start, end in odd:
            lines.pop(start, None)
            if at in found:
                lines[start] = found[at]
            at += end - start + 1

    @cached_property
    def _odd(self) -> "_Search":
        return _Search(self._plain, self._plain)


class _Asked:
    """A pattern over bytes that is compiled when it is first needed."""

    def __init__(self, pattern: str) -> None:
        self._source = pattern.encode()

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        return re.compile(self._source)

    def fits(self, block: bytes, start: int, end: int) -> bool:
        """Whether it matches between two offsets of `block`."""
        return self._pattern.search(block, start, end) is not None


class _Search:
    """A compiled set of expressions, one list per item, the error words, and what terminals do not show.

    Args:
        expressions: What to search for each item.
        instead: What to search for an item whose expressions hyperscan refuses.
    """

    def __init__(self, expressions: Sequence[Sequence[str]], instead: Sequence[Sequence[str]]) -> None:
        import hyperscan  # noqa: PLC0415 - optional, and not loaded for short sources

        self._terminated = hyperscan.ScanTerminated
        self._database = _database(expressions, instead)
        self._scratch = hyperscan.Scratch(self._database)

    def lines(self, block: bytes) -> tuple[_Fired, bool]:
        """The lines that fired, and whether the block holds an escaped quotation mark."""
        return _by_line(block, self._fired(block, None))

    def clean_lines(self, block: bytes) -> tuple[_Fired, bool] | None:
        """The same; None where the block holds what terminals do not show."""
        try:
            return _by_line(block, self._fired(block, _MARK))
        except self._terminated:
            return None

    def _fired(self, block: bytes, last: int | None) -> list[tuple[int, int]]:
        """Where each expression ends that fires, with its number; the search is given up at the number `last`."""
        fired: list[tuple[int, int]] = []

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> bool:
            fired.append((end, number))
            return number == last

        self._database.scan(block, match_event_handler=note, scratch=self._scratch)
        return fired


def _by_line(block: bytes, fired: list[tuple[int, int]]) -> tuple[_Fired, bool]:
    lines: _Fired = {}
    escapes = False
    words = len(ERROR_WORDS)
    for end, number in fired:
        if number == _ESCAPES:
            escapes = True
        elif number != _MARK:
            lines.setdefault(block.rfind(b"\n", 0, end) + 1, set()).add(number - words if number >= words else _ERROR)
    return lines, escapes


def _widened(patterns: Sequence[str]) -> list[Wide | None]:
    """The wider form of each pattern; to parse them all takes longer than to search 100 MB, so it is kept."""
    how = Path(__file__).with_name("widen.py").read_bytes()
    name = f"wide-{hashlib.sha256(repr((sys.version_info[:2], list(patterns))).encode() + how).hexdigest()}.json"
    kept = cached_bytes(name)
    if kept is not None:
        rows: list[tuple[list[str], str] | None] = json.loads(kept)
        return [None if row is None else Wide(tuple(row[0]), row[1]) for row in rows]
    wide = [widened(pattern) for pattern in patterns]
    keep_bytes(name, json.dumps([None if one is None else (one.searched, one.whole) for one in wide]).encode())
    return wide


def _quoted(literal: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in literal)


def _database(expressions: Sequence[Sequence[str]], instead: Sequence[Sequence[str]]) -> Any:
    import hyperscan  # noqa: PLC0415

    pairs = _numbered(expressions)
    key = hashlib.sha256(repr((str(getattr(hyperscan, "__version__", "")), pairs, "once")).encode()).hexdigest()
    kept = cached_bytes(f"hyperscan-{key}.db")
    if kept is not None:
        try:
            return hyperscan.loadb(kept, hyperscan.HS_MODE_BLOCK)
        except hyperscan.HyperscanError:
            pass  # of another machine or another build: it is made anew
    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        _compile(database, pairs)
    except hyperscan.HyperscanError:
        fit = [n for n, many in enumerate(expressions) if _compiles(list(enumerate(many)))]
        chosen = [expressions[n] if n in fit else instead[n] for n in range(len(expressions))]
        pairs = _numbered(chosen)
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        _compile(database, pairs)
    keep_bytes(f"hyperscan-{key}.db", hyperscan.dumpb(database))
    return database


def _numbered(expressions: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    return [
        *enumerate(map(_quoted, ERROR_WORDS)),
        *((number, one) for number, many in enumerate(expressions, len(ERROR_WORDS)) for one in many),
        *((_MARK, _quoted(mark)) for mark in UNPRINTED),
        (_ESCAPES, _quoted(_ESCAPED)),
    ]


def _compile(database: Any, pairs: Sequence[tuple[int, str]]) -> None:
    import hyperscan  # noqa: PLC0415

    once = hyperscan.HS_FLAG_SINGLEMATCH
    database.compile(
        expressions=[text.encode() for _, text in pairs],
        ids=[number for number, _ in pairs],
        flags=[once if number == _ESCAPES else 0 for number, _ in pairs],
    )


def _compiles(pairs: Sequence[tuple[int, str]]) -> bool:
    import hyperscan  # noqa: PLC0415

    try:
        _compile(hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK), pairs)
    except hyperscan.HyperscanError:
        return False
    return True


def _odd_lines(block: bytes) -> list[tuple[int, int]]:
    """Start and end of each line that is long or not UTF-8, in order."""
    odd = set(_long_lines(block))
    if not block.isascii():
        odd.update(_undecodable_lines(block))
    return sorted(odd)


def _long_lines(block: bytes) -> Iterator[tuple[int, int]]:
    # A long line covers one of these stretches from end to end, so most blocks are told by one short look at each.
    step = LITERAL_LINE // 2
    at = 0
    while at + step <= len(block):
        if block.find(b"\n", at, at + step) >= 0:
            at += step
            continue
        start, end = _line_around(block, at)
        if end - start > LITERAL_LINE:
            yield start, end
        at = max(at + step, end)


def _escaped_lines(block: bytes) -> Iterator[tuple[int, int]]:
    at = block.find(_ESCAPED)
    while at >= 0:
        start, end = _line_around(block, at)
        yield start, end
        at = block.find(_ESCAPED, end)


def _undecodable_lines(block: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(block):
        end = _line_around(block, min(at + LONG_LINE, len(block)))[1]  # a part, so that each fault costs little
        try:
            block[at:end].decode()
        except UnicodeDecodeError as error:
            start, end = _line_around(block, at + error.start)
            yield start, end
        at = end + 1


def _line_around(block: bytes, at: int) -> tuple[int, int]:
    end = block.find(b"\n", at)
    return block.rfind(b"\n", 0, at) + 1, len(block) if end < 0 else end
