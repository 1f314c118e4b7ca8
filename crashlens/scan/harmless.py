"""Is what sounds like a failure one? Advice, help, quotations, settings, code and caught errors are told from records.

Only the stretch that a reviewed row covers is harmless. A word outside it counts, and a rule is set aside only when its
whole match lies inside.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from crashlens.rules.model import Harmless

# What the engine looks for is broader: `rror` stands in "mirror" and `atal` in "catalog".
_ERROR_WORD = re.compile(
    r"(?<![A-Za-z])[Ee]rrors?(?![a-z])|E(?:rror|RROR)|(?<![A-Za-z])errno|[Ff]atal(?![a-z])|FATAL|[Ee]xception|[Aa]bort"
    r"|(?<![A-Za-z])[Kk]illed|[Tt]imed out|[Tt]ime-?out|[Ff]ail(?:ed|ure)"
)
ABOUT = frozenset({"advice", "help", "quotation", "config", "code"})  # kinds whose words are about a failure
_LAST = frozenset({"critical", "fatal"})
_LOUD = _LAST | {"error"}
MOST_SPANS = 16  # of one row in one message
MOST_WORDS = 64  # of one message that are judged one by one; what comes later counts
MOST_JUDGED = 50_000  # unlike messages of one source that are looked at: some seconds
MOST_REMEMBERED = 4096  # messages whose judgement is kept: those that differ in digits other than zero are one
LONGEST_REMEMBERED = 500
_NO_ZERO = str.maketrans("123456789", "9" * 9)
_NO_DIGIT = str.maketrans("012345678", "9" * 9)
_ZERO = re.compile(r"(?<!\d)0+(?!\d)")


Judgement = Literal["error_like", "harmless", "nothing"]


class Span(NamedTuple):
    """A stretch of a message that a row covers."""

    start: int
    end: int
    row: Harmless


class HarmlessWords:
    """Finds what is harmless in a message.

    Args:
        rows: The reviewed rows.
    """

    def __init__(self, rows: Iterable[Harmless]) -> None:
        rows = tuple(rows)
        components = {component for row in rows for component in row.applies_to}
        self._rows = {name: tuple(row for row in rows if name in row.applies_to) for name in components}
        self.judged = 0  # messages that were not like one judged before
        self._known_spans: dict[tuple[str, str], tuple[Span, ...]] = {}
        self._known: dict[tuple[str, str, str | None], tuple[Judgement, tuple[Span, ...]]] = {}

    def spans(self, message: str, component: str) -> tuple[Span, ...]:
        """Every stretch that a row covers, row by row."""
        key = (same_but_digits(message), component)
        known = self._known_spans.get(key)
        if known is None:
            known = tuple(self._find(message, component))
            if len(message) <= LONGEST_REMEMBERED:
                if len(self._known_spans) >= MOST_REMEMBERED:
                    self._known_spans.clear()
                self._known_spans[key] = known
        return known

    def _find(self, message: str, component: str) -> Iterator[Span]:
        for row in self._rows.get(component, ()):
            for literal in row.literals:
                if literal in message:
                    yield from (Span(*found.span(), row) for found in islice(row.pattern.finditer(message), MOST_SPANS))
                    break

    def judge(self, message: str, component: str, severity: str | None) -> tuple[Judgement, tuple[Span, ...]]:
        """What a message that no rule claims says of a failure, and which stretches of it are harmless.

        An error word counts where no row covers it. A message that its logger calls an error counts unless one row
        covers all that it says; one that it calls fatal was not handled.
        """
        key = (same_but_digits(message), component, severity)
        known = self._known.get(key)
        if known is None:
            self.judged += 1
            known = self._judge(message, component, severity)
            if len(message) <= LONGEST_REMEMBERED:
                if len(self._known) >= MOST_REMEMBERED:
                    self._known.clear()
                self._known[key] = known
        return known

    def _judge(self, message: str, component: str, severity: str | None) -> tuple[Judgement, tuple[Span, ...]]:
        words = [found.span() for found in islice(_ERROR_WORD.finditer(message), MOST_WORDS)]
        if severity in _LOUD and message.strip():
            words = [(len(message) - len(message.lstrip()), len(message.rstrip()))]
        if not words:
            return "nothing", ()
        spans = self.spans(message, component)
        if severity in _LAST:
            spans = tuple(span for span in spans if span.row.kind != "handled")
        harmless = len(words) < MOST_WORDS and all(
            covers(spans, *word) or _is_cited(message, word[0]) for word in words
        )
        return ("harmless" if harmless else "error_like"), spans


def same_but_digits(text: str) -> str:
    """`text` with its digits as nines: what lines that differ in their numbers only have in common.

    A number zero stays, because `0 errors` says something else than `3 errors`; so do all zeros of such a text.
    """
    return text.translate(_NO_ZERO if _ZERO.search(text) else _NO_DIGIT)


def covers(spans: Iterable[Span], start: int, end: int) -> bool:
    """Whether one of `spans` holds everything from `start` to `end`."""
    return any(span.start <= start and end <= span.end for span in spans)


def _is_cited(message: str, at: int) -> bool:
    """Whether a word stands in a quotation inside a sentence: `explain "... error ..."`.

    The value of a field is quoted too (`msg="... failed"`, JSON) and is what the writer says.
    """
    for mark in ('"', "`"):
        before = message[:at]
        if before.count(mark) % 2 == 1 and mark in message[at:]:
            opens = before.rfind(mark)
            return (
                opens >= 2 and before[opens - 1] == " " and (before[opens - 2].isalnum() or before[opens - 2] in ",)")
            )
    return False


def about(spans: Iterable[Span]) -> list[Span]:
    """Those whose words are about a failure: what a rule finds in them is no record."""
    return [span for span in spans if span.row.kind in ABOUT]


def handled(spans: Iterable[Span]) -> list[Span]:
    """Those in which the writer says that it went on."""
    return [span for span in spans if span.row.kind == "handled"]
