"""What a format is: a name, a way to recognise it by content, and a way to turn it into rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from crashlens.scan.member import Member
from crashlens.sources.writer import TableWriter


@dataclass(frozen=True, slots=True)
class Format:
    """One format that can be read.

    Attributes:
        name: Stable name, shown in `sources.format`.
        title: What a person calls it.
        sniff: How surely the first 64 KiB are of this format, 0 to 1. Never raises.
        parse: Writes the rows of a member. Never raises for what the file holds.
        writes: Tables it can fill.
        reads: `text`, or `bytes` for a format that is no text and takes its member as bytes.
    """

    name: str
    title: str
    sniff: Callable[[bytes], float]
    parse: Callable[[Member, TableWriter], None]
    writes: tuple[str, ...]
    reads: Literal["text", "bytes"] = "text"
