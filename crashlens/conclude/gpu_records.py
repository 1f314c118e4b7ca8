"""What did the GPUs and their driver report, and what stands first in each burst?"""

from dataclasses import dataclass, field
from itertools import pairwise

from crashlens.analysis.bursts import Burst, find_bursts, first_cause_rank, leading_record
from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.catalog.phrases import in_language
from crashlens.catalog.thresholds import threshold
from crashlens.catalog.versions import catalog_versions
from crashlens.catalog.xid_causes import XidCause, cause_of
from crashlens.catalog.xids import xid
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import clock_text, compose, say
from crashlens.findings import Finding, Role, Verdict
from crashlens.timebase import from_us, order

_UNDECIDED = "unknown.insufficient_evidence"


@dataclass
class GpuCase:
    """Records of one cause on one GPU (or several, where the record says nothing else), over one or more bursts.

    Attributes:
        cause: What its leading record stands for; None: it decides nothing alone.
        lead: The record that is named first.
        records: Every record of it.
        bursts: Number of bursts it was seen in.
    """

    cause: XidCause | None
    lead: LogRecord
    records: list[LogRecord] = field(default_factory=list[LogRecord])
    bursts: int = 1

    @property
    def cause_id(self) -> str:
        """The cause, or that the input does not decide one."""
        return self.cause.cause if self.cause else _UNDECIDED

    @property
    def of_its_cause(self) -> list[LogRecord]:
        """Its records that stand for its cause themselves, and do not only go with them."""
        return [record for record in self.records if cause_of(record.xid, record.rule_id, record.fields) == self.cause]


def find_gpu_cases(scene: Scene) -> list[GpuCase]:
    """GPU records grouped into cases, in order of time."""
    records = [record for record in scene.records if record.topic in {"gpu.xid", "gpu.bus"}]
    bursts = find_bursts(records, silence_s=threshold("burst_silence_s").value)
    cases: list[GpuCase] = []
    for burst in bursts:
        for case in _cases_of(burst, scene):
            known = next((other for other in cases if _same_case(other, case, scene)), None)
            if known is None:
                cases.append(case)
            else:
                known.records += case.records
                known.bursts += 1
    return cases


def conclude_gpu_case(scene: Scene, case: GpuCase) -> Finding:
    """The finding of one case."""
    if case.cause_id == "application.gpu_exception" and _repeats(case):
        return _repeating(scene, case)
    verdict: Verdict = "supported" if case.cause else "undecided"
    story = case.cause.story if case.cause else "xid_other"
    return _compose(scene, case, (story, case.cause_id, verdict))


def independent_incidents(scene: Scene, cases: list[GpuCase]) -> Finding | None:
    """That several incidents have no shown connection, or None where there are not three of them on several GPUs."""
    devices = {scene.device_names.get(case.lead.gpu_key or "", "") for case in cases}
    if len(cases) < 3 or len(devices) < 2:
        return None
    leads = [case.lead for case in cases]
    return compose(
        scene.lang,
        "independent_incidents",
        "unknown.independent_incidents",
        "undecided",
        {"number": len(cases)},
        first_event=None,
        evidence=evidence_list(scene, None, [Part(lead, "context") for lead in leads]),
        hosts=hosts_of(leads),
        devices=scene.devices([lead.gpu_key for lead in leads]),
        thresholds=used("burst_silence_s"),
    )


def _cases_of(burst: Burst, scene: Scene) -> list[GpuCase]:
    by_gpu: dict[str, list[LogRecord]] = {}
    for record in burst.records:
        by_gpu.setdefault(_device(record, scene), []).append(record)
    groups = [
        GpuCase(cause_of(lead.xid, lead.rule_id, lead.fields), lead, own)
        for own in by_gpu.values()
        for lead in [leading_record(own, skew_us=scene.context.skew_us)]
    ]
    groups.sort(key=lambda case: (first_cause_rank(case.lead), sort_key(case.lead)))
    cases: list[GpuCase] = []
    for group in groups:
        host = next((case for case in cases if _belongs(group, case)), None)
        if host is None:
            cases.append(group)
        else:
            host.records += group.records
    return cases


def _belongs(group: GpuCase, case: GpuCase) -> bool:
    """The same cause on several GPUs of one burst is one incident; so is what the catalog calls a child of its Xid."""
    if group.cause == case.cause:
        return True
    about = xid(case.lead.xid) if case.lead.xid is not None else None
    return about is not None and group.lead.xid in about.children


def _same_case(one: GpuCase, other: GpuCase, scene: Scene) -> bool:
    return one.cause == other.cause and one.cause is not None and _device(one.lead, scene) == _device(other.lead, scene)


def _device(record: LogRecord, scene: Scene) -> str:
    key = record.gpu_key or ""
    return (
        scene.context.device_by_gpu.get(key)
        or f"{record.host or record.source_id}/{scene.context.pci_by_gpu.get(key, '')}"
    )


def _repeats(case: GpuCase) -> bool:
    leads = sorted(case.of_its_cause, key=sort_key)
    programs = {record.pid for record in leads if record.pid is not None}
    within_s = threshold("repeat_xid_window_s").value
    near = any(
        (gap := seconds_between(one.written, other.written)) is not None and gap <= within_s and one.pid != other.pid
        for one, other in pairwise(leads)
    )
    return case.bursts >= 2 and len(programs) >= 2 and near


def _repeating(scene: Scene, case: GpuCase) -> Finding:
    leads = sorted(case.of_its_cause, key=sort_key)
    values: dict[str, object] = {
        "programs": len({record.pid for record in leads if record.pid is not None}),
        "first_time": _time(scene, leads[0]),
        "last_time": _time(scene, leads[-1]),
    }
    return _compose(
        scene, case, ("repeating_fault", "gpu_hardware.repeating_fault", "consistent"), values,
        names=("burst_silence_s", "repeat_xid_window_s"),
    )  # fmt: skip


def _compose(
    scene: Scene,
    case: GpuCase,
    kind: tuple[str, str, Verdict],
    values: dict[str, object] | None = None,
    *,
    names: tuple[str, ...] = ("burst_silence_s",),
) -> Finding:
    story, cause_id, verdict = kind
    numbers = sorted({record.xid for record in case.records if record.xid is not None}, key=_by_rank)
    phrase = "Xid " + ", ".join(map(str, numbers)) if numbers else ""
    keys: list[str | None] = [case.lead.gpu_key, *(record.gpu_key for record in case.of_its_cause)]
    filled: dict[str, object] = {
        "gpus": scene.gpus_phrase(keys),
        "at_time": scene.when(case.lead),
        "xids": (f", {phrase}" if phrase else "") if story == "fallen_off_bus" else phrase,
    } | (values or {})
    if story == "xid_other":
        filled["catalog"] = next((f.sha256[:12] for f in catalog_versions() if f.name == "xids.toml"), "")
    parts = [Part(record, _role(record, case, scene), _note(record, scene.lang)) for record in case.records]
    return compose(
        scene.lang, story, cause_id, verdict, filled,
        first_event=case.lead.place,
        evidence=evidence_list(scene, case.lead, parts),
        window=window_of(case.records),
        hosts=hosts_of(case.records),
        devices=scene.devices(keys),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in case.records)),
        thresholds=used(*names),
    )  # fmt: skip


def _role(record: LogRecord, case: GpuCase, scene: Scene) -> Role:
    if record is case.lead:
        return "first"
    about = xid(record.xid) if record.xid is not None else None
    reports = about is not None and about.first_cause_class == "never_first"
    ordered = order(case.lead.written, record.written, skew_us=scene.context.skew_us)
    return "downstream" if reports and ordered == "before" else "context"


def _note(record: LogRecord, lang: str) -> str:
    about = xid(record.xid) if record.xid is not None else None
    return "" if about is None else in_language(about.meaning, lang)


def _by_rank(number: int) -> tuple[int, int]:
    about = xid(number)
    rank = about.first_cause_class if about and about.first_cause_class != "never_first" else 9
    return int(rank), number


def _time(scene: Scene, record: LogRecord) -> str:
    if record.written.utc_us is not None:
        return clock_text(from_us(record.written.utc_us)) + " UTC"
    if record.written.clock_us is not None and "local" in (record.written.clock_id or ""):
        return clock_text(from_us(record.written.clock_us)) + say(scene.lang, "words", "local_clock_short")
    return str(record.place)
