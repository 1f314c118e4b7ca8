"""Which GPUs were held back by which class of clocks event reason, when, and what did their clock and the run do?"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from crashlens.analysis.change import Change, clock_series, measure_change, throughput_series
from crashlens.analysis.load import mark_loaded, measure_cadence, measure_reason_shares
from crashlens.analysis.reason_intervals import class_intervals, reason_intervals

Span = tuple[int, int]


@dataclass(frozen=True)
class Held:
    """GPUs of one source that one class of reason held back.

    Attributes:
        reason_class: The class, see `catalog.reasons`.
        shares: Rows of `measure_reason_shares` of these GPUs.
        span_us: First and last moment of it, half-open, on the scale of `utc`; None: its samples have no time.
        utc: Whether that scale is UTC; else it is the clock of the source.
    """

    reason_class: str
    shares: tuple[dict[str, Any], ...]
    span_us: Span | None
    utc: bool

    @property
    def gpu_keys(self) -> list[str]:
        """The GPUs."""
        return [row["gpu_key"] for row in self.shares]

    def shares_of(self, column: str) -> list[float]:
        """One share per GPU that has it: `share` (of all samples) or `loaded_share` (of loaded ones), 0 to 1."""
        return [row[column] for row in self.shares if row[column] is not None]

    @property
    def never_loaded(self) -> bool:
        """Whether the source tells load and none of these GPUs was ever loaded: then nothing was held back."""
        return all(_never_loaded(row) for row in self.shares)

    @property
    def largest_share(self) -> float | None:
        """The largest share over the GPUs, of loaded samples where load is known."""
        return max(self.shares_of("loaded_share") or self.shares_of("share"), default=None)


@dataclass(frozen=True, slots=True)
class Resampling:
    """How an interval is made: block length in seconds, fewest blocks per window, draws, seed."""

    block_s: float
    least_blocks: int
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A change of one named series.

    Attributes:
        metric: What was measured, with its unit in the name.
        change: Before and after.
        reference_us: Start and end of the reference window on the scale of the span.
    """

    metric: str
    change: Change
    reference_us: Span


def find_held(
    samples: pl.DataFrame, *, loaded_utilization_ratio: float, least_share: float, longest_gap_cadences: float
) -> list[Held]:
    """The classes of reason that held GPUs of one source back in a share of their loaded samples.

    Args:
        samples: Rows of the `samples` table of one source.
        loaded_utilization_ratio: From this utilization on a sample counts as loaded, 0 to 1.
        least_share: Share of loaded samples (of all, where there is none or load is unknown) from which a class counts,
            0 to 1. GPUs that were never loaded are named only where no loaded one has the class.
        longest_gap_cadences: A gap longer than so many usual distances ends an interval.

    Returns:
        One entry per class, in the order of its name.

    Raises:
        MissingColumnError: A column is absent.
    """
    shares = measure_reason_shares(samples, loaded_utilization_ratio=loaded_utilization_ratio)
    cadence_s: float | None = measure_cadence(samples).select(pl.col("cadence_s").median()).item()
    longest_gap_s = longest_gap_cadences * cadence_s if cadence_s is not None else 0.0
    stretches = class_intervals(reason_intervals(samples, longest_gap_s=longest_gap_s))
    enough = shares.filter((pl.col("set") > 0) & (pl.coalesce("loaded_share", "share") >= least_share))
    held: list[Held] = []
    for (name,), rows in enough.sort("reason_class").group_by("reason_class", maintain_order=True):
        loaded = [row for row in rows.iter_rows(named=True) if not _never_loaded(row)]
        told = tuple(loaded or rows.iter_rows(named=True))
        keys = [row["gpu_key"] for row in told]
        own = stretches.filter((pl.col("reason_class") == name) & pl.col("gpu_key").is_in(keys))
        utc = own.height > 0 and own["start_utc"].null_count() == 0
        held.append(Held(str(name), told, _span(own, utc=utc), utc))
    return held


def measure_clock(
    samples: pl.DataFrame, gpu_key: str, held: Held, *, loaded_utilization_ratio: float, by: Resampling
) -> Measured | None:
    """The clock of one GPU in its loaded samples, before the span of `held` and within it.

    Returns:
        The change, or None where one of the two windows holds no loaded sample with a clock.
    """
    marked = mark_loaded(samples, loaded_utilization_ratio=loaded_utilization_ratio)
    return _measured(clock_series(marked.filter(pl.col("loaded").fill_null(value=True)), gpu_key), held, by)


def measure_throughput(steps: pl.DataFrame, held: Held, *, by: Resampling) -> Measured | None:
    """The throughput of the run before the span of `held` and within it; both must be placed in UTC.

    Returns:
        The change, or None where one of the two windows holds no step.
    """
    if not held.utc or not steps.height:
        return None
    return _measured(throughput_series(steps).drop_nulls("time_utc"), held, by)


def measure_lead_in(steps: pl.DataFrame, held: Held, *, until_us: int, lead_in_steps: int) -> float | None:
    """Throughput of the last steps before the reason can have begun, relative to that of the steps before them.

    Args:
        steps: The `steps` table.
        held: What held the GPUs back.
        until_us: The last sample without the reason, on the scale of the span: it may have begun right after it.
        lead_in_steps: How many steps count as the last ones.

    Returns:
        Median over median, or None where there are not twice as many steps before that sample.
    """
    if not held.utc or not steps.height:
        return None
    series = throughput_series(steps).drop_nulls("time_utc")
    value = series.filter(pl.col("time_utc").dt.timestamp("us") <= until_us)["value"]
    if len(value) < 2 * lead_in_steps:
        return None
    last, before = value.tail(lead_in_steps).median(), value.head(len(value) - lead_in_steps).median()
    return float(last) / float(before) if isinstance(last, float) and isinstance(before, float) and before else None


def _never_loaded(row: dict[str, Any]) -> bool:
    return row["loaded_by"] is not None and not row["loaded_samples"]


def _measured(series: pl.DataFrame, held: Held, by: Resampling) -> Measured | None:
    if held.span_us is None or not series.height:
        return None
    at = pl.col("time_utc").dt.timestamp("us") if held.utc else pl.col("clock_us")
    start: int | None = series.select(at.min()).item()
    if start is None or start >= held.span_us[0]:
        return None
    reference_us = (start, held.span_us[0])
    change = measure_change(
        series,
        before=reference_us,
        after=held.span_us,
        statistic="median",
        block_s=by.block_s,
        least_blocks=by.least_blocks,
        resamples=by.resamples,
        seed=by.seed,
    )
    return None if change is None else Measured(str(series["metric"][0]), change, reference_us)


def _span(stretches: pl.DataFrame, *, utc: bool) -> Span | None:
    if not stretches.height:
        return None
    start, end = (
        (pl.col("start_utc").dt.timestamp("us"), pl.col("end_utc").dt.timestamp("us"))
        if utc
        else (pl.col("start_us"), pl.col("end_us"))
    )
    first, last = stretches.select(start.min(), end.max().alias("end")).row(0)
    return int(first), int(last) + 1  # half-open: the last sample belongs to it
