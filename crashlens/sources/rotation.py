"""Rotated logs joined: which files are parts of one log, and does its clock run on from one to the next?

`syslog`, `syslog.1` and `syslog.2.gz` are one log of one machine. Their local times are one clock, so that records of
two parts are ordered; without that each file would keep a clock of its own. Names only propose: parts are joined where
their times follow each other without an overlap and no two of them name different hosts, else each keeps its clock.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

import polars as pl

_PACKED = re.compile(r"\.(?:gz|zst|xz|bz2)$")
_NUMBER = re.compile(r"(?P<base>.+)\.(?P<number>\d{1,3})")
_DATE = re.compile(r"(?P<base>.+?)[-.](?P<date>\d{8}(?:-?\d{6})?|\d{4}-\d\d-\d\d)")
_OLD = re.compile(r"(?P<base>.+)\.old")
_KINDS = ("local", "local_no_year")
_CLOCKED = ("events", "stamps", "steps", "metrics", "requests", "clocks")  # tables whose rows name a clock of a log


@dataclass(frozen=True, slots=True)
class _Part:
    """One file of a rotated log; parts sort from the oldest to the newest by what their names say."""

    age: tuple[int, str]
    source_id: int
    path: str


@dataclass(frozen=True, slots=True)
class _Shift:
    """What becomes of one clock of one part."""

    source_id: int
    clock_id: str
    into: str
    years: int


def join_rotated(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables with one clock per rotated log, and a notice on each part that was joined.

    A year-less clock that wraps from December to January between two parts goes on in the next year.

    Args:
        tables: Every table by name.
    """
    shifts: list[_Shift] = []
    notices: dict[int, str] = {}
    for parts in _groups(tables["sources"]):
        found = [shift for kind in _KINDS for shift in _joined(parts, kind, tables)]
        shifts += found
        if found:
            newest = parts[-1]
            sentence = f"It is read as one log with {newest.path}: their times follow each other."
            notices |= {part.source_id: sentence for part in parts[:-1]}
    if not shifts:
        return tables
    changed = {name: _renamed(tables[name], shifts) for name in _CLOCKED if name in tables}
    return tables | changed | {"sources": _noticed(tables["sources"], notices)}


def _groups(sources: pl.DataFrame) -> list[list[_Part]]:
    """Parts of each log whose newest file is there too, oldest first."""
    groups: dict[str, list[_Part]] = {}
    for row in sources.filter(pl.col("state").is_in(["read", "partly_read"])).iter_rows(named=True):
        base, age = _rotation(row["path"])
        groups.setdefault(base, []).append(_Part(age, row["source_id"], row["path"]))
    newest = (9, "")
    return [
        sorted(parts, key=lambda part: part.age)
        for parts in groups.values()
        if len({part.age for part in parts}) == len(parts) > 1 and any(part.age == newest for part in parts)
    ]


def _rotation(path: str) -> tuple[str, tuple[int, str]]:
    """The path that a rotated log had when it was written to, and where it stands among its parts."""
    place = PurePosixPath(path)
    name = _PACKED.sub("", place.name)
    if found := _NUMBER.fullmatch(name):
        base, age = found["base"], (1, f"{999 - int(found['number']):03}")
    elif found := _DATE.fullmatch(name):
        base, age = found["base"], (1, found["date"].replace("-", ""))
    elif found := _OLD.fullmatch(name):
        base, age = found["base"], (2, "")
    else:
        base, age = name, (9, "")
    return (place.parent / base).as_posix(), age


def _joined(parts: list[_Part], kind: str, tables: dict[str, pl.DataFrame]) -> list[_Shift]:
    """What becomes of the clocks of this kind; empty where times do not follow each other or only one part has it."""
    clocks, stamps = tables["clocks"], tables["stamps"]
    hosts: set[str] = set()
    spans: list[tuple[_Part, str, pl.Series]] = []
    for part in parts:
        own = clocks.filter((pl.col("source_id") == part.source_id) & (pl.col("kind") == kind))
        if own.height != 1:
            continue
        clock_id = str(own["clock_id"][0])
        hosts |= {str(host) for host in own["host"].drop_nulls()}
        spans.append((part, clock_id, stamps.filter(pl.col("clock_id") == clock_id)["clock_us"]))
    spans = [span for span in spans if len(span[2])]
    if len(spans) < 2 or len(hosts) > 1:
        return []
    into, shifts, last, years = spans[-1][1], list[_Shift](), None, 0
    for part, clock_id, times in spans:
        first, end = _ends(times, years)
        if last is not None and first < last and kind == "local_no_year":
            years += 1
            first, end = _ends(times, years)
        if last is not None and first < last:
            return []
        last = end
        shifts.append(_Shift(part.source_id, clock_id, into, years))
    return shifts


def _ends(times: pl.Series, years: int) -> tuple[int, int]:
    moved = _later(pl.col("t"), years)
    first, last = times.to_frame("t").select(low=moved.min(), high=moved.max()).row(0)
    return int(first), int(last)


def _later(clock_us: pl.Expr, years: int) -> pl.Expr:
    return clock_us.cast(pl.Datetime("us")).dt.offset_by(f"{years}y").cast(pl.Int64)


def _renamed(table: pl.DataFrame, shifts: list[_Shift]) -> pl.DataFrame:
    for shift in shifts:
        own = (pl.col("source_id") == shift.source_id) & (pl.col("clock_id") == shift.clock_id)
        changes = [pl.when(own).then(pl.lit(shift.into)).otherwise(pl.col("clock_id")).alias("clock_id")]
        if shift.years and "clock_us" in table.columns:
            later = _later(pl.col("clock_us"), shift.years)
            changes.append(pl.when(own).then(later).otherwise(pl.col("clock_us")).alias("clock_us"))
        if shift.years and "time_utc" in table.columns:
            later = pl.col("time_utc").dt.offset_by(f"{shift.years}y")
            changes.append(pl.when(own).then(later).otherwise(pl.col("time_utc")).alias("time_utc"))
        table = table.with_columns(changes)
    return table


def _noticed(sources: pl.DataFrame, notices: dict[int, str]) -> pl.DataFrame:
    told: list[list[str]] = []
    for row in sources.iter_rows(named=True):
        more = [notices[row["source_id"]]] if row["source_id"] in notices else []
        told.append([*(row["notices"] or []), *more])
    return sources.with_columns(notices=pl.Series(told, dtype=sources.schema["notices"]))
