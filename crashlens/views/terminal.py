"""How does text become lines for a terminal? The one place that neutralises control characters there."""

import unicodedata

from crashlens.views.visible import visible

TAB = 4


def width_of(line: str) -> int:
    """Columns that `line` takes in a terminal: two for East Asian wide characters, none for combining marks."""
    return sum(_columns(character) for character in line)


def printable_lines(text: str, *, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """`text` as lines of at most `width` columns, wrapped at spaces where there are some, else where the line is full.

    Args:
        text: Any text; its own line feeds start new lines, controls become visible, tabs become spaces.
        width: Columns, indents included; at least 20 are used.
        first: What stands in front of the first line.
        rest: What stands in front of all others; without it as many spaces as `first` is wide.
    """
    indent = " " * width_of(first) if rest is None else rest
    room = max(20, width) - max(width_of(first), width_of(indent))
    pieces = [piece for line in visible(text).expandtabs(TAB).split("\n") for piece in _wrapped(line, max(1, room))]
    return [(first if place == 0 else indent) + piece for place, piece in enumerate(pieces)]


def _wrapped(line: str, room: int) -> list[str]:
    pieces: list[str] = []
    start = columns = 0
    space = -1
    for place, character in enumerate(line):
        columns += _columns(character)
        if character == " ":
            space = place
        if columns > room and place > start:
            end = space + 1 if space > start else place
            pieces.append(line[start:end].rstrip(" "))
            start, space = end, -1
            columns = width_of(line[start : place + 1])
    return [*pieces, line[start:]]


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
