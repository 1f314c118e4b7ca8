"""The one door into the tables: rows of one source, conformed to their schema, with what could not be read counted."""

from dataclasses import dataclass, field

import polars as pl

from crashlens.rules.load import shipped_rules
from crashlens.rules.model import RuleSet
from crashlens.schemas import Schema

SHOWN_UNREAD = 3  # unread lines named one by one in the notices; the rest is a count


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said about one source.

    Attributes:
        tz: IANA zone of its local times, or None.
        year: Year of its first year-less time, or None.
        rules: The rules that are read with, or None for those that come with crashlens.
    """

    tz: str | None = None
    year: int | None = None
    rules: RuleSet | None = None

    @property
    def rule_set(self) -> RuleSet:
        """The rules to read with."""
        return self.rules or shipped_rules()


@dataclass
class TableWriter:
    """Collects the rows of one source.

    Attributes:
        source_id: Number of the source; every row carries it.
        options: What the user said about this source.
        schemas: Schema per table name.
        frames: Conformed frames per table name, in the order they came.
        notices: Sentences about what was wrong or left out.
        matched: Lines that became rows.
        error_like: Lines with an error word that no rule claimed.
        error_lines: The first of them.
        error_templates: What they say most often: rows of the column of that name.
        harmless: Lines with an error word that tell of no failure.
    """

    source_id: int
    options: ReadOptions
    schemas: dict[str, Schema]
    frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict[str, list[pl.DataFrame]])
    notices: list[str] = field(default_factory=list[str])
    matched: int = 0
    error_like: int = 0
    error_lines: list[int] = field(default_factory=list[int])
    error_templates: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    harmless: int = 0
    unread_lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    unread_count: int = 0

    def rows(self, table: str, frame: pl.DataFrame) -> None:
        """Append `frame` to `table`; `source_id` is filled in, absent columns become null."""
        if not frame.height:
            return
        frame = frame.with_columns(pl.lit(self.source_id, dtype=pl.UInt32).alias("source_id"))
        self.frames.setdefault(table, []).append(self.schemas[table].conform(frame))

    def notice(self, sentence: str) -> None:
        """Say something about the source that its reader must know; the same sentence is said once."""
        if sentence not in self.notices:
            self.notices.append(sentence)

    def unread(self, line: int, why: str) -> None:
        """Count a line that looked like data and could not be read."""
        self.unread_count += 1
        if len(self.unread_lines) < SHOWN_UNREAD:
            self.unread_lines.append((line, why))

    def all_notices(self) -> list[str]:
        """Every notice, the unread lines among them."""
        named = [f"Line {line} was not read: {why}." for line, why in self.unread_lines]
        more = self.unread_count - len(self.unread_lines)
        return [*self.notices, *named, *([f"{more:,} more lines were not read."] if more else [])]
