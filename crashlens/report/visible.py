r"""Characters that act on a page instead of standing on it, spelled out so that the reader sees them.

A control character becomes `\x1b`, a bidirectional or other invisible one `\u{202E}`, and one that cannot be shown at
all (a lone surrogate, an unassigned code, one without a glyph) `[U+D800]`. Everything else stays as it is.
"""

import re
import unicodedata
from collections.abc import Callable

_NOT_PLAIN = re.compile(r"[^ -~]")
# Code points that Unicode calls default-ignorable although their category says letter or mark: they take no room.
_INVISIBLE = frozenset({0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0})
_ACTING = frozenset({"Cc"})
_UNSEEN = frozenset({"Cf", "Zl", "Zp"})
_UNSHOWABLE = frozenset({"Cs", "Cn", "Co"})


def visible(text: str, *, holds: Callable[[str], bool]) -> str:
    """`text` with every character spelled out that a reader could not see.

    Args:
        text: Any text; newlines and tabs are controls too, so split and expand them before.
        holds: Whether the page can show a character that Unicode itself calls showable.
    """
    return _NOT_PLAIN.sub(lambda match: _spelled(match.group(), holds), text)


def _spelled(char: str, holds: Callable[[str], bool]) -> str:
    code = ord(char)
    category = unicodedata.category(char)
    if category in _ACTING:
        return f"\\x{code:02x}"
    if category in _UNSEEN or code in _INVISIBLE or 0xFE00 <= code <= 0xFE0F or 0xE0000 <= code <= 0xE0FFF:
        return f"\\u{{{code:04X}}}"
    if category in _UNSHOWABLE or not holds(char):
        return f"[U+{code:04X}]"
    return char
