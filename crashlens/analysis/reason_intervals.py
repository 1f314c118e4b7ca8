"""When was a clocks event reason set? Neighbouring samples with one mask become intervals; masks become classes."""

import polars as pl

from crashlens.catalog.reasons import classes
from crashlens.schemas import UTC_US, need

_COLUMNS = ("gpu_key", "source_id", "line", "clock_id", "clock_us", "time_utc", "clocks_event_reasons")
_INTERVAL = {
    "gpu_key": pl.String(),
    "source_id": pl.UInt32(),
    "clock_id": pl.String(),
    "clocks_event_reasons": pl.UInt64(),
    "start_utc": UTC_US,
    "end_utc": UTC_US,
    "start_us": pl.Int64(),
    "end_us": pl.Int64(),
    "samples": pl.UInt32(),
    "first_line": pl.UInt32(),
    "last_line": pl.UInt32(),
}


def reason_intervals(samples: pl.DataFrame, *, longest_gap_s: float) -> pl.DataFrame:
    """Join neighbouring samples with the same clocks event reasons into intervals, per GPU.

    The mask is a snapshot: a slowdown shorter than the cadence leaves no mark, so a missing interval is weak evidence
    of absence. Across a gap longer than `longest_gap_s` nothing is claimed: the interval ends at the last sample.
    Samples without a time are left out: they have no length.

    Args:
        samples: Columns `gpu_key`, `source_id`, `line`, `clock_id`, `clock_us`, `time_utc`, `clocks_event_reasons` of
            the `samples` table, any row order.
        longest_gap_s: Longest distance between samples that still counts as continuous, in seconds.

    Returns:
        One row per interval, sorted by GPU and time: `gpu_key` (str), `source_id` (uint32), `clock_id` (str),
        `clocks_event_reasons` (uint64 mask, null where the device gave none), `start_utc` and `end_utc` (datetime[us,
        UTC], half-open, null where the clock could not be placed), `start_us` and `end_us` (int64, the same on the
        clock of the source), `samples` (uint32), `first_line` and `last_line` (uint32, of its first and last sample).

    Raises:
        MissingColumnError: A column is absent; see `coverage`.

    Source: NVML API reference, NvmlClocksEventReasons.
    """
    need(samples, *_COLUMNS)
    mask, at, part = pl.col("clocks_event_reasons"), pl.col("at_us"), ["gpu_key", "clock_id"]
    before, after = at.shift(1).over(part), at.shift(-1).over(part)
    gap_us = round(longest_gap_s * 1_000_000)
    new_run = before.is_null() | (at - before > gap_us) | mask.ne_missing(mask.shift(1).over(part))
    joined = after - at <= gap_us
    return (
        samples.select(_COLUMNS)
        .filter(pl.col("clock_us").is_not_null())
        .with_columns(at_us=pl.coalesce(pl.col("time_utc").dt.timestamp("us"), "clock_us"))
        .sort(*part, "at_us", "line", "clocks_event_reasons", "clock_us")
        .with_columns(
            run=new_run.cum_sum(),
            until_utc=pl.when(joined).then(pl.col("time_utc").shift(-1).over(part)).otherwise("time_utc"),
            until_us=pl.when(joined).then(pl.col("clock_us").shift(-1).over(part)).otherwise("clock_us"),
        )
        .group_by("run", maintain_order=True)
        .agg(
            pl.first("gpu_key", "source_id", "clock_id", "clocks_event_reasons"),
            start_utc=pl.first("time_utc"),
            end_utc=pl.last("until_utc"),
            start_us=pl.first("clock_us"),
            end_us=pl.last("until_us"),
            samples=pl.len(),
            first_line=pl.first("line"),
            last_line=pl.last("line"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in _INTERVAL.items())
    )


def class_intervals(intervals: pl.DataFrame) -> pl.DataFrame:
    """Join neighbouring intervals in which one class of reason is set, per GPU.

    Several classes may be set at once; each has its own rows. A mask of 0 and an unknown mask have no row: the first is
    "no reason", the second is told apart in `reason_intervals`.

    Args:
        intervals: What `reason_intervals` returns.

    Returns:
        One row per GPU, class and stretch, sorted so: `gpu_key`, `source_id`, `clock_id`, `reason_class` (see
        `catalog.reasons`), `clocks_event_reasons` (uint64, every bit seen in it), `start_utc`, `end_utc`, `start_us`,
        `end_us`, `samples`, `first_line`, `last_line`.

    Raises:
        MissingColumnError: A column is absent.
    """
    need(intervals, *_INTERVAL)
    masks = [int(mask) for mask in intervals["clocks_event_reasons"].drop_nulls().unique()]
    named = pl.DataFrame(
        [(mask, name) for mask in masks for name in sorted(classes(mask))],
        schema={"clocks_event_reasons": pl.UInt64, "reason_class": pl.String},
        orient="row",
    )
    part = ["gpu_key", "clock_id", "reason_class"]
    keys = [*part, "start_us", "first_line"]
    return (
        intervals.join(named, on="clocks_event_reasons", how="inner")
        .sort(keys)
        .with_columns(run=(pl.col("start_us") != pl.col("end_us").shift(1).over(part)).fill_null(value=True).cum_sum())
        .group_by("run", maintain_order=True)
        .agg(
            pl.first("gpu_key", "source_id", "clock_id", "reason_class"),
            pl.col("clocks_event_reasons").bitwise_or(),
            pl.first("start_utc"),
            pl.last("end_utc"),
            pl.first("start_us"),
            pl.last("end_us"),
            pl.sum("samples"),
            pl.first("first_line"),
            pl.last("last_line"),
        )
        .drop("run")
    )
