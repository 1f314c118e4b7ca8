"""How did the program itself end: memory refused, GPU exception, Python exception, lost peer, signal?

Each record is concluded by itself first. Records that only repeat another one, and ends that follow from an error, are
listed with it and make no finding of their own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from crashlens.analysis.exceptions import ignored, key_of, raised_before
from crashlens.analysis.records import LogRecord, sort_key
from crashlens.analysis.runs import run_of
from crashlens.catalog.record_causes import VERDICTS, record_cause
from crashlens.conclude.aftermath import Aftermath
from crashlens.conclude.gpu_memory import tell_framework_refusal, tell_refusal
from crashlens.conclude.process_end import KERNEL_KILLS, only_fallout, states_end, tell_end, tell_kill
from crashlens.conclude.program import (
    is_echo,
    tell_assertion,
    tell_cuda_error,
    tell_exception,
    tell_library,
    tell_not_a_number,
)
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.teardown import is_teardown
from crashlens.conclude.told import Told, captures
from crashlens.conclude.wording import compose, number_ranges, say
from crashlens.findings import Finding, Place

Members = list[tuple[LogRecord, Told]]
_PEER = ("nccl.peer_lost", "c10d.watchdog_terminated", "torch.dist_backend_error", "torch.nccl_result")
_PEER_SAYS = ("reason", "what", "test_what", "call_what")
_EXCEPTIONS = ("python.exception", "python.exception_line", "python.syntax_error")
# Errors of a program that it may survive: a row of record_causes.toml then tells nothing.
_SURVIVABLE = ("application.", "gpu.", "host.", "storage.", "process.worker")
_TELLERS: dict[str, Callable[[Scene, Aftermath, LogRecord], Told | None]] = {
    "cuda.out_of_memory": tell_refusal,
    "jax.out_of_memory": tell_framework_refusal,
    "tf.out_of_memory": tell_framework_refusal,
    "cuda.error": tell_cuda_error,
    "nccl.cuda_failure": tell_cuda_error,
    "trtllm.cuda_error": tell_cuda_error,
    "cuda.kernel_assertion": tell_assertion,
    "cuda.library_error": tell_library,
    **dict.fromkeys(_EXCEPTIONS, tell_exception),
}


@dataclass
class _Telling:
    """What has been concluded so far, by story and cause."""

    scene: Scene
    aftermath: Aftermath
    groups: dict[tuple[str, str], Members] = field(default_factory=dict[tuple[str, str], Members])
    told: dict[tuple[str, int, int], Told] = field(default_factory=dict[tuple[str, int, int], Told])

    def add(self, record: LogRecord, told: Told | None) -> None:
        """Put a record to those of the same story."""
        if told is not None:
            self.told[key_of(record)] = told
            self.groups.setdefault((told.story, told.cause), []).append((record, told))

    def told_in_run_of(self, record: LogRecord) -> bool:
        """Whether a fault of the run that printed `record` is already told."""
        run = run_of(record, self.scene.runs)
        sources = run.sources if run else {record.source_id}
        return any(
            other.source_id in sources and told.verdict != "benign"
            for members in self.groups.values()
            for other, told in members
        )


def conclude_application(scene: Scene, taken: set[Place]) -> list[Finding]:
    """One finding per kind of ending, from records that no other finding rests on.

    Args:
        scene: The scene.
        taken: Places that other findings rest on.
    """
    telling = _Telling(scene, Aftermath(scene))
    leaders, unraised = raised_before(scene.records), ignored(scene.records)
    records = [
        record
        for record in sorted(scene.records, key=sort_key)
        if record.place not in taken and key_of(record) not in unraised
    ]
    following: list[LogRecord] = []
    last: list[LogRecord] = []
    for record in records:
        if _only_fallout(record):
            last.append(record)
        elif key_of(record) in leaders:
            following.append(record)
        else:
            telling.add(record, _tell(telling, record))
    for record in following:
        led_by = telling.told.get(key_of(leaders[key_of(record)]))
        telling.add(record, _tell(telling, record) if led_by is None else replace(led_by, unknown=(), follows=True))
    for record in last:
        leader = leaders.get(key_of(record))
        led_by = None if leader is None else telling.told.get(key_of(leader))
        if led_by is not None:
            telling.add(record, replace(led_by, role="downstream", unknown=()))
        elif not telling.told_in_run_of(record):
            telling.add(record, _tell(telling, record))
    return [_finding(scene, members) for members in telling.groups.values()]


def _only_fallout(record: LogRecord) -> bool:
    return only_fallout(record) or (record.rule_id in _EXCEPTIONS and is_echo(record))


def _tell(telling: _Telling, record: LogRecord) -> Told | None:
    if "handled" in record.fields and record.rule_id != "cuda.out_of_memory":
        return None  # whoever wrote the line says that it went on; of refused memory the steps after it decide
    scene, aftermath = telling.scene, telling.aftermath
    if is_teardown(scene, record):
        return None
    code = {} if record.exit_code is None else {"exit_code": str(record.exit_code)}
    row = record_cause(record.rule_id, {**record.fields, **code})
    if row is not None:
        if row.verdict != "benign" and record.topic.startswith(_SURVIVABLE) and aftermath.went_on(record):
            return None
        return Told(row.story, row.cause, row.verdict, captures(scene, record))
    if record.rule_id in _TELLERS:
        return _TELLERS[record.rule_id](scene, aftermath, record)
    if record.rule_id in _PEER:
        return _peer(record)
    if record.rule_id in KERNEL_KILLS:
        return tell_kill(scene, record)
    if record.rule_id == "training.nan_loss":
        return tell_not_a_number(scene, record)
    return tell_end(scene, record) if states_end(record) else None


def _peer(record: LogRecord) -> Told | None:
    reason = " ".join(record.fields.get(name, "") for name in _PEER_SAYS).lower()
    result = record.fields.get("nccl_result")
    if result is not None and result != "ncclRemoteError":
        return None
    if record.rule_id != "nccl.peer_lost" and result is None and "remote process exited" not in reason:
        return None
    return Told("peer_connection_lost", "communication.peer_connection_lost", "supported", {}, undated_first=False)


def _finding(scene: Scene, members: Members) -> Finding:
    members = sorted(members, key=_first_of_all)
    first, told = members[0]
    records = [record for record, _ in members]
    ranks = sorted({record.rank for record in records if record.rank is not None})
    values = told.values
    values |= {
        "at_time": scene.when(first),
        "ranks": number_ranges(ranks) or say(scene.lang, "words", "unknown"),
    }
    finding = compose(
        scene.lang, told.story, told.cause, told.verdict, values,
        first_event=first.place if told.undated_first or first.dated else None,
        evidence=evidence_list(scene, first, list(_parts(members))),
        window=window_of(records),
        hosts=hosts_of(records),
        devices=scene.devices([record.gpu_key for record in records]),
        ranks=tuple(ranks),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in records)),
        thresholds=used(*told.thresholds),
    )  # fmt: skip
    more = tuple(dict.fromkeys(sentence for _, one in members for sentence in one.unknown))
    return replace(finding, unknown=(*more, *finding.unknown)) if more else finding


def _first_of_all(member: tuple[LogRecord, Told]) -> tuple[bool, bool, int, tuple[int, ...]]:
    record, told = member
    return told.role == "downstream", told.follows, VERDICTS.index(told.verdict), sort_key(record)


def _parts(members: Members) -> Iterator[Part]:
    first = members[0][0]
    for record, told in members:
        yield Part(record, "first" if record is first else told.role)
