"""Load lines and request times of an inference server: what share shows a queue, a full cache, starved requests?

The load lines of one source are a time series: every share is a share of those lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

SERIES = {
    "waiting": "requests_waiting",
    "running": "requests_running",
    "active": "requests_active",
    "kv": "kv_cache_usage_ratio",
    "used": "kv_cache_blocks_used",
    "most": "kv_cache_blocks_max",
    "prompt": "prompt_tokens_per_s",
    "generation": "generation_tokens_per_s",
    "tokens": "prompt_tokens",
}


@dataclass(frozen=True, slots=True)
class LoadShares:
    """Shares of the load lines of one source.

    Attributes:
        lines: How many lines there are.
        waiting: Share with requests that wait.
        full: Share with requests that wait while the KV cache is full or nearly so.
        prefill: Share with requests that wait while prompts take the steps and running requests get little; of the
            lines with a generation throughput, where there are such.
        at_limit: Share with requests that wait while as many run as the server was told to run; 0 without a limit.
        highest_kv: Highest use of the KV cache, 0 to 1.
        most_waiting: Most requests that waited.
        starved_per_s: Median tokens per second that those lines with prompts show, or None where there are none.
        calm_per_s: The same of lines without prompts while no more requests ran, or None where there are none.
    """

    lines: int
    waiting: float
    full: float
    prefill: float
    at_limit: float
    highest_kv: float
    most_waiting: int
    starved_per_s: float | None
    calm_per_s: float | None


@dataclass(frozen=True, slots=True)
class QueueShare:
    """How much of the time of requests was spent in the queue.

    Attributes:
        records: How many records of request times there are.
        share: Time in the queue divided by the whole time, over all of them, 0 to 1.
        queue_s: Median time in the queue.
        total_s: Median whole time.
    """

    records: int
    share: float
    queue_s: float
    total_s: float


def measure_load(
    metrics: pl.DataFrame, *, full_ratio: float, starved_token_s: float, request_limit: int | None = None
) -> LoadShares | None:
    """Shares of the load lines of one source, or None where no line says how many requests wait.

    Args:
        metrics: Rows of `metrics` of one source.
        full_ratio: Use of the KV cache from which it counts as full.
        starved_token_s: Time per token and running request from which requests count as starved.
        request_limit: How many requests the server was told to run at once.
    """
    lines = _lines(metrics)
    if not lines.height:
        return None
    waits = pl.col("waiting") > 0
    at_limit = waits & (pl.col("running") >= request_limit) if request_limit else pl.lit(value=False)
    shares = lines.select(
        waiting=waits.mean(),
        full=(waits & (pl.col("kv") >= full_ratio)).fill_null(value=False).mean(),
        at_limit=at_limit.fill_null(value=False).mean(),
        kv=pl.col("kv").max(),
        most=pl.col("waiting").max(),
    ).row(0, named=True)
    generating = lines.filter(pl.col("generation").is_not_null(), pl.col("running") > 1)
    starved = generating.filter(waits, "prefilled", pl.col("running") / pl.col("generation") >= starved_token_s)
    calm = (
        generating.filter(~pl.col("prefilled"), pl.col("running") <= starved["running"].max())
        if starved.height
        else starved
    )
    base = lines["generation"].count() or lines.height
    return LoadShares(
        lines.height, shares["waiting"], shares["full"], starved.height / base, shares["at_limit"], shares["kv"] or 0.0,
        round(shares["most"]), _median(starved["generation"]), _median(calm["generation"]),
    )  # fmt: skip


def _lines(metrics: pl.DataFrame) -> pl.DataFrame:
    """One row per load line that says how many requests wait, and whether prompts were processed since the one before.

    Where a server counts those that it holds and those that run, the others wait. Where it prints no throughput of
    prompts, a prompt stands in lines of its own between two of generation.
    """
    lines = metrics.filter(pl.col("name").is_in(list(SERIES.values()))).pivot(
        "name", index=["line", "time_utc"], values="value", aggregate_function="last"
    )
    absent = [name for name in SERIES.values() if name not in lines.columns]
    lines = lines.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in absent)
    lines = lines.rename({name: short for short, name in SERIES.items()}).sort("line")
    lines = lines.with_columns(
        waiting=pl.coalesce("waiting", (pl.col("active") - pl.col("running")).clip(0)),
        kv=pl.coalesce("kv", pl.col("used") / pl.col("most")),
        so_far=pl.col("tokens").fill_null(0).cum_sum(),
    ).drop_nulls("waiting")
    before = pl.when(pl.col("generation").is_not_null()).then("so_far").forward_fill().shift(1)
    prefilled = pl.coalesce(pl.col("prompt") > pl.col("generation"), pl.col("so_far") > before)
    return lines.with_columns(prefilled=prefilled.fill_null(value=False))


def _median(values: pl.Series) -> float | None:
    found = values.median()
    return float(found) if isinstance(found, int | float) else None


def measure_queue(times: Sequence[tuple[float, float]]) -> QueueShare | None:
    """How much of the time of requests was spent in the queue, or None where no record says so.

    Args:
        times: Time in the queue and whole time of each record, in seconds.
    """
    whole = sum(total_s for _, total_s in times)
    if whole <= 0:
        return None
    queues, totals = zip(*times, strict=True)
    return QueueShare(len(times), min(1.0, sum(queues) / whole), median(queues), median(totals))
