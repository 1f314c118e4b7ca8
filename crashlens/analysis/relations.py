"""Which records stand in a known sequence, and do order, identity and mechanism hold for it?

An identity is equal, unknown or different. *Different* forbids the relation; a causal reading needs one equal. The
order is that of the beginnings: a wait began `ran_ms` before its record was written.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.analysis.runs import Member, Run, hosts_fit, run_of
from crashlens.rules.model import Sequence, SequenceStep
from crashlens.timebase import Instant, Order, order

Identity = Literal["equal", "unknown", "different"]
Reading = Literal["causal", "co_occurs", "forbidden"]


@dataclass(frozen=True, slots=True)
class Relation:
    """One first record and the records of one run (or GPU) that could follow from it.

    Attributes:
        sequence: The sequence.
        first: The record that would be the first.
        then: The records that would follow.
        reading: `causal` (order, identity and mechanism hold), `co_occurs`, or `forbidden` (an identity differs, the
            order is reversed, or the distance is too great).
        ordered: Order of `first` against the earliest of `then`.
        gap_s: Seconds from the beginning of `first` to the earliest beginning of `then`; None: no common scale.
        identities: What each identity said.
        member: The process of the run that `first` concerns, where it is known.
        against: Names of the checks that speak against it.
    """

    sequence: Sequence
    first: LogRecord
    then: tuple[LogRecord, ...]
    reading: Reading
    ordered: Order
    gap_s: float | None
    identities: dict[str, Identity]
    member: Member | None
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """What relations are judged with.

    Attributes:
        runs: Runs of the case.
        device_by_gpu: Proven device of each gpu_key, where one is.
        pci_by_gpu: PCI bus id of each gpu_key.
        last_steps: Instants of the last training steps, by source and start of its run.
        skew_us: Clock skew assumed between machines, microseconds.
        step_slack_us: A step so much later than a record was made after it.
    """

    runs: list[Run]
    device_by_gpu: dict[str, str]
    pci_by_gpu: dict[str, str]
    last_steps: dict[tuple[int, int], list[Instant]]
    skew_us: int
    step_slack_us: int

    def steps_of(self, record: LogRecord) -> list[Instant]:
        """The last steps of the start of a run that printed `record`: what a later start did says nothing about it."""
        run = run_of(record, self.runs)
        if run is None:
            return self.last_steps.get((record.source_id, 0), [])
        start = run.start_of(record.place, record.written, skew_us=self.skew_us)
        return [step for source_id in sorted(run.sources) for step in self.last_steps.get((source_id, start), ())]


def find_relations(records: list[LogRecord], sequences: tuple[Sequence, ...], context: Context) -> list[Relation]:
    """Every first record of every sequence with the groups of records that could follow from it."""
    relations: list[Relation] = []
    for sequence in sequences:
        firsts = [record for record in records if is_step(record, sequence.first)]
        thens = [record for record in records if is_step(record, sequence.then)]
        for first in firsts:
            groups = _groups(first, thens, sequence, context)
            relations += [_relate(sequence, first, group, context) for group in groups]
    return relations


def is_step(record: LogRecord, steps: tuple[SequenceStep, ...]) -> bool:
    """Whether `record` is one of the kinds that a sequence names."""
    return any(
        record.rule_id == step.rule
        and (not step.xids or record.xid in step.xids)
        and all(record.fields.get(key) == value for key, value in step.fields.items())
        for step in steps
    )


def compare_gpus(one: LogRecord, other: LogRecord, context: Context) -> Identity:
    """Whether two records name the same GPU: by proven device, else by address on the same host or in one source."""
    if one.gpu_key is None or other.gpu_key is None:
        return "unknown"
    devices = context.device_by_gpu.get(one.gpu_key), context.device_by_gpu.get(other.gpu_key)
    if devices[0] and devices[1]:
        return "equal" if devices[0] == devices[1] else "different"
    same_machine = one.host == other.host if one.host and other.host else one.source_id == other.source_id
    if not same_machine:
        return "unknown"
    return "equal" if context.pci_by_gpu.get(one.gpu_key) == context.pci_by_gpu.get(other.gpu_key) else "different"


def concerned_member(record: LogRecord, run: Run, context: Context, *, concerns: str) -> Member | None:
    """The process of `run` that `record` concerns, by process id, else by GPU; `concerns` as in `Sequence`."""
    by_pid = run.member_with_pid(record.pid, record.host)
    if by_pid is not None:
        return by_pid
    pci_bus_id = context.pci_by_gpu.get(record.gpu_key) if record.gpu_key else None
    return run.member_on_gpu(pci_bus_id, record.host) if record.pid is None or concerns == "gpu" else None


def compare_with_run(
    record: LogRecord, run: Run, others: tuple[LogRecord, ...], context: Context, *, concerns: str
) -> Identity:
    """Whether `record` concerns a process of `run`: unknown where neither its process nor its GPU is named."""
    if record.source_id in run.sources and record.gpu_key is None:
        return "equal"
    if concerned_member(record, run, context, concerns=concerns) is not None:
        return "equal"
    if any(
        record.pid is not None and record.pid == other.pid and hosts_fit(record.host, other.host) for other in others
    ):
        return "equal"
    if concerns == "gpu" and not run.gpus_known(record.host):
        return "unknown"
    if record.pid is None or not run.complete or shares_gpu(record, run, context):
        return "unknown"
    # Process ids of different machines (or of a pod and its node) cannot be compared.
    return "different" if record.host is None or record.host in run.hosts() else "unknown"


def shares_gpu(record: LogRecord, run: Run, context: Context) -> bool:
    """Whether `record` names a GPU of `run`: a container may number its process anew, so a pid decides nothing."""
    pci_bus_id = context.pci_by_gpu.get(record.gpu_key) if record.gpu_key else None
    return run.member_on_gpu(pci_bus_id, record.host) is not None


def _groups(
    first: LogRecord, thens: list[LogRecord], sequence: Sequence, context: Context
) -> list[tuple[LogRecord, ...]]:
    """The records that may follow, one group per start of a run or, where the sequence is about a GPU, per GPU."""
    groups: dict[object, list[LogRecord]] = {}
    for record in thens:
        if record is first:
            continue
        if sequence.same == ("gpu",):
            if compare_gpus(first, record, context) == "equal":
                groups.setdefault("gpu", []).append(record)
            continue
        run = run_of(record, context.runs)
        start = run.start_of(record.place, record.written, skew_us=context.skew_us) if run else 0
        groups.setdefault((id(run) if run else record.source_id, start), []).append(record)
    return [tuple(sorted(group, key=sort_key)) for group in groups.values()]


def _relate(sequence: Sequence, first: LogRecord, then: tuple[LogRecord, ...], context: Context) -> Relation:
    run = run_of(then[0], context.runs)
    earliest = min(then, key=sort_key)
    identities = _identities(first, then, run, context, concerns=sequence.concerns)
    ordered = order(first.began, earliest.began, skew_us=context.skew_us)
    gap_s = seconds_between(first.began, earliest.began)
    member = concerned_member(first, run, context, concerns=sequence.concerns) if run else None
    open_ = ordered != "after" and (gap_s is None or gap_s <= sequence.within_s)  # else nothing need speak against it
    checks = sequence.against if open_ else ()
    against = tuple(check for check in checks if _CHECKS[check](first, earliest, run, member, context))
    relation = Relation(
        sequence=sequence,
        first=first,
        then=then,
        reading="co_occurs",
        ordered=ordered,
        gap_s=gap_s,
        identities=identities,
        member=member,
        against=against,
    )
    return replace(relation, reading=_reading(relation, context))


def _reading(relation: Relation, context: Context) -> Reading:
    sequence, identities, gap_s = relation.sequence, relation.identities, relation.gap_s
    if relation.ordered == "after" or _forbidden(identities) or (gap_s is not None and gap_s > sequence.within_s):
        return "forbidden"
    joined = any(identities[name] == "equal" for name in ("pid", "gpu", "run") if name in sequence.same)
    first = relation.first.began
    all_before = all(order(first, other.began, skew_us=context.skew_us) == "before" for other in relation.then)
    # In the hour that a wall clock shows twice the distance may be an hour more than it says.
    unsure_s = max(other.began.uncertainty_us for other in relation.then) / 1e6
    near = gap_s is not None and gap_s + unsure_s <= sequence.within_s
    holds = joined and all_before and near and not relation.against and _left_the_others(relation)
    return "causal" if holds else "co_occurs"


def _left_the_others(relation: Relation) -> bool:
    """Whether a record that only its log ties to the run is of a rank that did not wait: a waiting one is alive."""
    first = relation.first
    if first.gpu_key is not None or relation.identities["pid"] == "equal":
        return True
    rank = relation.member.rank if first.rank is None and relation.member is not None else first.rank
    return rank is not None and rank not in {other.rank for other in relation.then}


def _forbidden(identities: dict[str, Identity]) -> bool:
    if identities["run"] == "equal":
        return identities["job"] == "different"
    return "different" in (identities["run"], identities["job"], identities["host"], identities["gpu"])


def _identities(
    first: LogRecord, then: tuple[LogRecord, ...], run: Run | None, context: Context, *, concerns: str
) -> dict[str, Identity]:
    pid = any(first.pid is not None and first.pid == other.pid and hosts_fit(first.host, other.host) for other in then)
    gpus = {compare_gpus(first, other, context) for other in then}
    return {
        "pid": "equal" if pid else "unknown",
        "gpu": "equal" if "equal" in gpus else ("different" if gpus == {"different"} else "unknown"),
        "run": compare_with_run(first, run, then, context, concerns=concerns) if run else "unknown",
        "host": _compare(first.host, {*(other.host for other in then), *(run.hosts() if run else ())}),
        "job": _compare(first.job_id, {other.job_id for other in then}),
    }


def _compare(one: str | None, others: set[str | None]) -> Identity:
    known = {other for other in others if other is not None}
    if one is None or not known:
        return "unknown"
    return "equal" if one in known else "different"


def _step_after(first: LogRecord, then: LogRecord, _run: Run | None, _member: Member | None, context: Context) -> bool:
    late = first.began.shifted(context.step_slack_us)
    return any(order(late, step, skew_us=context.skew_us) == "before" for step in context.steps_of(then))


def _started_again(first: LogRecord, then: LogRecord, run: Run | None, member: Member | None, context: Context) -> bool:
    """Whether the rank that `first` concerns (any rank, where none is known) was running between `first` and `then`.

    A new process of it, or another communicator that it joined, shows that.
    """
    skew_us = context.skew_us
    return run is not None and any(
        order(first.written, other.seen, skew_us=skew_us) == "before"
        and order(other.seen, then.written, skew_us=skew_us) == "before"
        for other in run.joined
        if (member is None and other.pid != first.pid)
        or (member is not None and other.rank == member.rank)
        or (other.pid is not None and other.pid == first.pid and hosts_fit(other.host, first.host))
    )


_CHECKS: dict[str, Callable[[LogRecord, LogRecord, Run | None, Member | None, Context], bool]] = {
    "step_after": _step_after,
    "started_again": _started_again,
}
