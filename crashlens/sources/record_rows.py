"""Rows of `events` from sources that are no line logs: tables and objects of schedulers, read cell by cell.

A message in a cell is searched by the same line rules as a log line; a cell that is a state makes a record of the rule
that stands for it. What identifies the record (job, pod, container, node) is added to its captures.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from crashlens.scan.envelope import Peeled, peel
from crashlens.scan.member import Member
from crashlens.scan.records import Hit, hits_of
from crashlens.sources.clock_rows import write_clocks
from crashlens.sources.event_rows import RowBuilder
from crashlens.sources.writer import TableWriter

MOST_ROWS = 200_000  # no scheduler keeps more for one question; the rest is counted


def text_lines(member: Member) -> Iterator[tuple[int, str]]:
    """Each line of `member` with its number, as text; what is no UTF-8 is replaced."""
    for block in member.blocks():
        for line, data in enumerate(block.data.split(b"\n"), block.first_line):
            yield line, data.removesuffix(b"\r").decode("utf-8", "replace")


class RecordRows:
    """Collects the records and facts of one source and hands them to the writer."""

    def __init__(self, out: TableWriter) -> None:
        self._out = out
        self._rules = out.options.rule_set
        self._builder = RowBuilder(out.source_id, out.options)
        self._events: list[dict[str, object]] = []
        self._facts: list[dict[str, object]] = []
        self._of_line: dict[int, int] = {}
        self._left_out = 0

    def state(
        self, rule_id: str, line: int, text: str, about: Mapping[str, str], *, stamp: str = "", host: str | None = None
    ) -> None:
        """A record of `rule_id` whose captures are `about`.

        Args:
            rule_id: Rule that stands for such a record; an unknown one makes none.
            line: Line that names it.
            text: What stands there.
            about: Captures; empty ones are left out.
            stamp: Its time as the source writes it, or "".
            host: Machine it is about.
        """
        rule = self._rules.rule(rule_id)
        if rule is not None:
            self._add(Hit(rule, line, line, 0, _peeled("", stamp, host), {}, text), about)

    def message(
        self, message: str, line: int, text: str, about: Mapping[str, str], *, stamp: str = "", host: str | None = None
    ) -> int:
        """The records that the line rules find in `message`; how many they are. Arguments as for `state`."""
        hits = hits_of(self._rules, _peeled(message, stamp, host), line, text)
        for hit in hits:
            self._add(hit, about)
        return len(hits)

    def fact(self, line: int, host: str | None, component: str, value: str) -> None:
        """One row of `inventory`."""
        if value:
            self._facts.append({"line": line, "host": host, "component": component, "value": value})

    def close(self) -> None:
        """Hand everything over."""
        for table, rows in (("events", self._events), ("inventory", self._facts), ("stamps", self._builder.stamps)):
            if rows:
                schema = self._out.schemas[table].polars()
                named = [{name: row.get(name) for name in schema} for row in rows]
                self._out.rows(table, pl.DataFrame(named, schema=schema, orient="row"))
        write_clocks(self._builder, self._out)
        self._out.matched += len(self._of_line)
        if self._left_out:
            self._out.notice(f"{self._left_out:,} more records were counted and not kept.")

    def _add(self, hit: Hit, about: Mapping[str, str]) -> None:
        if len(self._events) >= MOST_ROWS:
            self._left_out += 1
            return
        hit.n = self._of_line.get(hit.line, 0)
        self._of_line[hit.line] = hit.n + 1
        hit.groups = {**hit.groups, **{key: value for key, value in about.items() if value and key not in hit.groups}}
        self._events.append(self._builder.event(hit))


def _peeled(message: str, stamp: str, host: str | None) -> Peeled:
    return Peeled(message, stamps=peel(stamp).stamps if stamp else [], host=host)
