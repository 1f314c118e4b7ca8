"""Did one rank work on a long task while the others waited for it until their limit?

Shown by a progress that had run about as long as the limit, or by a rank that said that it began such work before the
waits began, printed no timeout itself, and did not say that it ended.
"""

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.hangs import Hang
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import compose, number_ranges, say, span
from crashlens.findings import Finding
from crashlens.timebase import order

_PROGRESS, _STARTED, _ENDED = "application.task_progress", "application.task_started", "application.task_ended"
_LIMITS = ("socket_timeout_ms", "key_timeout_ms")
_SHARE = "long_task_share_of_limit"


def conclude_long_task(scene: Scene, hang: Hang) -> Finding | None:
    """The finding of a task that outlasted the wait of the other ranks, or None."""
    waits = [*hang.waits, *hang.store]
    limits = [limit for record in waits if (limit := _limit_ms(record)) is not None]
    if not limits:
        return None
    own = [
        record for record in scene.records if record.source_id in hang.run.sources and _in_start(scene, hang, record)
    ]
    limit_s = max(limits) / 1000
    ranks = {record.rank for record in waits if record.rank is not None}
    task = _progress(own, ranks, limit_s) or _announced(scene, own, waits, ranks)
    return None if task is None else _finding(scene, hang, task, limit_s)


def _in_start(scene: Scene, hang: Hang, record: LogRecord) -> bool:
    return hang.run.start_of(record.place, record.written, skew_us=scene.context.skew_us) == hang.start


def _limit_ms(record: LogRecord) -> int | None:
    if record.timeout_ms is not None:
        return record.timeout_ms
    told = next((record.fields[name] for name in _LIMITS if name in record.fields), None)
    return int(told) if told is not None else record.ran_ms


def _progress(own: list[LogRecord], waiting: set[int], limit_s: float) -> LogRecord | None:
    """A progress that had run about as long as the limit and was not at its end, of a rank that did not wait."""
    least_s = threshold(_SHARE).value * limit_s
    return next(
        (
            record
            for record in own
            if record.rule_id == _PROGRESS
            and record.rank not in waiting
            and _seconds(record.fields["elapsed"]) >= least_s
            and int(record.fields["percent"]) < 100
        ),
        None,
    )


def _announced(scene: Scene, own: list[LogRecord], waits: list[LogRecord], waiting: set[int]) -> LogRecord | None:
    """The last work that a rank without a timeout began before every wait began, if it then said nothing more."""
    skew_us = scene.context.skew_us
    begun = [record for record in own if record.rule_id == _STARTED and record.rank is not None]
    for task in sorted(begun, key=sort_key, reverse=True):
        before = all(order(task.written, wait.written, skew_us=skew_us) == "before" for wait in waits)
        later = [r for r in own if r.rank in {task.rank, None} and r.rule_id == _ENDED and sort_key(r) > sort_key(task)]
        stepped = any(order(task.written, step, skew_us=skew_us) == "before" for step in scene.context.steps_of(task))
        early = all(order(task.written, wait.began, skew_us=skew_us) != "after" for wait in waits)
        if before and early and not later and not stepped and task.rank not in waiting:
            return task
    return None


def _finding(scene: Scene, hang: Hang, task: LogRecord, limit_s: float) -> Finding:
    elapsed = task.fields.get("elapsed")
    values: dict[str, object] = {
        "task": task.fields["task"].strip(),
        "of_rank": "" if task.rank is None else say(scene.lang, "words", "on_rank", rank=task.rank),
        "ran": ""
        if elapsed is None
        else say(scene.lang, "long_task", "ran", elapsed=elapsed, percent=task.fields["percent"]),
        "ranks": number_ranges(hang.ranks) or say(scene.lang, "words", "unknown"),
        "limit": span(scene.lang, limit_s),
    }
    waits = [*hang.waits, *hang.store]
    parts = [Part(task, "first"), *(Part(record, "downstream") for record in (*waits, *hang.stuck, *hang.following))]
    told = {record.rank for record in (task, *waits) if record.rank is not None}
    return compose(
        scene.lang, "long_task", "application.long_task_before_barrier", "consistent", values,
        first_event=task.place,
        evidence=evidence_list(scene, task, parts),
        window=window_of([task, *waits]),
        hosts=hosts_of([task, *waits]),
        ranks=tuple(sorted(told)),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in (task, *waits))),
        thresholds=used(_SHARE) if elapsed is not None else used("cross_host_skew_s"),
    )  # fmt: skip


def _seconds(clock: str) -> int:
    """Seconds of `29:58` or `1:02:03`."""
    seconds = 0
    for part in clock.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds
