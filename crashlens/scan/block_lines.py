"""The lines of a block while they are searched: which lines of the file they are, and how they are shown."""

from crashlens.scan.member import Block
from crashlens.scan.peeled import RS

LEAST_STANDING = 0.8  # of the words of a normalised line that must stand in the file for it to be shown


class BlockLines:
    """Numbers and texts of the lines of one block.

    Args:
        block: The block.
        data: Its data as it is searched, without terminal escapes.

    Lines are counted from `block.first_line` on; in a normalised block that is not their number in the file.
    """

    def __init__(self, block: Block, data: bytes) -> None:
        self._block = block
        self._changed = data is not block.data
        self._raw: list[bytes] | None = None

    def number(self, line: int) -> int:
        """Number in the file of the first line that `line` was made of."""
        lines = self._block.lines
        return line if lines is None else lines.first[line - self._block.first_line]

    def last(self, line: int) -> int:
        """Number in the file of the last line that `line` was made of."""
        lines = self._block.lines
        return line if lines is None else lines.last[line - self._block.first_line]

    def pieces(self, line: int) -> list[str] | None:
        """The lines of the file that `line` may be one of, where it is only tried; else None."""
        lines = self._block.lines
        return None if lines is None else lines.pieces.get(line - self._block.first_line)

    def text(self, line: int, data: bytes) -> tuple[str, str]:
        """The line as it is matched and as it is shown: without and with its terminal escapes."""
        clean = _text(data)
        lines = self._block.lines
        if lines is not None:
            raw = lines.shown(line - self._block.first_line)
            if lines.said is not None:
                clean = _text(lines.said(raw.partition(b"\n")[0])) + clean
            return clean, _readable(clean, _text(raw))
        if not self._changed:
            return clean, clean
        if self._raw is None:
            self._raw = self._block.data.split(b"\n")
        return clean, _text(self._raw[line - self._block.first_line])


def _readable(clean: str, raw: str) -> str:
    """The message rather than the JSON around it, where nearly all its words stand in the file as they are."""
    if not clean.startswith(RS) or not raw.lstrip().startswith("{") or "\n" in raw:
        return raw
    message = clean[clean.find(RS, 1) + 1 :]
    words = message.split()
    standing = sum(word in raw for word in words)
    return message if words and standing >= LEAST_STANDING * len(words) else raw


def _text(data: bytes) -> str:
    return data.removesuffix(b"\r").decode("utf-8", "backslashreplace")
