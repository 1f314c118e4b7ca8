"""By how much does a number differ between two windows, and how sure is that? And which series are compared?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from crashlens.errors import MissingColumnError
from crashlens.schemas import need

if TYPE_CHECKING:  # loaded where it is used: most logs have nothing to compare, and need not wait for it
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_CHUNK = 2_000_000  # weights held at once while resampling a median
_THROUGHPUT = (("tokens_per_s", "tokens_per_s"), ("samples_per_s", "samples_per_s"), ("step_time_s", "steps_per_s"))
_INTERVAL_ENDS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Change:
    """One number in two windows.

    Attributes:
        before: Median or mean in the reference window.
        after: The same in the other window.
        ratio: after / before.
        interval: 95 % interval of the ratio, or None where a window has too few blocks.
        n: Number of values in each window.
        blocks: Number of blocks in each window.
        method: How the interval was made, in words.
        seed: Seed of the resampling; None where there is no interval.
    """

    before: float
    after: float
    ratio: float
    interval: tuple[float, float] | None
    n: tuple[int, int]
    blocks: tuple[int, int]
    method: str
    seed: int | None


def measure_change(
    values: pl.DataFrame,
    *,
    before: tuple[int, int],
    after: tuple[int, int],
    statistic: Literal["median", "mean"],
    block_s: float,
    least_blocks: int,
    resamples: int,
    seed: int,
) -> Change | None:
    """Compare `value` in two windows, with a block-bootstrap interval of the ratio.

    Neighbouring values are alike, so whole blocks of time are drawn with replacement, within each window on its own.
    The interval speaks about the spread inside these two windows, not about what made them differ.

    Args:
        values: Columns `value` (float) and `time_utc` (datetime) or `clock_us` (int, microseconds); where both are
            there, `time_utc` counts unless it is null throughout. Any row order; rows without time or value are left
            out.
        before: Start and end of the reference window in microseconds on that scale, half-open.
        after: The same of the other window.
        statistic: What is compared.
        block_s: Length of a block in seconds.
        least_blocks: With fewer blocks than this in either window there is no interval.
        resamples: How often to draw.
        seed: Seed of `numpy.random.default_rng`.

    Returns:
        The change, or None where a window holds no value or the reference value is 0.

    Raises:
        MissingColumnError: `value`, or both time columns, are absent.

    Source: Künsch 1989, "The jackknife and the bootstrap for general stationary observations" (blocks, here fixed).
    """
    import numpy as np  # noqa: PLC0415

    at, value = _series(values)
    windows = [(at >= start) & (at < end) for start, end in (before, after)]
    parts = [
        (value[inside], (at[inside] - start) // max(1, round(block_s * 1e6)))
        for inside, (start, _) in zip(windows, (before, after), strict=True)
    ]
    if any(not len(part) for part, _ in parts):
        return None
    centre = [float(np.median(part) if statistic == "median" else np.mean(part)) for part, _ in parts]
    if centre[0] == 0:
        return None
    blocks = (len(np.unique(parts[0][1])), len(np.unique(parts[1][1])))
    n = (len(parts[0][0]), len(parts[1][0]))
    if min(blocks) < least_blocks:
        method = f"{statistic}; no interval: fewer than {least_blocks} blocks of {block_s:g} s in a window"
        return Change(centre[0], centre[1], centre[1] / centre[0], None, n, blocks, method, None)
    random = np.random.default_rng(seed)
    draws = [_resampled(part, block, statistic, resamples, random) for part, block in parts]
    usable = draws[0] != 0
    low, high = np.percentile(draws[1][usable] / draws[0][usable], _INTERVAL_ENDS)
    return Change(
        centre[0],
        centre[1],
        centre[1] / centre[0],
        (float(low), float(high)),
        n,
        blocks,
        f"{statistic}; 95 % interval from {resamples:,} block-bootstrap draws, blocks of {block_s:g} s",
        seed,
    )


def throughput_series(steps: pl.DataFrame) -> pl.DataFrame:
    """One throughput per training step: the median over the ranks that report it.

    Tokens per second where the log states them, else samples per second, else steps per second from the step time. One
    of them serves the whole series, so that two windows compare the same thing.

    Args:
        steps: The `steps` table, any row order.

    Returns:
        One row per step, in order of time: `metric` (tokens_per_s, samples_per_s or steps_per_s), `value` (float),
        `attempt`, `step`, `ranks` (uint32, values it is the median of), `clock_id`, `clock_us`, `time_utc`,
        `source_id`, `line` (of the first of them). A step that is trained again after a restart is a row of its own.

    Raises:
        MissingColumnError: A column is absent.
    """
    need(steps, "source_id", "line", "clock_id", "clock_us", "time_utc", "rank", "attempt", "step")
    column, metric = next(
        ((name, metric) for name, metric in _THROUGHPUT if name in steps.columns and steps[name].count()),
        _THROUGHPUT[-1],
    )
    need(steps, column)
    number = pl.col(column) if column == metric else pl.when(pl.col(column) > 0).then(1 / pl.col(column))
    again = pl.int_range(pl.len()).over("source_id", "rank", "attempt", "step", order_by="line")
    return (
        steps.with_columns(value=number)
        .filter(pl.col("value").is_finite())
        .sort("source_id", "line")
        .with_columns(
            again=again,
            name=pl.coalesce(pl.col("step").cast(pl.String), pl.concat_str("source_id", pl.lit(":"), "line")),
        )
        .group_by("attempt", "name", "again", maintain_order=True)
        .agg(
            pl.lit(metric).alias("metric"),
            pl.median("value"),
            pl.first("step"),
            pl.len().alias("ranks"),
            pl.first("clock_id", "clock_us"),
            pl.min("time_utc"),
            pl.first("source_id", "line"),
        )
        .sort("time_utc", "source_id", "clock_us", "line", nulls_last=True)
        .select("metric", "value", "attempt", "step", "ranks", "clock_id", "clock_us", "time_utc", "source_id", "line")
    )


def clock_series(samples: pl.DataFrame, gpu_key: str) -> pl.DataFrame:
    """The clock of one GPU over time: SM clock, or graphics clock where the source has no SM clock.

    Args:
        samples: The `samples` table, any row order.
        gpu_key: The GPU.

    Returns:
        One row per sample with a value, in order of time: `metric` (sm_clock_mhz or graphics_clock_mhz), `value`
        (float, MHz), `clock_id`, `clock_us`, `time_utc`, `source_id`, `line`.

    Raises:
        MissingColumnError: A column is absent.
    """
    names = ("sm_clock_mhz", "graphics_clock_mhz")
    need(samples, "gpu_key", "source_id", "line", "clock_id", "clock_us", "time_utc", *names)
    rows = samples.filter(pl.col("gpu_key") == gpu_key)
    metric = next((name for name in names if rows[name].count()), names[0])
    return (
        rows.with_columns(metric=pl.lit(metric), value=pl.col(metric))
        .drop_nulls("value")
        .sort("time_utc", "source_id", "clock_us", "line", nulls_last=True)
        .select("metric", "value", "clock_id", "clock_us", "time_utc", "source_id", "line")
    )


def _series(values: pl.DataFrame) -> "tuple[Ints, Floats]":
    """Microseconds and values, in order of time, without gaps."""
    need(values, "value")
    if "time_utc" in values.columns and (values["time_utc"].count() or "clock_us" not in values.columns):
        at = pl.col("time_utc").dt.timestamp("us")
    elif "clock_us" in values.columns:
        at = pl.col("clock_us")
    else:
        raise MissingColumnError(
            "The series has neither time_utc nor clock_us; nothing was compared.",
            facts=[("columns", ", ".join(values.columns))],
            way_out="Pass what throughput_series or clock_series returns.",
        )
    frame = values.select(at=at.cast(pl.Int64), value=pl.col("value").cast(pl.Float64))
    frame = frame.drop_nulls().filter(pl.col("value").is_finite()).sort("at", "value")
    return frame["at"].to_numpy(), frame["value"].to_numpy()


def _resampled(
    value: "Floats",
    block: "Ints",
    statistic: Literal["median", "mean"],
    resamples: int,
    random: "np.random.Generator",
) -> "Floats":
    """The statistic of `resamples` draws of whole blocks, as many blocks as there are."""
    import numpy as np  # noqa: PLC0415

    _, place = np.unique(block, return_inverse=True)
    blocks = int(place.max()) + 1
    times = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=resamples)
    if statistic == "mean":
        sums = np.bincount(place, weights=value, minlength=blocks)
        counts = np.bincount(place, minlength=blocks)
        return (times @ sums) / (times @ counts)
    order = np.argsort(value, kind="stable")
    ordered, place = value[order], place[order]
    out = np.empty(resamples, dtype=np.float64)
    rows = max(1, _CHUNK // len(value))
    for start in range(0, resamples, rows):
        reached = times[start : start + rows][:, place].cumsum(axis=1)
        total = reached[:, -1:]
        low = (reached >= (total + 1) // 2).argmax(axis=1)
        high = (reached >= total // 2 + 1).argmax(axis=1)
        out[start : start + rows] = (ordered[low] + ordered[high]) / 2
    return out
