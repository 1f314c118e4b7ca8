"""Which patterns can match a text that opens with these two characters? Asked before some thirty of them are tried.

The answer errs on one side only: a pattern that is left out cannot match there. Conditions on the place and references
are taken as met.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

_sre: Any = getattr(re, "_parser")  # noqa: B009 - it has no public name, and the type checker does not know it

_Rest = tuple[tuple[Any, Any], ...]  # pieces of a parsed pattern that are still to be matched
_SINGLE = frozenset({_sre.LITERAL, _sre.NOT_LITERAL, _sre.ANY, _sre.IN})
_REPEATS = frozenset({_sre.MAX_REPEAT, _sre.MIN_REPEAT, _sre.POSSESSIVE_REPEAT})
_CATEGORIES: dict[Any, str] = {
    _sre.CATEGORY_DIGIT: r"\d", _sre.CATEGORY_NOT_DIGIT: r"\D", _sre.CATEGORY_SPACE: r"\s",
    _sre.CATEGORY_NOT_SPACE: r"\S", _sre.CATEGORY_WORD: r"\w", _sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def can_open(pattern: re.Pattern[str], opening: str) -> bool:
    """Whether `pattern` may match, with at least one character, at the start of a text that opens with `opening`.

    Flags of the pattern are not heeded: it has none.
    """
    rests: list[_Rest | None] = [_parsed(pattern.pattern)]
    for character in opening:
        try:
            rests = [left for rest in rests for left in _after(rest, character)]
        except RecursionError:  # a repeat of what may be nothing
            return True
        if None in rests:  # it may end here, or holds what is not known
            return True
    return bool(rests)


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> _Rest:
    return tuple(_sre.parse(pattern))


def _after(rest: _Rest | None, character: str) -> Iterator[_Rest | None]:
    """What may be left to match behind `character`; None where the match may end before it or is not known."""
    if not rest:
        yield None
        return
    (operation, value), further = rest[0], rest[1:]
    if operation in _SINGLE:
        if _takes(operation, value, character):
            yield further
    elif operation is _sre.SUBPATTERN:
        yield from _after((*value[3], *further), character)
    elif operation is _sre.BRANCH:
        for branch in value[1]:
            yield from _after((*branch, *further), character)
    elif operation in _REPEATS:
        least, most, inner = value
        if most is _sre.MAXREPEAT or most > 1:
            fewer = most if most is _sre.MAXREPEAT else most - 1
            yield from _after((*inner, (operation, (max(0, least - 1), fewer, inner)), *further), character)
        elif most:
            yield from _after((*inner, *further), character)
        if least == 0:
            yield from _after(further, character)
    elif operation in (_sre.AT, _sre.ASSERT, _sre.ASSERT_NOT):
        yield from _after(further, character)
    else:
        yield None


def _takes(operation: Any, value: Any, character: str) -> bool:
    if operation is _sre.ANY:
        return character != "\n"
    if operation is _sre.NOT_LITERAL:
        return ord(character) != value
    if operation is _sre.LITERAL:
        return ord(character) == value
    return _in_class(value, character)


def _in_class(items: Iterable[tuple[Any, Any]], character: str) -> bool:
    negated = found = False
    for operation, value in items:
        if operation is _sre.NEGATE:
            negated = True
        elif operation is _sre.LITERAL:
            found |= ord(character) == value
        elif operation is _sre.RANGE:
            found |= value[0] <= ord(character) <= value[1]
        else:
            found |= re.match(_CATEGORIES[value], character) is not None
    return found != negated
