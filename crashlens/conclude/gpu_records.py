"""What did the GPUs and their driver report, and what stands first in each burst?"""

from dataclasses import dataclass, field
from itertools import pairwise

from crashlens.analysis.bursts import SWITCH, Burst, find_bursts, first_cause_rank, leading_record
from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.analysis.runs import hosts_fit
from crashlens.catalog.thresholds import threshold
from crashlens.catalog.versions import catalog_versions
from crashlens.catalog.xids import xid
from crashlens.conclude.gpu_readings import Reading, note_of, reading_of
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import clock_text, compose, listed, say
from crashlens.findings import Finding, Role, Verdict
from crashlens.sources.event_rows import normal_pci
from crashlens.timebase import from_us, order

_UNDECIDED = "unknown.insufficient_evidence"
_BUS, _FABRIC = "gpu_hardware.fallen_off_bus", "fabric.nvlink_error"
_TOPICS = {"gpu.xid", "gpu.bus", SWITCH}
_REPORTS = {"gpu.init", "gpu.lost_note"}  # what follows from a fault of the GPU, and names none by itself
_FIRST_RANKS = 5  # bus, memory, links, firmware, contained memory
_STATUS = "gpu.driver_note"  # noise, except for a status that is a reading


@dataclass
class GpuCase:
    """Records of one cause on one GPU (or several, where the record says nothing else), over one or more bursts.

    Attributes:
        cause: What its leading record stands for; None: it decides nothing alone.
        lead: The record that is named first.
        records: Every record of it.
        bursts: Number of bursts it was seen in.
    """

    cause: Reading | None
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
        readings = ((record, reading_of(record)) for record in self.records)
        return [record for record, reading in readings if (reading.cause if reading else _UNDECIDED) == self.cause_id]


def find_gpu_cases(scene: Scene) -> list[GpuCase]:
    """GPU records grouped into cases, in order of time."""
    records = [record for record in scene.records if _is_of_a_gpu(record)]
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
    for case in cases:
        if case.cause_id == _BUS:
            case.records += _bus_errors_near(scene, case)
    return cases


def _is_of_a_gpu(record: LogRecord) -> bool:
    noise = record.topic == _STATUS
    return record.topic in _TOPICS | _REPORTS or (noise and reading_of(record) is not None)


def _bus_errors_near(scene: Scene, case: GpuCase) -> list[LogRecord]:
    """Uncorrected PCIe errors of that machine within the burst: they stand beside a lost GPU, before it or after it."""
    silence_s = threshold("burst_silence_s").value
    return [
        record
        for record in scene.records
        if record.topic == "pcie.error"
        and record.fields.get("aer_severity", "").startswith("Uncorrect")
        and (record.host == case.lead.host if record.host and case.lead.host else True)
        and record.source_id in {other.source_id for other in case.records}
        and (gap := seconds_between(record.written, case.lead.written)) is not None
        and abs(gap) <= silence_s
    ]


def conclude_gpu_case(scene: Scene, case: GpuCase) -> Finding:
    """The finding of one case."""
    if case.cause_id == "application.gpu_exception" and _repeats(case):
        return _repeating(scene, case)
    verdict: Verdict = case.cause.verdict if case.cause else "undecided"
    story = case.cause.story if case.cause else "xid_other"
    return _compose(scene, case, (story, case.cause_id, verdict))


def independent_incidents(scene: Scene, cases: list[GpuCase]) -> Finding | None:
    """That several incidents have no shown connection, or None where there are not three of them on several GPUs."""
    cases = [
        case for case in cases if case.lead.topic in _TOPICS and (not case.cause or case.cause.verdict != "benign")
    ]
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
    groups = [GpuCase(reading_of(lead), lead, own) for own in by_gpu.values() for lead in [_lead_of(own, scene)]]
    groups.sort(key=lambda case: (first_cause_rank(case.lead), sort_key(case.lead)))
    cases: list[GpuCase] = []
    for group in groups:
        host = next((case for case in cases if _belongs(group, case)), None)
        if host is None:
            cases.append(group)
        else:
            host.records += group.records
    return cases


def _lead_of(records: list[LogRecord], scene: Scene) -> LogRecord:
    """The record of one GPU in a burst that is named first.

    One that decides nothing by itself does not stand in front of an earlier one that does.
    """
    skew_us = scene.context.skew_us
    lead = leading_record(records, skew_us=skew_us)
    if reading_of(lead) is not None:
        return lead
    telling = [
        record
        for record in records
        if (reading := reading_of(record)) is not None
        and reading.verdict in {"supported", "consistent"}
        and order(record.written, lead.written, skew_us=0) == "before"
    ]
    return leading_record(telling, skew_us=skew_us) if telling else lead


def _belongs(group: GpuCase, case: GpuCase) -> bool:
    """The same cause on several GPUs of one burst is one incident; so is what follows from it.

    That is what the catalog calls a child of its Xid, a report that names no GPU, and, beside a lost GPU, what the
    links to it report.
    """
    if group.cause_id == case.cause_id:
        return True
    lost = case.cause_id == _BUS
    if group.lead.topic in _REPORTS and group.lead.gpu_key is None and first_cause_rank(case.lead) <= _FIRST_RANKS:
        return lost or group.lead.topic != "gpu.lost_note"
    if lost and group.cause_id == _FABRIC:
        return order(group.lead.written, case.lead.written, skew_us=0) != "before"
    about = xid(case.lead.xid) if case.lead.xid is not None else None
    return about is not None and group.lead.xid in about.children


def _same_case(one: GpuCase, other: GpuCase, scene: Scene) -> bool:
    if one.cause is None or other.cause is None or one.cause_id != other.cause_id:
        return False
    if one.lead.topic == other.lead.topic == SWITCH and _switch(one.lead) == _switch(other.lead):
        return hosts_fit(one.lead.host, other.lead.host)  # the switch driver and the Fabric Manager say the same
    return one.cause.story == other.cause.story and _device(one.lead, scene) == _device(other.lead, scene)


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
    filled["of_gpu"] = say(scene.lang, "kernel", "of_gpu", gpus=filled["gpus"]) if any(keys) else ""
    filled |= _switch_values(scene, case) if case.lead.topic == SWITCH else {}
    if case.lead.fields.get("previous_xid"):
        filled["previous"] = case.lead.fields["previous_xid"]
    if story == "xid_other":
        filled["catalog"] = next((f.sha256[:12] for f in catalog_versions() if f.name == "xids.toml"), "")
    parts = [Part(record, _role(record, case, scene), note_of(record, case.lead, scene)) for record in case.records]
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


def _switch(record: LogRecord) -> tuple[str, str]:
    """Address and number of a switch record; the Fabric Manager writes the address with more zeros."""
    address = record.fields["switch_bdf"]
    return f"{normal_pci(address) or address}.0", record.fields["sxid"]


def _switch_values(scene: Scene, case: GpuCase) -> dict[str, object]:
    """What the records of switches say, for a template."""
    own = [record for record in case.records if record.topic == SWITCH]
    numbers = sorted({int(record.fields["sxid"]) for record in own})
    switches = sorted({_switch(record)[0] for record in own})
    links = sorted({int(record.fields["link"]) for record in own if record.fields.get("link", "").isdecimal()})
    xids = sorted({record.xid for record in case.records if record.xid is not None})
    return {
        "sxids": listed(scene.lang, [f"SXid {number}" for number in numbers]),
        "switches": listed(scene.lang, switches),
        "links": say(scene.lang, "kernel", "links", links=listed(scene.lang, list(map(str, links)))) if links else "",
        "beside": say(scene.lang, "kernel", "beside", xids=listed(scene.lang, [f"Xid {x}" for x in xids]))
        if xids
        else "",
    }


def _role(record: LogRecord, case: GpuCase, scene: Scene) -> Role:
    if record is case.lead:
        return "first"
    if record.fields.get("previous_xid") in {str(other.xid) for other in case.records}:
        return "downstream"  # the driver itself says what came before
    about = xid(record.xid) if record.xid is not None else None
    reports = record.topic in _REPORTS or (about is not None and about.first_cause_class == "never_first")
    ordered = order(case.lead.written, record.written, skew_us=scene.context.skew_us)
    return "downstream" if reports and ordered == "before" else "context"


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
