"""On which time axes can the records be drawn, and where does each axis start and end?

Everything that is placed in UTC shares one axis. A clock that is not placed has an axis of its own, because nothing
says how it lies to UTC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from crashlens.findings import Finding
from crashlens.schemas import Tables
from crashlens.timebase import EPOCH, Window, to_us
from crashlens.views.encoding import size

Kind = Literal["utc", "local", "local_no_year", "monotonic"]
UTC = "utc"
FARTHEST = 4  # evidence far from all samples may stretch the axis to so many times their span, no further
_ALONE_US = 30_000_000  # a single moment is drawn with half a minute on both sides
_PAD = 0.015
_SHOWABLE = (to_us(EPOCH.replace(year=2)), to_us(EPOCH.replace(year=9998)))  # every zone can show these


@dataclass(frozen=True, slots=True)
class Scale:
    """One time axis.

    Attributes:
        key: `utc`, or the `clock_id` that was not placed.
        kind: What its times are.
        path: The source of a clock that was not placed; empty for UTC.
        start_us: Left end, in microseconds of this scale.
        end_us: Right end.
    """

    key: str
    kind: Kind
    path: str
    start_us: int
    end_us: int

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of `frame` that belong on this scale, with `time_us` on it; not cut to its ends."""
        return rows_on(frame, self.key)

    def inside(self) -> pl.Expr:
        """Whether `time_us` lies between its ends."""
        return pl.col("time_us").is_between(self.start_us, self.end_us, closed="left")

    def pixel(self, column: str) -> pl.Expr:
        """Where a time in microseconds lies on the plot area, in pixels from its left end."""
        return (pl.col(column) - self.start_us) / (self.end_us - self.start_us) * size().width


def rows_on(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """The rows of `frame` on the scale `key`, with their time as `time_us`."""
    if key == UTC:
        return frame.filter(pl.col("time_utc").is_not_null()).with_columns(time_us=pl.col("time_utc").dt.epoch("us"))
    own = pl.col("time_utc").is_null() & pl.col("clock_us").is_not_null() & (pl.col("clock_id") == key)
    return frame.filter(own).with_columns(time_us=pl.col("clock_us"))


def time_scales(tables: Tables, findings: Sequence[Finding], window: Window | None) -> tuple[list[Scale], int]:
    """The axes that are needed, UTC first, then clocks with the most samples, steps and error records.

    Args:
        tables: The case.
        findings: Their dated evidence stretches the axis, within reason.
        window: Ends of the UTC axis; None: what was read. It cannot cut a clock that is not placed.

    Returns:
        The scales, at most `size.most_groups`, and how many clocks were left out.
    """
    drawn = [tables.samples, tables.steps, telling(tables.events)]
    keys = [UTC] if any(frame["time_utc"].count() for frame in (tables.samples, tables.steps, tables.events)) else []
    kinds = {row["clock_id"]: row for row in tables.clocks.to_dicts()}
    paths = {row["source_id"]: row["path"] for row in tables.sources.select("source_id", "path").to_dicts()}
    for frame in drawn:
        unplaced = frame.filter(pl.col("time_utc").is_null() & pl.col("clock_us").is_not_null())
        for clock_id in unplaced["clock_id"].drop_nulls().value_counts(sort=True)["clock_id"].to_list():
            if clock_id not in keys:
                keys.append(clock_id)
    scales: list[Scale] = []
    for key in keys[: size().most_groups]:
        start_us, end_us = _ends(tables, key, findings, window)
        clock = kinds.get(key, {})
        kind: Kind = UTC if key == UTC else clock.get("kind", "local")
        scales.append(Scale(key, kind, paths.get(clock.get("source_id"), key) if key != UTC else "", start_us, end_us))
    return scales, max(0, len(keys) - len(scales))


def telling(events: pl.DataFrame) -> pl.DataFrame:
    """The records that their writer meant as warnings or worse, and all Xids."""
    return events.filter(pl.col("severity").is_in(["warning", "error", "fatal"]) | pl.col("xid").is_not_null())


def _ends(tables: Tables, key: str, findings: Sequence[Finding], window: Window | None) -> tuple[int, int]:
    if key == UTC and window is not None:
        return window.start_us, window.end_us
    for frames in ([tables.samples, tables.steps], [telling(tables.events)], [tables.events]):
        times = [time for frame in frames for time in _extremes(rows_on(frame, key)["time_us"])]
        if times:
            break
    else:
        times = [0]
    low, high = min(times), max(times)
    reach = (high - low or 2 * _ALONE_US) * (FARTHEST - 1)
    near = [t for t in _evidence_us(findings) if low - reach <= t <= high + reach] if key == UTC else []
    low, high = min([low, *near]), max([high, *near])
    pad = int((high - low) * _PAD) or _ALONE_US
    return max(low - pad, _SHOWABLE[0]), min(high + pad, _SHOWABLE[1])


def _evidence_us(findings: Sequence[Finding]) -> list[int]:
    return [to_us(one.time_utc) for item in findings for one in item.evidence if one.time_utc is not None]


def _extremes(times: pl.Series) -> list[int]:
    return [int(times.min()), int(times.max())] if times.count() else []  # pyright: ignore[reportArgumentType]
