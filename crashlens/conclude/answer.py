"""All questions asked, and their findings put in order of importance."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from crashlens.analysis.bursts import first_cause_rank
from crashlens.analysis.records import LogRecord, order_of
from crashlens.catalog.phrases import in_language
from crashlens.catalog.record_causes import VERDICTS
from crashlens.conclude.application import conclude_application
from crashlens.conclude.benchmark import conclude_benchmark
from crashlens.conclude.clocks_power import conclude_clocks_power
from crashlens.conclude.collective import conclude_hang
from crashlens.conclude.container import conclude_container
from crashlens.conclude.endings import conclude_endings
from crashlens.conclude.gpu_records import GpuCase, conclude_gpu_case, find_gpu_cases, independent_incidents
from crashlens.conclude.hang_causes import attach, causal_relation
from crashlens.conclude.hangs import Hang, concerns, find_hangs
from crashlens.conclude.host_records import conclude_bus, quiet_notes
from crashlens.conclude.image import conclude_image
from crashlens.conclude.own_rules import conclude_own_rules
from crashlens.conclude.ports import conclude_ports
from crashlens.conclude.process_end import KERNEL_KILLS
from crashlens.conclude.runtime import conclude_runtime
from crashlens.conclude.scene import Scene, build_scene
from crashlens.conclude.scheduler import conclude_scheduler
from crashlens.conclude.serving import conclude_serving
from crashlens.conclude.session_start import conclude_session_start
from crashlens.conclude.waiting_gpus import conclude_waiting_gpus
from crashlens.conclude.wording import clock_text, compose, listed, say
from crashlens.findings import MOST_FINDINGS, Finding, Place
from crashlens.rules.model import RuleSet
from crashlens.schemas import Tables
from crashlens.timebase import order

# What is read first: what ended the run, then what slowed it down, then what decides nothing. Inside a family the
# verdict counts, then time.
_FAMILIES = (
    "gpu_hardware", "fabric", "host_memory", "gpu_memory", "network", "application", "process", "communication",
    "thermal", "power", "clocks", "input", "runtime", "container", "serving", "scheduler", "telemetry",
    "none", "unknown",
)  # fmt: skip
_LATER = {
    "gpu_hardware.row_remap_pending": 8.5, "gpu_hardware.reset_required": 8.6, "application.gpu_exception": 5.5,
    "runtime.slow_session_start": 15.5,
}  # fmt: skip
_ENDED = "communication."
MOST_PLACES = 5  # lines with an error word that are named one by one


def conclude(tables: Tables, rule_set: RuleSet, *, uncut: Tables, lang: str) -> tuple[Finding, ...]:
    """Every finding of a case, most important first, at most eight, numbered.

    Args:
        tables: Tables, cut to the window.
        rule_set: The rules that made the events.
        uncut: The same tables, all of them: who is who is often said long before the window.
        lang: Language of the sentences: en | ko.
    """
    scene = build_scene(tables, rule_set, uncut=uncut, lang=lang)
    hangs = find_hangs(scene)
    cases = find_gpu_cases(scene)
    told = [(case, conclude_gpu_case(scene, case)) for case in cases]
    around = [
        *conclude_scheduler(scene),
        *conclude_runtime(scene),
        *conclude_container(scene),
        *conclude_serving(scene),
        *conclude_session_start(scene),
        *conclude_benchmark(scene),
        *conclude_image(scene),
    ]
    taken = {r.place for case in cases for r in case.records} | {e.place for f in around for e in f.evidence}
    application = [
        *conclude_application(scene, taken),
        *conclude_bus(scene, taken),
        *conclude_ports(scene, taken),
    ]
    findings, weights = _joined(scene, hangs, told, application)
    findings += around
    findings += conclude_clocks_power(scene)
    findings += conclude_waiting_gpus(scene)
    findings += conclude_own_rules(scene, rule_set)
    several = independent_incidents(scene, cases)
    findings += [several] if several is not None else []
    findings += conclude_endings(scene, findings)
    findings += quiet_notes(scene, findings)
    if not findings:
        findings = [_nothing(scene, uncut)]
    ordered = sorted(findings, key=lambda finding: _importance(finding, weights))
    kept = ordered[:MOST_FINDINGS]
    return tuple(replace(_said_in(lang, finding), id=f"F-{number:02d}") for number, finding in enumerate(kept, 1))


def _said_in(lang: str, finding: Finding) -> Finding:
    """The finding with the words of lower floors in `lang`: sources of thresholds, methods, what was measured."""
    effects = [
        replace(item, method=in_language(item.method, lang), subject=in_language(item.subject, lang))
        for item in finding.effects
    ]
    thresholds = [replace(item, source=in_language(item.source, lang)) for item in finding.thresholds]
    return replace(finding, effects=tuple(effects), thresholds=tuple(thresholds))


def _joined(
    scene: Scene, hangs: list[Hang], told: list[tuple[GpuCase, Finding]], application: list[Finding]
) -> tuple[list[Finding], dict[str, float]]:
    """GPU, application and collective findings, the waits attached to what explains them; and weights that differ."""
    weights: dict[str, float] = {}
    gpu_findings = [finding for _, finding in told]
    hang_findings: list[Finding] = []
    unexplained: list[Hang] = []
    for hang in hangs:
        relation = causal_relation(scene, hang)
        at = None if relation is None else next(
            (n for n, (case, _) in enumerate(told) if any(r is relation.first for r in case.records)), None
        )  # fmt: skip
        if relation is not None and at is not None:
            cause = gpu_findings[at].cause
            ours = [r for r in scene.records if r.source_id in hang.run.sources]
            same = [r for r in ours if _tells_of(r.place, application, cause)]
            gpu_findings[at] = attach(scene, hang, relation, gpu_findings[at], own=[*told[at][0].records, *same])
            merged = {record.place for record in same}
            application = [f for f in application if f.cause != cause or not _covered(f, merged)]
            continue
        at = None if relation is None else next(
            (n for n, f in enumerate(application) if any(e.place == relation.first.place for e in f.evidence)), None
        )  # fmt: skip
        if relation is not None and at is not None:
            places = {item.place for item in application[at].evidence}
            own = [record for record in scene.records if record.place in places]
            application[at] = attach(scene, hang, relation, application[at], own=own)
            continue
        finding = conclude_hang(scene, hang)
        hang_findings.append(finding)
        unexplained.append(hang)
    behind = _FAMILIES.index("communication") + 0.5
    for hang in unexplained:
        cases = zip((case for case, _ in told), gpu_findings, strict=True)
        weights |= {f.fingerprint: behind for case, f in cases if not f.causal and _behind(scene, hang, case)}
        others = [f for f in application if not f.causal]
        weights |= {f.fingerprint: behind for f in others if _after(scene, hang, f) or _elsewhere(hang, f)}
    weights |= {f.fingerprint: _FAMILIES.index("process") + 0.5 for f in application if _outlived(scene, f)}
    taken = {
        item.place for finding in (*gpu_findings, *hang_findings) for item in finding.evidence if item.role != "counter"
    }
    application = [f for f in application if f.causal or not _covered(f, taken)]
    return [*gpu_findings, *hang_findings, *application], weights


def _tells_of(place: Place, application: list[Finding], cause: str) -> bool:
    return any(f.cause == cause and any(item.place == place for item in f.evidence) for f in application)


def _covered(finding: Finding, taken: set[Place]) -> bool:
    """Whether every line of a finding is already told as part of another one."""
    return bool(finding.evidence) and all(item.place in taken for item in finding.evidence)


def _behind(scene: Scene, hang: Hang, case: GpuCase) -> bool:
    """Whether a GPU case ranks behind the waits: nothing shows that it concerns this run, or it came later.

    A lost bus that is not ruled out stays in front: it ends every process on that GPU. So does a fault of a process
    that waited itself, where nothing orders the two: that the wait came first is not shown.
    """
    own = [
        relation
        for relation in scene.relations
        if any(relation.first is record for record in case.records)
        and concerns(scene, hang, relation)
        and relation.then[0].topic.startswith(_ENDED)
    ]
    if any(relation.reading == "forbidden" for relation in own):
        return True
    if any(relation.identities["pid"] == "equal" and relation.ordered == "unordered" for relation in own):
        return False
    return first_cause_rank(case.lead) > 1


def _after(scene: Scene, hang: Hang, finding: Finding) -> bool:
    """Whether the first record of a finding came after every wait had begun, so that it did not start them.

    The error of a rank that did not wait itself is told before the timeouts of the others if it was written before
    them: what a GPU does is noticed late, and a collective is begun before it is known who will not finish it.
    """
    firsts = [record for record in scene.records if record.place == finding.first_event]
    skew_us = scene.context.skew_us
    if any(_left_the_wait(hang, record, skew_us) for record in firsts):
        return False
    return bool(firsts and hang.waits) and all(
        order_of(wait, record, skew_us=skew_us) == "before" for record in firsts for wait in hang.waits
    )


def _left_the_wait(hang: Hang, record: LogRecord, skew_us: int) -> bool:
    """Whether a rank of the run that printed no timeout failed while the others waited."""
    return (
        record.rank is not None
        and record.rank not in hang.ranks
        and record.source_id in hang.run.sources
        and all(order(record.written, wait.written, skew_us=skew_us) == "before" for wait in hang.waits)
    )


def _elsewhere(hang: Hang, finding: Finding) -> bool:
    """Whether a finding is about machines of which none belongs to the run that waited."""
    hosts = hang.run.hosts()
    return bool(hosts and finding.hosts) and not hosts & set(finding.hosts)


def _outlived(scene: Scene, finding: Finding) -> bool:
    """Whether the kernel killed processes that no run names, and every run made a step well after it."""
    places = {item.place for item in finding.evidence}
    kills = [record for record in scene.records if record.place in places and record.rule_id in KERNEL_KILLS]
    slack_us, skew_us = scene.context.step_slack_us, scene.context.skew_us
    return bool(kills and scene.runs) and all(
        run.member_with_pid(kill.pid, kill.host) is None
        and any(
            order(kill.written.shifted(slack_us), step, skew_us=skew_us) == "before"
            for (source_id, _), steps in scene.context.last_steps.items()
            if source_id in run.sources
            for step in steps
        )
        for kill in kills
        for run in scene.runs
    )


def _importance(finding: Finding, weights: dict[str, float]) -> tuple[float, float, str, str]:
    family = _FAMILIES.index(finding.cause.split(".", 1)[0])
    weight = weights.get(finding.fingerprint, _LATER.get(finding.cause, float(family)))
    if finding.verdict == "benign":
        weight = 90.0 + weight
    start = finding.window.start.isoformat() if finding.window else "9"
    return weight, float(VERDICTS.index(finding.verdict)), start, str(finding.first_event or "")


def _first_notice(row: dict[str, Any], lang: str) -> str:
    return in_language(row["notices"][0], lang).rstrip(".") if row["notices"] else str(row["state"])


def _dated(tables: Tables) -> list[datetime]:
    """First and last UTC time of the rows that a window cuts; empty where it holds none."""
    frames = (tables.events, tables.samples, tables.metrics, tables.steps)
    ends = [end for frame in frames for end in (frame["time_utc"].min(), frame["time_utc"].max())]
    return [end for end in ends if isinstance(end, datetime)]


def _nothing(scene: Scene, uncut: Tables) -> Finding:
    sources = scene.tables.sources
    read = sources.filter(sources["state"].is_in(["read", "partly_read"]))
    if not read.height:
        why = "; ".join(
            f"{row['path']}: {_first_notice(row, scene.lang)}" for row in sources.head(5).iter_rows(named=True)
        )
        values: dict[str, object] = {"why": why or say(scene.lang, "words", "no_files")}
        return compose(
            scene.lang,
            "nothing_read",
            "unknown.insufficient_evidence",
            "undecided",
            values,
            first_event=None,
            evidence=(),
        )
    if not _dated(scene.tables) and (dated := _dated(uncut)):
        values = {"first": clock_text(min(dated)), "last": clock_text(max(dated))}
        return compose(
            scene.lang, "outside_window", "unknown.insufficient_evidence", "undecided", values,
            first_event=None, evidence=(),
        )  # fmt: skip
    values = {
        "read": read.height,
        "matched": int(read["lines_matched"].sum()),
        "error_like": int(read["lines_error_like"].sum()),
    }
    finding = compose(
        scene.lang, "insufficient_evidence", "unknown.insufficient_evidence", "undecided", values,
        first_event=None, evidence=(),
    )  # fmt: skip
    places = [f"{row['path']}:{line}" for row in read.iter_rows(named=True) for line in row["error_lines"] or ()]
    if not places:
        return finding
    unread = say(scene.lang, "words", "error_lines", places=listed(scene.lang, places[:MOST_PLACES]))
    return replace(finding, unknown=(unread, *finding.unknown))
