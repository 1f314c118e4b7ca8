"""Objects of a JSON document with the lines on which they and their values stand.

What tools print as JSON is one object after another, a list of them, or a list under a key of one object. The text is
held while it is read, up to a limit; what is cut off loses the object that was cut and keeps those before it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from crashlens.scan.member import Member
from crashlens.sources.writer import TableWriter

MOST_JSON = 64 * 1024**2  # bytes of one JSON document that are held at a time
_HEAD = 100_000  # characters in which the list has to begin


@dataclass(frozen=True, slots=True)
class Found:
    """One object and where in the text it starts and ends."""

    item: dict[str, Any]
    start: int
    end: int


@dataclass(slots=True)
class Document:
    """The text of a JSON document."""

    text: str
    _at: int = 0  # a place whose line is known: the next one asked for is mostly near it
    _line: int = 1

    def objects(self, key: str, out: TableWriter) -> Iterator[Found]:
        """The objects of the list under `key`, else those that stand one after another."""
        decoder = json.JSONDecoder()
        listed = re.search(rf'"{key}"\s*:\s*\[', self.text[:_HEAD])
        at = listed.end() if listed and self.text.lstrip("\ufeff \t\r\n")[:1] == "{" else 0
        while True:
            at = self.text.find("{", at)
            if at < 0:
                return
            try:
                item, end = decoder.raw_decode(self.text, at)
            except (ValueError, RecursionError):
                out.notice(f"The object at line {self.line(at)} is no whole JSON; what follows was not read.")
                return
            yield Found(cast("dict[str, Any]", item), at, end)
            if listed and self.text[end : end + 4096].lstrip()[:1] == "]":
                return
            at = end

    def line(self, at: int) -> int:
        """The line of a place in the text."""
        ahead = at >= self._at
        between = self.text.count("\n", min(at, self._at), max(at, self._at))
        self._line += between if ahead else -between
        self._at = at
        return self._line

    def place(self, found: Found, value: str, *, behind: int = 0) -> tuple[int, str]:
        """Line of a text inside an object, and that line; of an object on one line, what surrounds the text.

        Args:
            found: The object.
            value: A key or a value.
            behind: Place in the text from which it is searched.
        """
        for written in (json.dumps(value, ensure_ascii=False), json.dumps(value)):
            at = self.text.find(written, max(behind, found.start), found.end)
            if at >= 0:
                return self._shown(found, at)
        return self._shown(found, found.start)

    def _shown(self, found: Found, at: int) -> tuple[int, str]:
        start, end = self.text.rfind("\n", 0, at) + 1, self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return self.line(at), self.text[max(start, found.start) : min(end, found.end)].strip()


def read_document(member: Member, out: TableWriter) -> Document:
    """The text of `member`; what is longer than the limit is cut with a notice."""
    parts: list[str] = []
    size = 0
    for block in member.blocks():
        size += len(block.data)
        if size <= MOST_JSON:
            parts.append(block.data.decode("utf-8", "replace"))
    if size > MOST_JSON:
        out.notice(f"It is longer than {MOST_JSON // 1024**2} MiB; what comes later was not read.")
    return Document("\n".join(part.removesuffix("\n") for part in parts))


def table(item: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under `key`, or an empty one."""
    value: object = item.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def many(item: dict[str, Any], key: str) -> list[Any]:
    """The list under `key`; one value that is no list is a list of one."""
    value: object = item.get(key)
    if value is None:
        return []
    return cast("list[Any]", value) if isinstance(value, list) else [value]
