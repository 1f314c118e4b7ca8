"""Ranks that called different collectives, ranks that did not enter one, and waits at the store."""

from crashlens.analysis.collective_state import Absence, Disagreement, Side, find_cycle
from crashlens.analysis.records import LogRecord, earliest
from crashlens.conclude.hangs import Hang
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import compose, listed, number_ranges, say
from crashlens.findings import Finding, Verdict

_DIRECT = {"flight_recorder.entry", "nccl.collective_call"}  # what was asked for, not what was still awaited


def conclude_mismatch(scene: Scene, hang: Hang) -> Finding | None:
    """That ranks called different collectives, or None: from what they called, else from what NCCL or c10d says."""
    parted = [one for one in hang.disagreements if one.differs == "op"] or hang.disagreements
    if parted:
        return _parted(scene, hang, parted[0])
    return _told(scene, hang) if hang.told else None


def conclude_absence(scene: Scene, hang: Hang) -> Finding | None:
    """That some ranks did not enter a collective that others wait in, or None."""
    if not hang.absences:
        return None
    absence = hang.absences[0]
    hung = bool(hang.waits or hang.stuck or hang.store) or any(
        r.fields.get("retired") == "true" for r in absence.records
    )
    first = earliest(hang.waits, skew_us=scene.context.skew_us) if hang.waits else None
    values: dict[str, object] = {
        "missing": number_ranges(list(absence.missing)),
        "entered": number_ranges(list(absence.entered)) or say(scene.lang, "absence", "the_others"),
        "op": absence.op or say(scene.lang, "absence", "a_collective"),
        "seq": "" if absence.seq is None else say(scene.lang, "collective", "seq", seq=absence.seq),
        "group": ""
        if absence.process_group is None
        else say(scene.lang, "absence", "group", group=absence.process_group),
        "teller": say(scene.lang, "absence", absence.told_by),
        "no_dump": _no_record(scene, absence),
    }
    parts = [Part(record, "first" if record is first else "context") for record in (*absence.records, *hang.waits)]
    parts += [Part(record, "downstream") for record in (*hang.stuck, *hang.store, *hang.following)]
    shown = [record for part in parts for record in [part.record] if part.role != "downstream"]
    return compose(
        scene.lang, "rank_missing" if hung else "rank_behind", "communication.rank_missing_or_slow",
        "consistent" if hung else "undecided", values,
        first_event=None if first is None else first.place,
        evidence=evidence_list(scene, first, parts),
        window=window_of(hang.waits),
        hosts=hosts_of(shown),
        ranks=tuple(sorted({*absence.missing, *absence.entered})),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in shown)),
        thresholds=used("cross_host_skew_s") if hang.waits else (),
    )  # fmt: skip


def conclude_store_wait(scene: Scene, hang: Hang) -> Finding | None:
    """That ranks waited at the store until their limit, or None."""
    if not hang.store:
        return None
    lead = hang.store[0]
    counted = next((record for record in hang.store if "joined" in record.fields), None)
    values: dict[str, object] = {
        "ranks": number_ranges(hang.ranks) or say(scene.lang, "words", "unknown"),
        "at_time": scene.when(lead),
    }
    verdict: Verdict = "undecided"
    story, cause = "store_wait", "communication.collective_hang"
    if counted is not None:
        story, cause, verdict = "clients_missing", "communication.rank_missing_or_slow", "consistent"
        values |= {"joined": counted.fields["joined"], "expected": counted.fields["expected"]}
    parts = [Part(record, "context") for record in hang.store]
    parts += [Part(record, "downstream") for record in (*hang.stuck, *hang.following)]
    return compose(
        scene.lang, story, cause, verdict, values,
        first_event=None,
        evidence=evidence_list(scene, None, parts),
        window=window_of(hang.store),
        hosts=hosts_of(hang.store),
        ranks=tuple(hang.ranks),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in hang.store)),
    )  # fmt: skip


def conclude_cycle(scene: Scene, hang: Hang) -> Finding | None:
    """That ranks wait for each other in several groups, or None."""
    cycle = find_cycle(hang.absences)
    if not cycle:
        return None
    waits = [
        say(
            scene.lang, "absence", "waits_for", entered=number_ranges(list(one.entered)), group=one.process_group,
            missing=number_ranges(list(one.missing)), what=f"{one.op}{_number(one.seq)}",
        )
        for one in cycle
    ]  # fmt: skip
    records = [record for one in cycle for record in one.records]
    parts = [Part(record, "context") for record in (*records, *hang.waits)]
    parts += [Part(record, "downstream") for record in (*hang.stuck, *hang.store, *hang.following)]
    return compose(
        scene.lang, "groups_in_different_order", "communication.mismatched_collective", "consistent",
        {"waits": "; ".join(waits)},
        first_event=None,
        evidence=evidence_list(scene, None, parts),
        window=window_of(hang.waits),
        hosts=hosts_of(hang.waits),
        ranks=tuple(sorted({rank for one in cycle for rank in (*one.entered, *one.missing)})),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in records)),
    )  # fmt: skip


def _parted(scene: Scene, hang: Hang, parted: Disagreement) -> Finding:
    minority = parted.minority
    lead = minority.records[0] if minority is not None and len(minority.records) == 1 else None
    first = lead or (earliest(list(minority.records), skew_us=scene.context.skew_us) if minority is not None else None)
    first = first or (minority.records[0] if minority is not None else None)
    direct = parted.differs == "op" and all(record.rule_id in _DIRECT for record in parted.records)
    sure = direct and (bool(hang.told) or parted.records[0].rule_id == "flight_recorder.entry")
    values: dict[str, object] = {
        "at_time": scene.when(hang.waits[0] if hang.waits else parted.records[0]),
        "operations": "; ".join(_side(scene, side) for side in parted.sides),
        "seq": "" if parted.seq is None else say(scene.lang, "collective", "seq", seq=parted.seq),
    }
    story = (
        ("mismatched_calls" if direct else "mismatched_collective") if parted.differs == "op" else "mismatched_sizes"
    )
    parts = [Part(record, "first" if record is first else "context") for record in parted.records]
    parts += [Part(record, "context") for record in hang.waits]
    parts += [Part(record, "downstream") for record in (*hang.told, *hang.stuck, *hang.store, *hang.following)]
    ranks = {rank for side in parted.sides for rank in side.ranks if rank is not None}
    return compose(
        scene.lang, story, "communication.mismatched_collective", "supported" if sure else "consistent", values,
        first_event=None if first is None else first.place,
        evidence=evidence_list(scene, first, parts),
        window=window_of(hang.waits or parted.records),
        hosts=hosts_of(parted.records),
        ranks=tuple(sorted(ranks | set(hang.ranks))),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in (*parted.records, *hang.told))),
    )  # fmt: skip


def _told(scene: Scene, hang: Hang) -> Finding:
    lead = hang.told[0]
    named = [int(lead.fields[name]) for name in ("one_rank", "other_rank") if name in lead.fields]
    ranks = named or [record.rank for record in hang.told if record.rank is not None]
    values: dict[str, object] = {"at_time": scene.when(lead), "what": _what_differs(scene, lead)}
    parts = [Part(record, "first" if record is lead else "context") for record in hang.told]
    parts += [Part(record, "downstream") for record in (*hang.waits, *hang.stuck, *hang.store, *hang.following)]
    return compose(
        scene.lang, "mismatch_told", "communication.mismatched_collective", "supported", values,
        first_event=lead.place,
        evidence=evidence_list(scene, lead, parts),
        window=window_of(hang.told),
        hosts=hosts_of(hang.told),
        ranks=tuple(sorted({*ranks, *hang.ranks})),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in hang.told)),
    )  # fmt: skip


def _what_differs(scene: Scene, record: LogRecord) -> str:
    fields = record.fields
    if "op_type" not in fields or "other_op_type" not in fields:
        return ""
    sides = [
        say(scene.lang, "absence", "side", what=f"{fields[op]}{_number(number)}", ranks=fields[rank])
        for op, number, rank in (
            ("op_type", record.seq, "one_rank"),
            ("other_op_type", fields.get("other_seq"), "other_rank"),
        )
    ]
    return ": " + "; ".join(sides)


def _number(seq: int | str | None) -> str:
    return "" if seq is None else f" #{seq}"


def _side(scene: Scene, side: Side) -> str:
    """What one side called, and which ranks, or processes where their ranks are not known."""
    ranks = [rank for rank in side.ranks if rank is not None]
    if len(ranks) == len(side.ranks):
        return say(scene.lang, "absence", "side", what=side.what, ranks=number_ranges(ranks))
    pids = [str(record.pid) for record in side.records if record.pid is not None]
    return say(scene.lang, "absence", "side_of_processes", what=side.what, pids=listed(scene.lang, pids))


def _no_record(scene: Scene, absence: Absence) -> str:
    if not absence.unknown:
        return ""
    return say(scene.lang, "absence", "no_dump", ranks=number_ranges(list(absence.unknown)))
