r"""A pattern to a wider one that a byte engine can search: what must stand in every line where the pattern matches?

A pattern is written for the message behind the envelopes, as text; the engine sees whole lines, as UTF-8 bytes. So
every condition on the place (`^`, `\b`, look-arounds) is dropped, a class that holds characters beyond ASCII takes any
such byte, and counts count bytes. Where rare words stand in every match, those alone are searched; else the stretch
without gaps (`.*`) that has the longest fixed text: a search that waits behind a common word for the rest of each line
is slow. Ends that need not be there are cut, so that one record is reported once and not once per digit of its last
number. A wider pattern fires on more lines; the pattern itself decides on each of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_sre: Any = getattr(re, "_parser")  # noqa: B009 - it has no public name, and the type checker does not know it

MOST_COPIES = 12  # a count beyond this is searched as "this many or more"
LONGEST_WORD = 3  # any characters beyond this number are a gap
CHARACTER_BYTES = 4  # of one character beyond ASCII in UTF-8, at most
RARE_WORD = 6  # bytes of a text that is rare enough to be searched as it is, which is fastest
MOST_WORDS = 24  # texts of one rule; an engine slows down with their number
LEAST_FIXED = 5  # bytes in a row that must be literal in a stretch, as in a literal of a rule
LEAST_FIXED_WHOLE = 4  # the same where the stretch is the whole pattern, which says more
LEAST_WORDS = 7  # bytes of the words around gaps together: a pattern with less is searched by the literals of its rule
_ASCII = frozenset(range(128)) - {10}
_GAP = frozenset(map(ord, " aA0"))  # a class that holds all these takes whole phrases
_FOLDED_BEYOND_ASCII = frozenset(map(ord, "iIsSkK"))  # without case, these letters equal letters that are not ASCII
_CATEGORIES: dict[Any, str] = {
    _sre.CATEGORY_DIGIT: r"\d", _sre.CATEGORY_NOT_DIGIT: r"\D", _sre.CATEGORY_SPACE: r"\s",
    _sre.CATEGORY_NOT_SPACE: r"\S", _sre.CATEGORY_WORD: r"\w", _sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Chars:
    """One character: an ASCII one of `ascii`, or any beyond ASCII where `beyond`."""

    ascii: frozenset[int]
    beyond: bool


@dataclass(frozen=True, slots=True)
class _Bytes:
    """These bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class _Ends:
    """One byte of such a character: enough at an end."""

    chars: _Chars


@dataclass(frozen=True, slots=True)
class _All:
    """One after the other; none of them is the empty string."""

    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Any:
    """One of these."""

    branches: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    """`part` so many times; `most` is None for no limit."""

    part: "_Node"
    least: int
    most: int | None


_Node = _Chars | _Ends | _Bytes | _All | _Any | _Repeat
_EMPTY = _All(())
_ANYTHING = _Repeat(_Chars(_ASCII, beyond=True), 0, None)


@dataclass(frozen=True, slots=True)
class Wide:
    """The wider forms of one pattern; none of them matches a LF.

    Attributes:
        searched: What is searched in blocks: each line that the pattern matches has a match of one of them. Empty
            where the literals of the rule are better for that.
        whole: The whole wider pattern: it decides on single lines, where `searched` is less than that.
    """

    searched: tuple[str, ...]
    whole: str


def widened(pattern: str) -> Wide | None:
    """The wider forms of `pattern`, for engines that read bytes in the syntax of Perl.

    None where the pattern holds what is not known here.
    """
    try:
        parsed = _sre.parse(pattern)
        node = _trimmed(_of(parsed, parsed.state.flags))
    except (KeyError, ValueError, RecursionError, re.error):
        return None
    whole = _written(node, most_copies=None)
    words = _words(node)
    if min(map(len, words), default=0) >= RARE_WORD:
        return Wide(tuple(_written(_Bytes(word), most_copies=None) for word in words), whole)
    best = _best(node)
    if _fixed(best) < (LEAST_FIXED if _holds_gap(node) else LEAST_FIXED_WHOLE):
        best = node if sum(_fixed_words(node)) >= LEAST_WORDS else _EMPTY
    return Wide(() if _is_empty(best) else (_written(_trimmed(best), most_copies=MOST_COPIES),), whole)


def _words(node: _Node) -> tuple[bytes, ...]:
    """Texts of which one stands in everything `node` matches, the shortest of them as long as can be."""
    if isinstance(node, _Bytes):
        return (node.data,)
    if isinstance(node, _Repeat):
        return _words(node.part) if node.least else ()
    if isinstance(node, _Any):
        each = [_words(branch) for branch in node.branches]
        words = tuple(dict.fromkeys(word for words in each for word in words))
        return words if all(each) and len(words) <= MOST_WORDS else ()
    best: tuple[bytes, ...] = ()
    run = b""
    for part in (*node.parts, _ANYTHING) if isinstance(node, _All) else ():
        if isinstance(part, _Bytes):
            run += part.data
            continue
        best = max(best, (run,), _words(part), key=lambda words: min(map(len, words), default=0))
        run = b""
    return best


def _trimmed(node: _Node) -> _Node:
    return _cut(_cut(node, -1), 0)


def _of(sequence: Iterable[tuple[Any, Any]], flags: int) -> _Node:
    parts: list[_Node] = []
    for operation, value in sequence:
        node = _node(operation, value, flags)
        parts += node.parts if isinstance(node, _All) else [node]
    return parts[0] if len(parts) == 1 else _All(tuple(parts))


def _node(operation: Any, value: Any, flags: int) -> _Node:
    """The wider form of one piece of a parsed pattern. KeyError: a kind of piece that is not known here."""
    if operation in (_sre.AT, _sre.ASSERT, _sre.ASSERT_NOT):
        return _EMPTY
    if operation is _sre.LITERAL:
        if flags & re.IGNORECASE:
            return _chars([(operation, value)], flags)
        return _Bytes(chr(value).encode()) if value != 10 else _chars([], flags)
    if operation in (_sre.ANY, _sre.NOT_LITERAL):
        return _Chars(_ASCII, beyond=True)
    if operation is _sre.IN:
        return _chars(value, flags)
    if operation is _sre.BRANCH:
        return _Any(tuple(_of(branch, flags) for branch in value[1]))
    if operation is _sre.SUBPATTERN:
        _, added, removed, inner = value
        return _of(inner, (flags | added) & ~removed)
    if operation is _sre.ATOMIC_GROUP:
        return _of(value, flags)
    if operation in (_sre.MAX_REPEAT, _sre.MIN_REPEAT, _sre.POSSESSIVE_REPEAT):
        least, most, inner = value
        return _repeated(_of(inner, flags), int(least), None if most is _sre.MAXREPEAT else int(most))
    if operation in (_sre.GROUPREF, _sre.GROUPREF_EXISTS):
        return _ANYTHING
    raise KeyError(operation)


def _repeated(part: _Node, least: int, most: int | None) -> _Node:
    if _is_empty(part) or most == 0:
        return _EMPTY
    if (least, most) == (1, 1):
        return part
    return _Repeat(part, least, most)


def _chars(items: list[tuple[Any, Any]], flags: int) -> _Node:
    taken: set[int] = set()
    beyond = False
    for operation, value in items:
        if operation is _sre.NEGATE:
            return _negated(items, flags)
        found, outside = _class_item(operation, value, flags)
        taken |= found
        beyond |= outside
    if flags & re.IGNORECASE:
        beyond |= bool(taken & _FOLDED_BEYOND_ASCII)
        taken |= {ord(other) for code in taken for other in (chr(code).lower(), chr(code).upper())}
        if beyond:
            taken |= _FOLDED_BEYOND_ASCII
    return _Chars(frozenset(taken) & _ASCII, beyond)


def _negated(items: list[tuple[Any, Any]], flags: int) -> _Node:
    if flags & re.IGNORECASE:
        return _Chars(_ASCII, beyond=True)
    refused: set[int] = set()
    for operation, value in items:
        if operation is not _sre.NEGATE:
            refused |= _class_item(operation, value, flags)[0]
    return _Chars(_ASCII - refused, beyond=True)


def _class_item(operation: Any, value: Any, flags: int) -> tuple[set[int], bool]:
    """The ASCII characters that one item of a class holds, and whether it may hold others."""
    if operation is _sre.LITERAL:
        return ({value}, False) if value < 128 else (set(), True)
    if operation is _sre.RANGE:
        first, last = value
        return set(range(first, min(last, 127) + 1)), last > 127
    word = re.compile(_CATEGORIES[value], flags & re.ASCII)
    return {code for code in range(128) if word.match(chr(code))}, True


def _best(node: _Node) -> _Node:
    """The stretch of `node` without a gap that has the longest fixed text; the empty node where there is none."""
    if not _holds_gap(node):
        return node
    if isinstance(node, _Any):
        return _Any(tuple(map(_best, node.branches)))
    if isinstance(node, _Repeat):
        return _best(node.part) if node.least else _EMPTY
    stretches: list[_Node] = []
    run: list[_Node] = []
    for part in (*node.parts, _ANYTHING) if isinstance(node, _All) else ():
        if not _holds_gap(part):
            run.append(part)
            continue
        stretches += [_All(tuple(run)), _best(part)]
        run = []
    return max(stretches, key=_fixed, default=_EMPTY)


def _holds_gap(node: _Node) -> bool:
    """Whether somewhere in `node` words of any kind and number may stand."""
    if isinstance(node, _Repeat):
        long = node.most is None or node.most > LONGEST_WORD
        phrases = long and isinstance(node.part, _Chars) and node.part.ascii >= _GAP
        return phrases or _holds_gap(node.part)
    if isinstance(node, _All | _Any):
        return any(map(_holds_gap, node.parts if isinstance(node, _All) else node.branches))
    return False


def _is_empty(node: _Node) -> bool:
    return isinstance(node, _All) and not node.parts


def _may_be_empty(node: _Node) -> bool:
    if isinstance(node, _Repeat):
        return node.least == 0 or _may_be_empty(node.part)
    if isinstance(node, _Any):
        return any(map(_may_be_empty, node.branches))
    return isinstance(node, _All) and all(map(_may_be_empty, node.parts))


def _cut(node: _Node, end: int) -> _Node:
    """`node` without what need not be there at its start (`end` 0) or at its end (-1)."""
    if _may_be_empty(node):
        return _EMPTY
    if isinstance(node, _All):
        parts = list(node.parts)
        while _may_be_empty(parts[end]):
            del parts[end]
        parts[end] = _cut(parts[end], end)
        return _All(tuple(parts))
    if isinstance(node, _Any):
        return _Any(tuple(_cut(branch, end) for branch in node.branches))
    if isinstance(node, _Repeat):
        if node.least == 1:
            return _cut(node.part, end)
        if not isinstance(node.part, _Chars):
            return node
        rest = (_Repeat(node.part, node.least - 1, node.least - 1), _Ends(node.part))
        return _All(rest if end else rest[::-1])
    return _Ends(node) if isinstance(node, _Chars) else node


def _fixed(node: _Node) -> int:
    """How many bytes the longest literal has that stands in everything `node` matches."""
    if isinstance(node, _Bytes):
        return len(node.data)
    if isinstance(node, _Chars | _Ends):
        return 0
    if isinstance(node, _Repeat):
        return _fixed(node.part) if node.least else 0
    if isinstance(node, _Any):
        return min(map(_fixed, node.branches))
    longest = run = 0
    for part in node.parts:
        run = run + len(part.data) if isinstance(part, _Bytes) else 0
        longest = max(longest, run, _fixed(part))
    return longest


def _fixed_words(node: _Node) -> list[int]:
    """The length of the fixed text of each stretch between the outermost gaps."""
    parts = node.parts if isinstance(node, _All) else (node,)
    words, run = list[int](), list[_Node]()
    for part in (*parts, _ANYTHING):
        if _holds_gap(part):
            words.append(_fixed(_All(tuple(run))))
            run = []
        else:
            run.append(part)
    return words


def _written(node: _Node, *, most_copies: int | None) -> str:
    """The node as text. A count above `most_copies` becomes "this many or more": small for an engine of states."""
    if isinstance(node, _Bytes):
        return "".join(f"\\x{byte:02x}" for byte in node.data)
    if isinstance(node, _Ends):
        return _class(node.chars)
    if isinstance(node, _Chars):
        return _written(_Repeat(node, 1, 1), most_copies=most_copies) if node.beyond else _class(node)
    if isinstance(node, _All):
        return "".join(_written(part, most_copies=most_copies) for part in node.parts)
    if isinstance(node, _Any):
        return f"(?:{'|'.join(_written(branch, most_copies=most_copies) for branch in node.branches)})"
    least, most = node.least, node.most
    if isinstance(node.part, _Chars):
        part = _class(node.part)
        most = most * CHARACTER_BYTES if most is not None and node.part.beyond else most
    else:
        part = f"(?:{_written(node.part, most_copies=most_copies)})"
    if most_copies is not None:
        least, most = min(least, most_copies), None if most is None or most > most_copies else most
    return f"{part}{{{least},{'' if most is None else most}}}"


@lru_cache(maxsize=256)
def _class(chars: _Chars) -> str:
    codes = [code in chars.ascii for code in range(128)] + [chars.beyond] * 128
    ranges: list[str] = []
    start = 0
    while start < 256:
        if not codes[start]:
            start += 1
            continue
        end = start
        while end + 1 < 256 and codes[end + 1]:
            end += 1
        ranges.append(f"\\x{start:02x}" if start == end else f"\\x{start:02x}-\\x{end:02x}")
        start = end + 1
    return f"[{''.join(ranges)}]" if ranges else "[^\\x00-\\xff]"
