"""Was an inference server short of KV cache, or of capacity? Which of its processes told of the end first?

The load lines of the engines are a time series: every share below is a share of those lines. The times of requests say
directly how much of them was spent in the queue.
"""

import re
from collections.abc import Iterable

import polars as pl

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.analysis.server_load import LoadShares, QueueShare, measure_load, measure_queue
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.of_records import Reading, finding_of
from crashlens.conclude.scene import Scene
from crashlens.conclude.wording import span
from crashlens.findings import Finding

_QUEUEING = "serving.request_queueing"
_UNIT_S = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6}
_LENGTH = re.compile(r"(?P<number>[\d.]{1,15})(?P<unit>s|ms|µs|us)")


def conclude_serving(scene: Scene) -> list[Finding]:
    """At most one finding per source with load lines or times of requests: what its requests waited for."""
    said = [record for record in sorted(scene.records, key=sort_key) if record.topic.startswith("serving.")]
    found: list[Finding] = []
    for source_id in dict.fromkeys(record.source_id for record in said):
        own = [record for record in said if record.source_id == source_id]
        load = [record for record in own if record.topic in {"serving.load", "serving.iteration"}]
        reading = _load_reading(_measured(scene, own, source_id)) if load else None
        times = [record for record in own if record.topic == "serving.request"]
        if reading is None or reading.verdict == "undecided":
            queue = _queue_reading(scene, times)
            reading, load = (queue, times) if queue is not None else (reading, load)
        if reading is not None:
            found.append(finding_of(scene, reading, load[0], context=load))
    return found


def _measured(scene: Scene, own: Iterable[LogRecord], source_id: int) -> LoadShares | None:
    limits = [int(limit) for record in own if (limit := record.fields.get("request_limit"))]
    return measure_load(
        scene.tables.metrics.filter(pl.col("source_id") == source_id),
        full_ratio=threshold("kv_cache_full_ratio").value,
        starved_token_s=threshold("prefill_starved_token_s").value,
        request_limit=min(limits, default=None),
    )


def _load_reading(shares: LoadShares | None) -> Reading | None:
    if shares is None:
        return None
    most = threshold("serving_share_of_lines").value
    values: dict[str, object] = {
        "lines": shares.lines,
        "waiting": f"{100 * shares.waiting:.0f}",
        "full": f"{100 * shares.full:.0f}",
        "prefill": f"{100 * shares.prefill:.0f}",
        "at_limit": f"{100 * shares.at_limit:.0f}",
        "highest_kv": f"{100 * shares.highest_kv:.1f}",
        "most_waiting": shares.most_waiting,
    }
    if shares.full >= most:
        names = ("serving_share_of_lines", "kv_cache_full_ratio")
        return Reading("kv_cache_full", "serving.kv_cache_pressure", "consistent", values, names)
    if shares.prefill >= most:
        return _prefill_reading(shares, values)
    if shares.at_limit >= most:
        names = ("serving_share_of_lines",)
        return Reading("requests_wait_at_limit", _QUEUEING, "consistent", values, names, first_named=False)
    if shares.waiting >= most:
        names = ("serving_share_of_lines", "kv_cache_full_ratio")
        return Reading("requests_wait", _QUEUEING, "undecided", values, names, first_named=False)
    return None


def _prefill_reading(shares: LoadShares, values: dict[str, object]) -> Reading:
    """Whether the server generated far more while it processed no prompts; else the running requests may be prompts."""
    names = ("serving_share_of_lines", "prefill_starved_token_s")
    calm, starved = shares.calm_per_s, shares.starved_per_s
    if calm is None or starved is None or calm < threshold("prefill_contrast_ratio").value * max(starved, 0.1):
        return Reading("prefill_takes_steps", "serving.prefill_starvation", "undecided", values, names)
    values = values | {"starved_per_s": f"{starved:.0f}", "calm_per_s": f"{calm:.0f}"}
    names = (*names, "prefill_contrast_ratio")
    return Reading("prefill_starves_decode", "serving.prefill_starvation", "consistent", values, names)


def _queue_reading(scene: Scene, records: list[LogRecord]) -> Reading | None:
    """Where most of the time of requests was spent before the model ran; one request of its own says nothing."""
    times = [(record, both) for record in records if (both := _queue_and_total_s(record))]
    averages = any("overhead_us" in record.fields for record, _ in times)  # Perf Analyzer: each is of many requests
    measured = measure_queue([both for _, both in times])
    if measured is None or not (averages or measured.records >= threshold("request_records_least").value):
        return None
    if measured.share < threshold("queue_share_of_latency").value:
        return None
    names = ("queue_share_of_latency",) if averages else ("queue_share_of_latency", "request_records_least")
    return Reading(
        "queue_takes_latency", _QUEUEING, "supported", _queue_values(scene, measured), names, first_named=False
    )


def _queue_values(scene: Scene, measured: QueueShare) -> dict[str, object]:
    return {
        "records": measured.records,
        "share": f"{100 * measured.share:.0f}",
        "queue": span(scene.lang, measured.queue_s),
        "total": span(scene.lang, measured.total_s),
    }


def _queue_and_total_s(record: LogRecord) -> tuple[float, float] | None:
    """Time in the queue and whole time of one record, in seconds, or None where it does not say both."""
    fields = record.fields
    if "queue_us" in fields and "total_us" in fields:
        return int(fields["queue_us"]) * 1e-6, int(fields["total_us"]) * 1e-6
    queue, total = _LENGTH.fullmatch(fields.get("queue_time", "")), fields.get("total_s")
    if queue is None or total is None:
        return None
    try:
        return float(queue["number"]) * _UNIT_S[queue["unit"]], float(total)
    except ValueError:  # 1.2.3
        return None
