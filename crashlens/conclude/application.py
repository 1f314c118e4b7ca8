"""How did the program itself end: memory refused, GPU exception, Python exception, lost peer, signal?"""

from dataclasses import dataclass

from crashlens.analysis.allocator import Allocation, read_allocation
from crashlens.analysis.records import LogRecord, order_of, sort_key
from crashlens.analysis.runs import run_of
from crashlens.catalog.record_causes import record_cause
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import compose, number_ranges, say
from crashlens.findings import Finding, Place, Verdict
from crashlens.timebase import order

_ECC = "uncorrectable ecc"
_ENDINGS = ("process.exit", "process.wrapper", "process.teardown")
_MESSENGERS = (
    "DistBackendError",
    "ChildFailedError",
    "SystemExit",
    "KeyboardInterrupt",
    "EngineDeadError",
    "RayActorError",
)


@dataclass(frozen=True, slots=True)
class Told:
    """How one kind of record is concluded: story, cause, verdict, values."""

    story: str
    cause: str
    verdict: Verdict
    values: dict[str, object]


def conclude_application(scene: Scene, taken: set[Place]) -> list[Finding]:
    """One finding per kind of ending, from records that no other finding rests on.

    Args:
        scene: The scene.
        taken: Places that other findings rest on.
    """
    groups: dict[tuple[str, str], list[tuple[LogRecord, Told]]] = {}
    for record in sorted(scene.records, key=sort_key):
        told = None if record.place in taken else _tell(scene, record)
        if told is not None:
            groups.setdefault((told.story, told.cause), []).append((record, told))
    return [_finding(scene, members) for members in groups.values()]


def _finding(scene: Scene, members: list[tuple[LogRecord, Told]]) -> Finding:
    first, told = members[0]
    records = [record for record, _ in members]
    ranks = sorted({record.rank for record in records if record.rank is not None})
    state = told.cause == "communication.peer_connection_lost"
    names = ("oom_other_process_share", "oom_fragmentation_share") if told.cause.startswith("gpu_memory.oom") else ()
    values = told.values
    values |= {
        "at_time": scene.when(first),
        "ranks": number_ranges(ranks) or say(scene.lang, "words", "unknown"),
    }
    return compose(
        scene.lang, told.story, told.cause, told.verdict, values,
        first_event=None if state and not first.dated else first.place,
        evidence=evidence_list(
            scene, first, [Part(record, "first" if record is first else "context") for record in records]
        ),
        window=window_of(records),
        hosts=hosts_of(records),
        devices=scene.devices([record.gpu_key for record in records]),
        ranks=tuple(ranks),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in records)),
        thresholds=used(*names),
    )  # fmt: skip


def _tell(scene: Scene, record: LogRecord) -> Told | None:
    match record.rule_id:
        case "cuda.out_of_memory":
            return _out_of_memory(scene, record)
        case "cuda.error":
            return _cuda_error(record)
        case "python.exception":
            return _exception(scene, record)
        case "nccl.peer_lost" | "c10d.watchdog_terminated" | "torch.dist_backend_error":
            return _peer(record)
        case "kernel.oom_kill":
            return _oom_kill(scene, record)
        case "elastic.worker_failed":
            return _exit(scene, record)
        case _:
            code = {} if record.exit_code is None else {"exit_code": str(record.exit_code)}
            row = record_cause(record.rule_id, {**record.fields, **code})
            return None if row is None else Told(row.story, row.cause, row.verdict, _captures(scene, record))


class _Captures(dict[str, object]):
    """What a record says, for a template; what it does not say is worded as unknown."""

    def __init__(self, known: dict[str, object], unknown: str) -> None:
        super().__init__(known)
        self._unknown = unknown

    def __missing__(self, _key: str) -> object:
        return self._unknown


def _captures(scene: Scene, record: LogRecord) -> dict[str, object]:
    columns = {"host": record.host, "pid": record.pid, "rank": record.rank, "exit_code": record.exit_code,
               "job_id": record.job_id}  # fmt: skip
    known: dict[str, object] = {
        **record.fields,
        **{name: value for name, value in columns.items() if value is not None},
    }
    return _Captures(known, say(scene.lang, "words", "unknown"))


def _out_of_memory(scene: Scene, record: LogRecord) -> Told:
    numbers = read_allocation(record.fields)
    values: dict[str, object] = {
        "requested": record.fields.get("requested", "?"),
        "unallocated": record.fields.get("unallocated", "?"),
        "numbers": _numbers(scene, record, numbers),
    }
    if _went_on(scene, record):
        return Told("recovered", "none.benign", "benign", values)
    if numbers.others_share is not None and numbers.others_share >= threshold("oom_other_process_share").value:
        return Told("oom_other_process", "gpu_memory.oom_other_process", "consistent", values)
    if numbers.enough_free:
        return Told("out_of_memory_unclear", "gpu_memory.out_of_memory", "undecided", values)
    if (
        numbers.unallocated is not None
        and numbers.requested
        and numbers.unallocated >= threshold("oom_fragmentation_share").value * numbers.requested
    ):
        return Told("oom_fragmentation", "gpu_memory.oom_fragmentation", "consistent", values)
    return Told("out_of_memory", "gpu_memory.out_of_memory", "supported", values)


def _numbers(scene: Scene, record: LogRecord, numbers: Allocation) -> str:
    said = [
        say(scene.lang, "memory", name, size=record.fields[name])
        for name in ("total", "free", "process_in_use", "allocated", "reserved", "unallocated")
        if name in record.fields
    ]
    share = numbers.others_share
    # What the process holds outside its allocator is only told apart from others where the message states the whole.
    least = 0.05 if "process_in_use" in record.fields else threshold("oom_other_process_share").value
    if share is not None and share >= least:
        said.append(say(scene.lang, "memory", "others", percent=f"{100 * share:.0f}"))
    return ", ".join(said) or say(scene.lang, "memory", "nothing")


def _went_on(scene: Scene, record: LogRecord) -> bool:
    """Whether the run made a step well after the record and printed no further refusal after it."""
    steps = scene.context.steps_of(record)
    late = any(order(record.written, step, skew_us=scene.context.skew_us) == "before" for step in steps)
    again = any(
        other.rule_id in {"cuda.out_of_memory", "python.exception"} and sort_key(other) > sort_key(record)
        for other in scene.records
        if other.source_id == record.source_id
    )
    return late and not again


def _cuda_error(record: LogRecord) -> Told:
    what = (record.fields.get("cuda_error") or record.fields.get("nccl_cuda_error") or "").strip()
    low = what.lower()
    if _ECC in low:
        return Told("uncorrectable_ecc_text", "gpu_hardware.uncorrectable_ecc", "consistent", {})
    if "out of memory" in low or "alloc_failed" in low:
        return Told("cuda_out_of_memory_call", "gpu_memory.out_of_memory", "undecided", {})
    if any(word in low for word in ("illegal", "misaligned", "assert", "launch failure", "invalid program counter")):
        return Told("gpu_exception_text", "application.gpu_exception", "consistent", {"what": what})
    return Told("cuda_error_other", "unknown.insufficient_evidence", "undecided", {"what": what})


def _exception(scene: Scene, record: LogRecord) -> Told | None:
    name = record.fields.get("exception")
    if not name or name.rsplit(".", 1)[-1] in _MESSENGERS or record.fields.get("record_ended") == "no":
        return None
    if _ran_on(scene, record):
        return None
    of_rank = "" if record.rank is None else say(scene.lang, "words", "on_rank", rank=record.rank)
    values: dict[str, object] = {"exception": name, "of_rank": of_rank}
    return Told("unhandled_exception", "application.unhandled_exception", "consistent", values)


def _peer(record: LogRecord) -> Told | None:
    reason = f"{record.fields.get('reason', '')} {record.fields.get('what', '')}".lower()
    if record.fields.get("nccl_result", "ncclRemoteError") != "ncclRemoteError":
        return None
    if record.rule_id != "nccl.peer_lost" and "remote process exited" not in reason:
        return None
    return Told("peer_connection_lost", "communication.peer_connection_lost", "supported", {})


def _oom_kill(scene: Scene, record: LogRecord) -> Told:
    name = record.fields.get("process_name")
    pid = say(scene.lang, "words", "unknown") if record.pid is None else record.pid
    process = (
        say(scene.lang, "words", "process", pid=pid, name=name)
        if name
        else say(scene.lang, "words", "process_only", pid=pid)
    )
    values: dict[str, object] = {"process": process}
    if record.fields.get("constraint") == "CONSTRAINT_MEMCG":
        return Told("cgroup_oom", "host_memory.cgroup_oom", "supported", values)
    return Told("node_oom", "host_memory.node_oom", "supported", values)


def _ran_on(scene: Scene, record: LogRecord) -> bool:
    """Whether its rank entered a collective after `record`, or its run made a step well after it and nothing ended.

    Then the exception was logged and handled: it ended nothing.
    """
    run = run_of(record, scene.runs)
    sources = run.sources if run else {record.source_id}
    late = record.written.shifted(scene.context.step_slack_us)
    steps = scene.context.steps_of(record)
    ended = any(
        other.topic.startswith(_ENDINGS) and sort_key(other) > sort_key(record)
        for other in scene.records
        if other.source_id in sources
    )
    waited = any(
        other.rule_id == "c10d.watchdog_timeout"
        and other.source_id in sources
        and other.rank == record.rank
        and order_of(record, other, skew_us=scene.context.skew_us) == "before"
        for other in scene.records
        if record.rank is not None
    )
    return waited or (not ended and any(order(late, step, skew_us=scene.context.skew_us) == "before" for step in steps))


def _exit(scene: Scene, record: LogRecord) -> Told | None:
    values: dict[str, object] = {"exit_code": record.exit_code}
    killed = any(
        other.rule_id == "kernel.oom_kill" and other.pid == record.pid and record.host in {None, other.host}
        for other in scene.records
    )
    if killed:
        return None  # the kernel's own record says who sent the signal
    if record.exit_code in {-9, 137}:
        return Told("killed_unknown", "process.killed_sender_unknown", "supported", values)
    if record.exit_code in {-11, 139, -7, 135, -4, -8}:
        return Told("native_crash", "process.native_crash", "consistent", values)
    return None
