"""Which ranks waited for a collective, which did not come, and who called something else?

A rank that prints a timeout is a survivor of the wait; the rank that did not arrive is often silent. Lines of heartbeat
monitors, dump signals and teardown are messengers: none of them is ever the first event.
"""

from dataclasses import replace

from crashlens.analysis.records import LogRecord, earliest
from crashlens.analysis.runs import series_of
from crashlens.conclude.collective_order import conclude_absence, conclude_cycle, conclude_mismatch, conclude_store_wait
from crashlens.conclude.hang_causes import find_counters
from crashlens.conclude.hangs import STUCK, Hang
from crashlens.conclude.long_task import conclude_long_task
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import clock_text, compose, number_ranges, say
from crashlens.findings import Finding
from crashlens.sources.path_ranks import ranks_of_path
from crashlens.timebase import from_us

_DEFAULT_GROUPS = ("(default_pg)",)


def conclude_hang(scene: Scene, hang: Hang) -> Finding:
    """The finding of waits that no record of the input explains: what is known of them, most direct first."""
    told = (
        conclude_mismatch(scene, hang)
        or conclude_long_task(scene, hang)
        or conclude_cycle(scene, hang)
        or conclude_absence(scene, hang)
        or (None if hang.waits else conclude_store_wait(scene, hang))
    )
    if told is not None:
        return told
    if hang.waits:
        return _hang(scene, hang)
    return _stuck(scene, hang) if hang.stuck else _recorded(scene, hang)


def _hang(scene: Scene, hang: Hang) -> Finding:
    first = earliest(hang.waits, skew_us=scene.context.skew_us)
    if first is None and hang.waits[0].dated:
        first = hang.waits[0]
    counters = find_counters(scene, hang)
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
    parts = [Part(record, "first" if record is first else "context") for record in hang.waits]
    parts += [Part(record, "downstream") for record in (*hang.stuck, *hang.store, *hang.following)]
    finding = compose(
        scene.lang, "collective_hang", "communication.collective_hang", "undecided", values,
        first_event=None if first is None else first.place,
        evidence=evidence_list(scene, first, [*parts, *counters]),
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
        rule_ids=tuple(rule for rule in sorted(STUCK) if any(record.rule_id == rule for record in hang.stuck)),
    )  # fmt: skip


def _recorded(scene: Scene, hang: Hang) -> Finding:
    """Dumps in which every rank that is told of has entered what nobody finished, and no log of the run."""
    open_ = [record for record in hang.dumps if record.fields.get("state") in {"scheduled", "started"}]
    lead = min(open_, key=lambda record: record.seq or 0)
    own = [record for record in open_ if (record.process_group, record.seq) == (lead.process_group, lead.seq)]
    ranks = sorted({record.rank for record in own if record.rank is not None})
    values: dict[str, object] = {
        "ranks": number_ranges(ranks) or say(scene.lang, "words", "unknown"),
        "op": lead.fields.get("op_type", ""),
        "seq": "" if lead.seq is None else say(scene.lang, "collective", "seq", seq=lead.seq),
        "group": lead.process_group or say(scene.lang, "words", "unknown"),
    }
    return compose(
        scene.lang, "collective_recorded", "communication.collective_hang", "undecided", values,
        first_event=None,
        evidence=evidence_list(scene, None, [Part(record, "context") for record in own]),
        ranks=tuple(ranks),
        rule_ids=(lead.rule_id,),
    )  # fmt: skip


def _began(scene: Scene, record: LogRecord) -> str:
    utc_us = record.began.utc_us
    if utc_us is None:
        return say(scene.lang, "words", "unknown_time")
    return say(scene.lang, "words", "at_time", time=clock_text(from_us(utc_us)))


def _silent(scene: Scene, hang: Hang) -> str:
    """The ranks of the run that printed no timeout; of a smaller group the members are not told by the run's size."""
    size = hang.run.world_size
    if any(not group.endswith(_DEFAULT_GROUPS) and group != "0" for group in hang.group_names):
        return ""
    if size is None:
        return _silent_files(scene, hang)
    silent = sorted(set(range(size)) - set(hang.ranks))
    if not silent:
        return ""
    return say(scene.lang, "collective", "silent", ranks=number_ranges(silent), world_size=size)


def _silent_files(scene: Scene, hang: Hang) -> str:
    """The ranks with a file of their own beside those that waited, where nothing says how many ranks there are."""
    paths: list[str] = scene.tables.sources["path"].to_list()
    own = {series_of(record.place.source) for record in hang.waits}
    named = {ranks_of_path(path).rank for path in paths if series_of(path) is not None and series_of(path) in own}
    silent = sorted(rank for rank in named if rank is not None and rank not in hang.ranks)
    return say(scene.lang, "collective", "silent_files", ranks=number_ranges(silent)) if silent else ""
