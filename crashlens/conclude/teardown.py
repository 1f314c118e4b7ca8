"""Does an end, or a connection that went away, only follow from what a scheduler had done before?

Slurm sends SIGTERM, then SIGKILL, and the kubelet does the same: how a process ends after that, and what its peers see
of it, says nothing of its own.
"""

import polars as pl

from crashlens.analysis.records import LogRecord
from crashlens.conclude.scene import Scene
from crashlens.timebase import order

_CONNECTIONS = {"communication.store", "communication.peer", "communication.connect", "communication.error"}
_SENT_CODES = {-9, 137, -15, 143}
_SENT = {"SIGKILL", "SIGTERM", "Killed", "Terminated", "9", "15"}
_OF_CONTAINERS = {"k8s.container_exit", "container.exited"}
_BY_KUBELET = {"k8s.evicted", "k8s.preempted", "k8s.deadline", "k8s.stopping"}


def is_teardown(scene: Scene, record: LogRecord) -> bool:
    """Whether `record` tells only what a cancel of Slurm or a stop by the kubelet does to a process."""
    return follows_a_cancel(scene, record) or _stopped_by_kubelet(scene, record)


def follows_a_cancel(scene: Scene, record: LogRecord) -> bool:
    """Whether an end or a lost connection stands below the line with which Slurm ended the step, in the same file.

    Where both carry times that can be compared, the times decide and not the lines. A training step between the two
    lines is another run in the same file, as after a requeue with `--open-mode=append`.
    """
    if record.rule_id != "slurm.task_exit" and record.topic not in _CONNECTIONS and not _was_sent(record):
        return False
    before = [
        other.place.line
        for other in scene.records
        if other.rule_id == "slurm.cancelled"
        and other.source_id == record.source_id
        and _is_before(scene, other, record)
    ]
    if not before:
        return False
    between = scene.tables.steps.filter(
        (pl.col("source_id") == record.source_id)
        & pl.col("line").is_between(max(before), record.place.line, closed="none")
    )
    return between.is_empty()


def _is_before(scene: Scene, other: LogRecord, record: LogRecord) -> bool:
    said = order(other.written, record.written, skew_us=scene.context.skew_us)
    return said == "before" or (said == "unordered" and other.place.line < record.place.line)


def _was_sent(record: LogRecord) -> bool:
    """Whether a process ended by one of the two signals with which a scheduler ends it."""
    if not record.topic.startswith("process.exit"):
        return False
    return record.exit_code in _SENT_CODES or record.fields.get("signal") in _SENT


def _stopped_by_kubelet(scene: Scene, record: LogRecord) -> bool:
    """Whether the kubelet says that it ended this pod: eviction, preemption, deadline, a probe, a stop on request.

    Not where it says so of a time after the end: that was another start of the pod.
    """
    skew_us = scene.context.skew_us
    pod = record.fields.get("pod")
    if record.rule_id not in _OF_CONTAINERS or not pod or record.exit_code not in _SENT_CODES:
        return False
    return any(
        other.fields.get("pod") == pod
        and (other.rule_id in _BY_KUBELET or (other.rule_id == "k8s.probe_failed" and "killed_by" in other.fields))
        and other.fields.get("namespace") in {None, record.fields.get("namespace")}
        and order(other.began, record.written, skew_us=skew_us) != "after"
        for other in scene.records
    )
