"""Was an inference server short of KV cache, or of capacity? Which of its processes told of the end first?

The load lines of the engines are a time series: every share below is a share of those lines.
"""

from dataclasses import dataclass

import polars as pl

from crashlens.analysis.records import sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.of_records import Reading, finding_of
from crashlens.conclude.scene import Scene
from crashlens.findings import Finding

_SERIES = {
    "waiting": "requests_waiting",
    "running": "requests_running",
    "kv": "kv_cache_usage_ratio",
    "prompt": "prompt_tokens_per_s",
    "generation": "generation_tokens_per_s",
}


@dataclass(frozen=True, slots=True)
class LoadShares:
    """Shares of the load lines of one source.

    Attributes:
        lines: How many lines there are.
        waiting: Share with requests that wait.
        full: Share with requests that wait while the KV cache is full or nearly so.
        prefill: Share with requests that wait while prompts take the steps and running requests get little.
        highest_kv: Highest use of the KV cache, 0 to 1.
        most_waiting: Most requests that waited.
    """

    lines: int
    waiting: float
    full: float
    prefill: float
    highest_kv: float
    most_waiting: int


def conclude_serving(scene: Scene) -> list[Finding]:
    """At most one finding per source with load lines: what its requests waited for."""
    records = [record for record in sorted(scene.records, key=sort_key) if record.topic == "serving.load"]
    found: list[Finding] = []
    for source_id in dict.fromkeys(record.source_id for record in records):
        own = [record for record in records if record.source_id == source_id]
        shares = measure_load(scene.tables.metrics.filter(pl.col("source_id") == source_id))
        reading = None if shares is None else _reading(shares)
        if reading is not None:
            found.append(finding_of(scene, reading, own[0], context=own))
    return found


def measure_load(metrics: pl.DataFrame) -> LoadShares | None:
    """Shares of the load lines of one source, or None where no line says how many requests wait.

    Args:
        metrics: Rows of `metrics` of one source.
    """
    lines = metrics.filter(pl.col("name").is_in(list(_SERIES.values()))).pivot(
        "name", index=["line", "time_utc"], values="value", aggregate_function="last"
    )
    absent = [name for name in _SERIES.values() if name not in lines.columns]
    lines = lines.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in absent)
    lines = lines.rename({name: short for short, name in _SERIES.items()}).drop_nulls("waiting")
    if not lines.height:
        return None
    waits = pl.col("waiting") > 0
    full = waits & (pl.col("kv") >= threshold("kv_cache_full_ratio").value)
    token_s = pl.col("running") / pl.col("generation")
    starved = (
        waits
        & (pl.col("prompt") > pl.col("generation"))
        & (pl.col("running") > 1)
        & (token_s >= threshold("prefill_starved_token_s").value)
    )
    shares = lines.select(
        waiting=waits.mean(), full=full.fill_null(value=False).mean(), prefill=starved.fill_null(value=False).mean(),
        kv=pl.col("kv").max(), most=pl.col("waiting").max(),
    ).row(0, named=True)  # fmt: skip
    return LoadShares(
        lines.height, shares["waiting"], shares["full"], shares["prefill"], shares["kv"] or 0.0, round(shares["most"])
    )


def _reading(shares: LoadShares) -> Reading | None:
    most = threshold("serving_share_of_lines").value
    values = {
        "lines": shares.lines,
        "waiting": f"{100 * shares.waiting:.0f}",
        "full": f"{100 * shares.full:.0f}",
        "prefill": f"{100 * shares.prefill:.0f}",
        "highest_kv": f"{100 * shares.highest_kv:.1f}",
        "most_waiting": shares.most_waiting,
    }
    if shares.full >= most:
        names = ("serving_share_of_lines", "kv_cache_full_ratio")
        return Reading("kv_cache_full", "serving.kv_cache_pressure", "consistent", values, names)
    if shares.prefill >= most:
        names = ("serving_share_of_lines", "prefill_starved_token_s")
        return Reading("prefill_takes_steps", "serving.prefill_starvation", "undecided", values, names)
    if shares.waiting >= most:
        names = ("serving_share_of_lines", "kv_cache_full_ratio")
        return Reading("requests_wait", "serving.request_queueing", "undecided", values, names, first_named=False)
    return None
