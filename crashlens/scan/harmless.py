"""Is what sounds like a failure one? Advice, help, quotations, settings, code and caught errors are told from records.

Only the stretch that a reviewed row covers is harmless. A word outside it counts, and a rule is set aside only when its
whole match lies inside.
"""

import re
from collections.abc import Iterable
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
        self._rows = tuple(rows)

    def spans(self, message: str, component: str) -> list[Span]:
        """Every stretch that a row covers, row by row."""
        return [
            Span(*found.span(), row)
            for row in self._rows
            if component in row.applies_to and any(literal in message for literal in row.literals)
            for found in islice(row.pattern.finditer(message), MOST_SPANS)
        ]

    def judge(self, message: str, component: str, severity: str | None) -> tuple[Judgement, list[Span]]:
        """What a message that no rule claims says of a failure, and which stretches of it are harmless.

        An error word counts where no row covers it. A message that its logger calls an error counts unless one row
        covers all that it says; one that it calls fatal was not handled.
        """
        words = [found.span() for found in islice(_ERROR_WORD.finditer(message), MOST_WORDS)]
        if severity in _LOUD and message.strip():
            words = [(len(message) - len(message.lstrip()), len(message.rstrip()))]
        if not words:
            return "nothing", []
        spans = self.spans(message, component)
        if severity in _LAST:
            spans = [span for span in spans if span.row.kind != "handled"]
        harmless = len(words) < MOST_WORDS and all(covers(spans, *word) for word in words)
        return ("harmless" if harmless else "error_like"), spans


def covers(spans: Iterable[Span], start: int, end: int) -> bool:
    """Whether one of `spans` holds everything from `start` to `end`."""
    return any(span.start <= start and end <= span.end for span in spans)


def about(spans: Iterable[Span]) -> list[Span]:
    """Those whose words are about a failure: what a rule finds in them is no record."""
    return [span for span in spans if span.row.kind in ABOUT]


def handled(spans: Iterable[Span]) -> list[Span]:
    """Those in which the writer says that it went on."""
    return [span for span in spans if span.row.kind == "handled"]
