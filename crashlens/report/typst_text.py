"""The one place where text becomes Typst source.

Text enters as string literals only, never as markup, so `#panic`, `$` or a backtick in a log line is a character and
nothing else. Characters that a page cannot show are spelled out first (`visible`). Long tokens get break points that
leave no trace in copied text: boxes in prose, hard line ends with a hanging indent in mono text.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from crashlens.report.fonts import FontSet
from crashlens.report.visible import visible

# CJK text breaks between any two characters by itself.
_LONG_TOKEN = re.compile(r"[^\s\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]{19,}")
# A Korean word may break at any syllable; readers expect the break at the space.
_KOREAN_WORD = re.compile(r"(?<!\S)(?=\S{0,15}[가-힣])\S{1,16}(?!\S)")
_PIECE = re.compile(r"[/\\_.,:;=@-]?[^/\\_.,:;=@-]{1,8}[/\\_.,:;=@-]?|[/\\_.,:;=@-]{1,9}")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})  # the page would show them in another order than the line has them
_LONGEST_WHOLE_WORD = 24  # columns
_LONGEST_KOREAN_WORD = 16  # columns: the narrowest column of a table holds that many
_TAB_COLUMNS = 8
_HANGING = "    "


@dataclass(frozen=True, slots=True)
class TypstText:
    """Writes text for one set of fonts.

    Attributes:
        fonts: Fonts of the document.
        refused: Characters that the typesetter refused although a font lists them.
    """

    fonts: FontSet
    refused: frozenset[str] = frozenset()

    def literal(self, text: str) -> str:
        """A Typst string literal; line breaks inside `text` become spaces."""
        return _quoted(self.shown(" ".join(text.split("\n"))))

    def prose(self, text: str) -> str:
        """A Typst code expression that yields content which can break inside long tokens."""
        flat = self.shown(" ".join(text.split()))
        parts: list[str] = []
        at = 0
        for start, pieces in sorted([*self._long_tokens(flat), *self._korean_words(flat)]):
            if before := flat[at:start]:
                parts.append(_quoted(before))
            # Between two boxes a line may break, and the copied text still holds the token in one piece.
            parts += [f"box({_quoted(piece)})" for piece in pieces]
            at = start + sum(map(len, pieces))
        if at < len(flat) or not parts:
            parts.append(_quoted(flat[at:]))
        return parts[0] if len(parts) == 1 else "{" + "; ".join(parts) + "}"

    def heading(self, text: str) -> str:
        """As `prose`, but words of CJK text stay whole: in display sizes a word cut in two reads badly."""
        flat = self.shown(" ".join(text.split()))
        if flat.isascii() or any(self.columns(word) > _LONGEST_WHOLE_WORD for word in flat.split()):
            return self.prose(text)
        return "{" + '; " "; '.join(f"box({_quoted(word)})" for word in flat.split()) + "}"

    def mono(self, text: str, *, columns: int, most_lines: int) -> tuple[str, bool]:
        """A Typst string literal of lines no wider than `columns`, and whether it holds all of `text`."""
        lines, whole = self.lines(text, columns=columns, most_lines=most_lines)
        return _quoted("\n".join(lines)).replace("\n", "\\n"), whole

    def lines(self, text: str, *, columns: int, most_lines: int) -> tuple[list[str], bool]:
        """The first `most_lines` lines of `text`, wrapped at `columns`, and whether that is all of it.

        Tabs are expanded and unseen characters spelled out; a continued line is indented.
        """
        most_characters = columns * most_lines  # wrapping never looks further, so a huge text costs no more
        lines: list[str] = []
        for line in text[:most_characters].split("\n"):
            lines += self._wrapped(self.shown(line.expandtabs(_TAB_COLUMNS)), columns)
        return lines[:most_lines], len(lines) <= most_lines and len(text) <= most_characters

    def shown(self, text: str) -> str:
        """`text` with every character spelled out that the fonts cannot show in reading order."""
        return visible(text if text.isascii() else unicodedata.normalize("NFC", text), holds=self._holds)

    def columns(self, text: str) -> int:
        """Width of `text` in mono columns: CJK and everything outside the Latin mono font counts as two."""
        return len(text) if text.isascii() else sum(self._width(char) for char in text)

    def _long_tokens(self, flat: str) -> list[tuple[int, list[str]]]:
        return [(token.start(), _PIECE.findall(token.group())) for token in _LONG_TOKEN.finditer(flat)]

    def _korean_words(self, flat: str) -> list[tuple[int, list[str]]]:
        if flat.isascii():
            return []
        words = [(word.start(), word.group()) for word in _KOREAN_WORD.finditer(flat)]
        return [(start, [word]) for start, word in words if self.columns(word) <= _LONGEST_KOREAN_WORD]

    def _holds(self, char: str) -> bool:
        return (
            ord(char) in self.fonts.holds
            and char not in self.refused
            and not unicodedata.category(char).startswith("M")  # a mark apart from its letter stands on nothing
            and unicodedata.bidirectional(char) not in _RIGHT_TO_LEFT
        )

    def _width(self, char: str) -> int:
        wide = unicodedata.east_asian_width(char) in "WF"
        return 2 if wide or ord(char) not in self.fonts.narrow else 1

    def _wrapped(self, line: str, columns: int) -> list[str]:
        lines: list[str] = []
        indent = ""
        while self.columns(line) > columns - len(indent):
            cut = self._cut(line, columns - len(indent))
            lines.append(indent + line[:cut])
            line = line[cut:]
            indent = _HANGING
        return [*lines, indent + line]

    def _cut(self, line: str, columns: int) -> int:
        """Where to end a line: behind the last space of its right third, else at the last column that fits."""
        used = 0
        cut = 0
        for char in line:
            used += self._width(char)
            if used > columns:
                break
            cut += 1
        space = line.rfind(" ", 2 * cut // 3, cut)
        return max(1, space + 1 if space > 0 else cut)


def array(items: Iterable[str]) -> str:
    """A Typst array of code expressions; one of a single item keeps its comma."""
    return "(" + "".join(f"{item}, " for item in items) + ")"


def svg_shown(svg: str, text: TypstText) -> str:
    """An SVG drawing whose labels hold only characters that the fonts can show; markup is left as it is."""
    return "".join(char if char in "\n\t" else text.shown(char) for char in svg) if not svg.isascii() else svg


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
