"""Rows of `events` as objects that can be ordered: when did it begin, when was it written, where does it stand?"""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from crashlens.analysis.doubled_hours import HOUR_US, doubled_hours, hour_of
from crashlens.findings import Place
from crashlens.timebase import Instant, Order, distance_us, order, to_us

_COPIED = (
    "source_id", "line_end", "n", "rule_id", "topic", "host", "rank", "pid", "gpu_key", "job_id", "process_group",
    "xid", "seq", "timeout_ms", "ran_ms", "exit_code", "severity", "text", "repeats",
)  # fmt: skip


Kind = tuple[str, int | None]
_CANDIDATES = 4  # one per kind of clock: of one clock the first by its own time is the only one that can be first


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One row of `events`.

    Attributes:
        place: Source path and line.
        source_id: Its source.
        rule_id: Rule that matched.
        written: When the record was written.
        began: When what it reports began: `written` less the wait it reports.
        fields: Captures without a column of their own.
        repeats: How many records of the same kind and place in the program it stands for, itself included.
        beside: Of a record without a time, when the next record of its source that has one was written, else the
            last one before it; for display and for choosing among records only.
    """

    place: Place
    source_id: int
    line_end: int
    n: int
    rule_id: str
    topic: str
    written: Instant
    began: Instant
    host: str | None
    rank: int | None
    pid: int | None
    gpu_key: str | None
    job_id: str | None
    process_group: str | None
    xid: int | None
    seq: int | None
    timeout_ms: int | None
    ran_ms: int | None
    exit_code: int | None
    severity: str
    fields: dict[str, str]
    text: str
    repeats: int = 1
    beside: Instant | None = None

    @property
    def dated(self) -> bool:
        """Whether the record has a stamp at all."""
        return self.written.clock_us is not None


def log_records(events: pl.DataFrame, sources: pl.DataFrame) -> list[LogRecord]:
    """Every event in the order of source and line, as objects.

    One machine has one name: where `node7` and exactly one `node7.some.domain` both occur, the long form is shortened.
    """
    paths = dict(zip(sources["source_id"].to_list(), sources["path"].to_list(), strict=True))
    short = _short_names(set(events["host"].drop_nulls().to_list()))
    rows = list(events.sort("source_id", "line", "n").iter_rows(named=True))
    doubled = doubled_hours(rows)
    for row in rows:
        row["host"] = short.get(row["host"], row["host"])
        if doubled and hour_of(row) in doubled:
            row["uncertainty_us"] = (row["uncertainty_us"] or 0) + HOUR_US
    return _placed([_record(row, paths) for row in rows])


def _placed(records: list[LogRecord]) -> list[LogRecord]:
    """The records in their order, those without a time with that of their neighbour: a traceback carries no stamps."""
    near: dict[int, Instant] = {}
    found: dict[int, Instant] = {}
    for along in (reversed(range(len(records))), range(len(records))):
        near.clear()
        for at in along:
            record = records[at]
            if record.dated:
                near[record.source_id] = record.written
            elif at not in found and record.source_id in near:
                found[at] = near[record.source_id]
    return [replace(record, beside=found[at]) if at in found else record for at, record in enumerate(records)]


def _short_names(hosts: set[str]) -> dict[str, str]:
    """Long host names whose short form occurs too and belongs to no other long name; addresses are left alone."""
    long_forms: dict[str, list[str]] = {}
    for host in hosts:
        short, dot, _ = host.partition(".")
        if dot and not short.isdigit():
            long_forms.setdefault(short, []).append(host)
    return {names[0]: short for short, names in long_forms.items() if len(names) == 1 and short in hosts}


def thin_out(records: list[LogRecord], *, most_of_a_kind: int) -> tuple[list[LogRecord], dict[Kind, int]]:
    """Of each kind of record of each source the first and the last ones by time, so that a flood costs no more.

    Args:
        records: All records.
        most_of_a_kind: How many are kept of one rule, Xid, state and source: four fifths the first, the rest the last.

    Returns:
        The kept records in their order, and per rule and Xid how many were left out.
    """
    groups: dict[tuple[int, Kind, str], list[LogRecord]] = {}
    for record in records:
        state = record.fields.get("state", "")  # a job that failed is of another kind than one that ended well
        groups.setdefault((record.source_id, kind_of(record), state), []).append(record)
    dropped: set[int] = set()
    left_out: dict[Kind, int] = {}
    for (_, kind, _), own in groups.items():
        if len(own) > most_of_a_kind:
            last = most_of_a_kind // 5
            ordered = sorted(own, key=sort_key)
            gone = ordered[most_of_a_kind - last : len(ordered) - last]
            dropped.update(map(id, gone))
            left_out[kind] = left_out.get(kind, 0) + len(gone)
    return [record for record in records if id(record) not in dropped], left_out


def kind_of(record: LogRecord) -> Kind:
    """Rule and Xid number."""
    return record.rule_id, record.xid


def earliest(records: list[LogRecord], *, skew_us: int) -> LogRecord | None:
    """The record that began before every other one, or the only one; None where the order does not show it."""
    for candidate in sorted(records, key=sort_key)[:_CANDIDATES]:
        if all(
            other is candidate or order(candidate.began, other.began, skew_us=skew_us) == "before" for other in records
        ):
            return candidate
    return None


def sort_key(record: LogRecord) -> tuple[int, int, int, int, int]:
    """Time where the record or its neighbour in the file has one (UTC, then its own clock), else the place in the file.

    For display and for choosing among records; it claims no order.
    """
    moment = record.beside or record.began
    if moment.utc_us is not None:
        return (0, moment.utc_us, record.source_id, record.place.line, record.n)
    if moment.clock_us is not None:
        return (1, moment.clock_us, record.source_id, record.place.line, record.n)
    return (2, 0, record.source_id, record.place.line, record.n)


def order_of(first: LogRecord, second: LogRecord, *, skew_us: int) -> Order:
    """Whether what `first` reports began before what `second` reports began."""
    return order(first.began, second.began, skew_us=skew_us)


def seconds_between(first: Instant, second: Instant) -> float | None:
    """Seconds from `first` to `second`, or None where they share no scale."""
    distance = distance_us(first, second)
    return None if distance is None else distance / 1e6


def _record(row: dict[str, Any], paths: dict[int, str]) -> LogRecord:
    written = Instant(
        clock_id=row["clock_id"],
        clock_us=row["clock_us"],
        utc_us=None if row["time_utc"] is None else to_us(row["time_utc"]),
        uncertainty_us=row["uncertainty_us"] or 0,
        host=row["host"],
    )
    waited_ms = row["ran_ms"] if row["time_marks"] == "end" else None
    return LogRecord(
        place=Place(paths[row["source_id"]], row["line"]),
        written=written,
        began=written if waited_ms is None else written.shifted(-waited_ms * 1000),
        fields={item["key"]: item["value"] for item in row["fields"] or ()},
        **{name: row[name] for name in _COPIED},
    )
