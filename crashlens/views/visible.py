"""Which characters of a text cannot be seen, and what stands for them on screen?

A log line may hold characters that move the cursor, clear the terminal or reverse the reading order. Wherever a person
reads, they are shown as what they are; the JSON keeps the raw text.
"""

import unicodedata

_JOINERS = frozenset({0x200C, 0x200D})  # Persian, Indic scripts and emoji are misspelt without them
# Blank letters and joiners that Unicode does not class as format characters (DerivedCoreProperties,
# Default_Ignorable_Code_Point).
_BLANK = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xE0100, 0xE01F0)})
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Shown(dict[int, int | str]):
    def __missing__(self, code: int) -> int | str:
        shown = self[code] = _shown(code)
        return shown


def _shown(code: int) -> int | str:
    if code in (0x09, 0x0A) or code in _JOINERS:
        return code
    if code < 0x20:
        return 0x2400 + code
    if code == 0x7F:
        return 0x2421
    if code in _BLANK or unicodedata.category(chr(code)) in _UNSEEN:
        return f"\\u{{{code:04X}}}"
    return code


_TABLE = _Shown()


def visible(text: str) -> str:
    r"""`text` with every character that cannot be seen replaced by one that can.

    C0 controls become their pictures (ESC is shown as U+241B), C1 controls, bidi and other format characters, blank
    letters and lone surrogates become `\u{202E}`. Line feed and tab stay, zero-width joiners too.

    Source: Unicode Standard Annex 9 (bidi controls), Unicode block Control Pictures.
    """
    return text.translate(_TABLE)


def without_surrogates(text: str) -> str:
    r"""`text` with lone surrogates as `\u{D800}`, because no JSON message can carry them. All else stays raw."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(f"\\u{{{ord(c):04X}}}" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    return text
