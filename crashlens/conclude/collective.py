"""Which ranks waited for a collective, and does a record of the input explain why?

A rank that prints a timeout is a survivor of the wait; the rank that did not arrive is often silent.
"""

from dataclasses import dataclass, replace

from crashlens.analysis.records import LogRecord, earliest, seconds_between, sort_key
from crashlens.analysis.relations import Relation, shares_gpu
from crashlens.analysis.runs import Run, run_of
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import clock_text, compose, number_ranges, say, say_causal, span
from crashlens.findings import Finding, Place, Role
from crashlens.timebase import from_us

_WAITS = "c10d.watchdog_timeout"
_STUCK = "c10d.watchdog_stuck"
_FOLLOWING = ("communication.", "process.teardown", "process.exit", "process.wrapper")
_BY_RUN = "rank_exception_then_collective_timeout"


@dataclass
class Hang:
    """The waits of one start of a run.

    Attributes:
        run: The run.
        start: Which of its starts: 0 the first one.
        waits: Timeout records, by the beginning of the wait.
        stuck: Records of watchdogs that did not move.
        following: What the run printed on the way down.
    """

    run: Run
    start: int
    waits: list[LogRecord]
    stuck: list[LogRecord]
    following: list[LogRecord]

    @property
    def ranks(self) -> list[int]:
        """Ranks that waited."""
        return sorted({record.rank for record in self.waits or self.stuck if record.rank is not None})

    @property
    def records(self) -> list[LogRecord]:
        """Every record of it."""
        return [*self.waits, *self.stuck, *self.following]


def find_hangs(scene: Scene) -> list[Hang]:
    """The runs in which ranks waited until their limit; a run that was started again may have hung in each start."""
    hangs: list[Hang] = []
    for run, start, own in _starts(scene):
        waits = _distinct(sorted((record for record in own if record.rule_id == _WAITS), key=sort_key))
        stuck = sorted((record for record in own if record.rule_id == _STUCK), key=sort_key)
        if waits or stuck:
            following = [
                record
                for record in own
                if record.topic.startswith(_FOLLOWING) and record.rule_id not in {_WAITS, _STUCK}
            ]
            hangs.append(Hang(run, start, waits, stuck, following))
    return hangs


def _starts(scene: Scene) -> list[tuple[Run, int, list[LogRecord]]]:
    """Every run and start with the records it printed."""
    found: list[tuple[Run, int, list[LogRecord]]] = []
    for run in scene.runs:
        by_start: dict[int, list[LogRecord]] = {}
        for record in scene.records:
            if record.source_id in run.sources:
                by_start.setdefault(
                    run.start_of(record.place, record.written, skew_us=scene.context.skew_us), []
                ).append(record)
        found += [(run, start, own) for start, own in sorted(by_start.items())]
    return found


def concerns(scene: Scene, hang: Hang, relation: Relation) -> bool:
    """Whether the records that would follow in `relation` are those of this hang."""
    then, run = relation.then[0], hang.run
    return (
        run_of(then, scene.runs) is run
        and run.start_of(then.place, then.written, skew_us=scene.context.skew_us) == hang.start
    )


def _distinct(waits: list[LogRecord]) -> list[LogRecord]:
    """Each wait once: the exception that ends the watchdog thread quotes its words again."""
    seen: set[tuple[object, ...]] = set()
    kept: list[LogRecord] = []
    for record in waits:
        key = (record.fields.get("group_rank"), record.seq, record.fields.get("op_type"), record.ran_ms)
        if key not in seen or record.ran_ms is None or record.fields.get("group_rank") is None:
            kept.append(record)
        seen.add(key)
    return kept


def causal_relation(scene: Scene, hang: Hang) -> Relation | None:
    """The relation by which the waits of this run may be called caused, GPU records before exceptions, or None."""
    own = [
        relation
        for relation in scene.relations
        if relation.reading == "causal" and hang.waits and concerns(scene, hang, relation)
    ]
    return min(
        own, key=lambda r: (r.sequence.id == _BY_RUN, r.first.xid is None and r.first.pid is None, sort_key(r.first)),
        default=None,
    )  # fmt: skip


def attach(scene: Scene, hang: Hang, relation: Relation, finding: Finding, *, own: list[LogRecord]) -> Finding:
    """`finding` with the causal sentence and the waits as what followed.

    Args:
        scene: The scene.
        hang: The waits.
        relation: A relation whose reading is causal.
        finding: The finding of the first record.
        own: Records that the finding already rests on, its first event among them.
    """
    first = next((record for record in own if record.place == finding.first_event), relation.first)
    roles: dict[Place, Role] = {item.place: item.role for item in finding.evidence}
    notes = {item.place: item.note for item in finding.evidence}
    parts = [Part(record, roles.get(record.place, "context"), notes.get(record.place, "")) for record in own]
    parts += [Part(record, "downstream") for record in hang.records]
    member = relation.member
    evidence_ranks = {*finding.ranks, *hang.ranks, *((member.rank,) if member else ())}
    return replace(
        finding,
        causal=_causal_sentence(scene, hang, relation),
        evidence=evidence_list(scene, first, parts),
        ranks=tuple(sorted(evidence_ranks)),
        window=window_of([*own, *hang.waits]) or finding.window,
        hosts=tuple(dict.fromkeys((*finding.hosts, *hosts_of(hang.records)))),
        rule_ids=tuple(dict.fromkeys((*finding.rule_ids, *(r.rule_id for r in hang.waits), relation.sequence.id))),
        thresholds=tuple(dict.fromkeys((*finding.thresholds, *used("cross_host_skew_s", "step_after_slack_s")))),
    )


def conclude_hang(scene: Scene, hang: Hang) -> Finding:
    """The finding of waits that no record of the input explains."""
    if not hang.waits:
        return _stuck(scene, hang)
    mismatch = _mismatch(hang)
    if mismatch:
        return _mismatched(scene, hang, mismatch)
    first = earliest(hang.waits, skew_us=scene.context.skew_us)
    if first is None and hang.waits[0].dated:
        first = hang.waits[0]
    counters = _counters(scene, hang)
    lead = hang.waits[0]
    seq = "" if lead.seq is None else say(scene.lang, "collective", "seq", seq=lead.seq)
    limit = "" if lead.timeout_ms is None else say(scene.lang, "collective", "limit", s=lead.timeout_ms // 1000)
    values: dict[str, object] = {
        "ranks": number_ranges(hang.ranks) or say(scene.lang, "words", "unknown"),
        "op": lead.fields.get("op_type", ""),
        "seq": seq,
        "limit": limit,
        "began": _began(scene, lead),
        "silent": _silent(scene, hang),
    }
    finding = compose(
        scene.lang, "collective_hang", "communication.collective_hang", "undecided", values,
        first_event=None if first is None else first.place,
        evidence=evidence_list(scene, first, [*_wait_parts(hang, first), *counters]),
        window=window_of(hang.waits),
        hosts=hosts_of(hang.waits),
        ranks=tuple(hang.ranks),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in hang.records)),
        thresholds=used("cross_host_skew_s"),
    )  # fmt: skip
    notes = tuple(
        say(scene.lang, "counter", "not_shown", place=part.record.place, note=part.note)
        for part in counters
        if part.note
    )
    return replace(finding, does_not_prove=(*finding.does_not_prove, *notes)) if notes else finding


def _wait_parts(hang: Hang, first: LogRecord | None) -> list[Part]:
    parts = [Part(record, "first" if record is first else "context") for record in hang.waits]
    parts += [Part(record, "downstream") for record in (*hang.stuck, *hang.following)]
    return parts


def _counters(scene: Scene, hang: Hang) -> list[Part]:
    """GPU records that look like a reason and are none, each with what speaks against it."""
    found: dict[int, Part] = {}
    for relation in scene.relations:
        if relation.sequence.id == _BY_RUN or not concerns(scene, hang, relation):
            continue
        if relation.first.topic.startswith("gpu.") and relation.then[0].rule_id == _WAITS:
            found.setdefault(id(relation.first), Part(relation.first, "counter", _against(scene, hang, relation)))
    return list(found.values())


def _against(scene: Scene, hang: Hang, relation: Relation) -> str:
    record = relation.first
    late = [seconds_between(wait.written, record.written) for wait in hang.waits]
    late_s = min((seconds for seconds in late if seconds is not None), default=None)
    values: dict[str, object] = {
        "xid": record.xid if record.xid is not None else record.rule_id,
        "pid": record.pid,
        "name": record.fields.get("process_name", "?"),
        "world_size": hang.run.world_size,
        "host": record.host,
        "gap": "" if relation.gap_s is None else span(scene.lang, relation.gap_s),
        "after_written": "" if late_s is None else span(scene.lang, late_s),
    }
    later, foreign = relation.ordered == "after", relation.identities["run"] == "different"
    if later and late_s is not None and late_s <= 0:
        key = "other_process" if foreign else "during"
    elif later and foreign:
        key = "both"
    elif later:
        key = "later"
    elif foreign:
        key = "other_process"
    elif relation.identities["host"] == "different":
        key = "other_host"
    elif relation.against:
        key = relation.against[0]
    elif relation.ordered == "unordered":
        key = "unordered"
    elif relation.reading == "co_occurs" and relation.identities["run"] == "equal":
        key = "not_every_wait"
    elif relation.reading == "co_occurs" and shares_gpu(record, hang.run, scene.context) and record.pid is not None:
        key = "same_gpu_other_process"
    else:
        key = "too_far" if relation.reading == "forbidden" else "unknown_identity"
    return say(scene.lang, "counter", key, **values)


def _causal_sentence(scene: Scene, hang: Hang, relation: Relation) -> str:
    record, lang = relation.first, scene.lang
    ranks = number_ranges(hang.ranks) or say(lang, "words", "unknown")
    mechanism = relation.sequence.mechanism_ko if lang == "ko" else relation.sequence.mechanism
    gap = span(lang, relation.gap_s or 0.0)
    if relation.sequence.id == _BY_RUN:
        return say_causal(
            lang, "exception_then_timeouts", ranks=ranks, rank=record.rank, at_time=scene.when(record),
            what=_what(record), mechanism=mechanism, gap=gap,
        )  # fmt: skip
    values: dict[str, object] = {
        "ranks": ranks, "at_time": scene.when(record), "gpu": scene.gpus_phrase([record.gpu_key]),
        "mechanism": mechanism, "gap": gap, "identity": _identity(scene, relation),
    }  # fmt: skip
    if record.xid is None:
        return say_causal(lang, "bus_loss_then_timeouts", **values)
    member = relation.member
    if record.pid is None or (member is not None and member.pid != record.pid):
        return say_causal(lang, "xid_on_gpu_then_timeouts", xid=record.xid, **values)
    name = record.fields.get("process_name")
    process = (
        say(lang, "words", "process", pid=record.pid, name=name)
        if name
        else say(lang, "words", "process_only", pid=record.pid)
    )
    return say_causal(lang, "xid_then_timeouts", xid=record.xid, process=process, **values)


def _identity(scene: Scene, relation: Relation) -> str:
    record, member = relation.first, relation.member
    if member is not None and record.pid is not None and record.pid == member.pid:
        return say(scene.lang, "identity", "run_pid", pid=record.pid, rank=member.rank, place=member.place)
    if member is not None:
        return say(scene.lang, "identity", "run_gpu", rank=member.rank, place=member.place)
    key = next((name for name in ("pid", "gpu", "run") if relation.identities[name] == "equal"), "run")
    return say(scene.lang, "identity", key, pid=record.pid)


def _what(record: LogRecord) -> str:
    if record.rule_id == "cuda.out_of_memory":
        return "CUDA out of memory"  # the program's own words
    return (
        record.fields.get("cuda_error")
        or record.fields.get("exception")
        or record.fields.get("nccl_cuda_error")
        or record.rule_id
    ).strip()


def _stuck(scene: Scene, hang: Hang) -> Finding:
    parts = [Part(record, "context") for record in hang.stuck]
    parts += [Part(record, "downstream") for record in hang.following]
    values: dict[str, object] = {
        "ranks": number_ranges(hang.ranks) or say(scene.lang, "words", "unknown"),
        "at_time": scene.when(hang.stuck[0]),
    }
    return compose(
        scene.lang, "watchdog_stuck", "communication.collective_hang", "undecided", values,
        first_event=None,
        evidence=evidence_list(scene, None, parts),
        window=window_of(hang.stuck),
        hosts=hosts_of(hang.stuck),
        ranks=tuple(hang.ranks),
        rule_ids=(_STUCK,),
    )  # fmt: skip


def _mismatch(hang: Hang) -> dict[str, list[LogRecord]]:
    """Waits of one process group and sequence number in different operations, by operation; empty where they agree."""
    groups: dict[tuple[str | None, int | None], list[LogRecord]] = {}
    for record in hang.waits:
        groups.setdefault((record.process_group or record.fields.get("pg_id"), record.seq), []).append(record)
    for records in groups.values():
        operations: dict[str, list[LogRecord]] = {}
        for record in records:
            operations.setdefault(record.fields.get("op_type", "?"), []).append(record)
        ranks = [record.rank for record in records]
        if len(operations) > 1 and len(set(ranks)) == len(ranks) and None not in ranks:
            return operations
    return {}


def _mismatched(scene: Scene, hang: Hang, operations: dict[str, list[LogRecord]]) -> Finding:
    minority = min(operations.values(), key=len)
    first = minority[0] if all(len(minority) < len(o) for o in operations.values() if o is not minority) else None
    phrase = "; ".join(
        f"{name} {number_ranges([r.rank for r in records if r.rank is not None])}"
        for name, records in operations.items()
    )
    return compose(
        scene.lang, "mismatched_collective", "communication.mismatched_collective", "consistent",
        {"at_time": scene.when(hang.waits[0]), "operations": phrase},
        first_event=None if first is None else first.place,
        evidence=evidence_list(scene, first, _wait_parts(hang, first)),
        window=window_of(hang.waits),
        hosts=hosts_of(hang.waits),
        ranks=tuple(hang.ranks),
        rule_ids=(_WAITS,),
    )  # fmt: skip


def _began(scene: Scene, record: LogRecord) -> str:
    utc_us = record.began.utc_us
    if utc_us is None:
        return say(scene.lang, "words", "unknown_time")
    return say(scene.lang, "words", "at_time", time=clock_text(from_us(utc_us)))


def _silent(scene: Scene, hang: Hang) -> str:
    if hang.run.world_size is None:
        return ""
    silent = sorted(set(range(hang.run.world_size)) - set(hang.ranks))
    if not silent:
        return ""
    return say(scene.lang, "collective", "silent", ranks=number_ranges(silent), world_size=hang.run.world_size)
