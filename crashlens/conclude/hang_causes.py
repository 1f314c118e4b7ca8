"""Which record of the input explains the waits of a run, and what speaks against those that only look like it?"""

from dataclasses import replace

from crashlens.analysis.collective_state import WAITS
from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.analysis.relations import Relation, shares_gpu
from crashlens.conclude.hangs import Hang, concerns
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import number_ranges, say, say_causal, span
from crashlens.findings import Finding, Place, Role

_BY_RUN = "rank_exception_then_collective_timeout"
_BY_KILL = "host_kill_then_collective_timeout"


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


def find_counters(scene: Scene, hang: Hang) -> list[Part]:
    """GPU records that look like a reason and are none, each with what speaks against it."""
    found: dict[int, Part] = {}
    for relation in scene.relations:
        if relation.sequence.id in {_BY_RUN, _BY_KILL} or not concerns(scene, hang, relation):
            continue
        if relation.first.topic.startswith("gpu.") and relation.then[0].rule_id == WAITS:
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
    if relation.sequence.id == _BY_KILL:
        name = record.fields.get("process_name", "?")
        process = say(lang, "words", "process", pid=record.pid, name=name)
        return say_causal(
            lang, "kill_then_timeouts", ranks=ranks, at_time=scene.when(record), process=process, mechanism=mechanism,
            gap=gap, identity=_identity(scene, relation),
        )  # fmt: skip
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
    named = (record.fields.get(key) for key in ("cuda_error", "exception", "nccl_cuda_error", "status", "what"))
    return next((text for text in named if text), record.rule_id).strip()
