"""What does the kernel say of the machine around the GPUs: PCIe errors, a reduced link, nothing to fix?

None of it says that a GPU is broken. A PCIe error is tied to a GPU only where the line names one: by the driver, by the
address, or by the vendor of the device whose registers were read.
"""

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.wording import compose, listed
from crashlens.findings import Finding, Place, Verdict
from crashlens.sources.event_rows import normal_pci

_ERROR, _LINK = "pcie.error", "pcie.link"
_UNDECIDED = "unknown.insufficient_evidence"
_PCIE = "gpu_hardware.pcie_link"
_NVIDIA = "10de:"
_ONE_REPORT = 8  # lines: port, detail, bits and recovery of one error stand together
Kind = tuple[str, str, Verdict]  # story, cause, verdict
# Where a line names a GPU, and where none does.
_ERROR_STORIES: tuple[Kind, Kind] = (
    ("aer_uncorrected", _PCIE, "consistent"),
    ("aer_uncorrected_other", _UNDECIDED, "undecided"),
)
_LINK_STORIES: tuple[Kind, Kind] = (
    ("pcie_link_narrow", _PCIE, "consistent"),
    ("pcie_link_narrow_other", _UNDECIDED, "undecided"),
)
_NOT_RECOVERED = {"can't recover", "device recovery failed", "device has no AER-aware driver"}
# Records with nothing to fix, said where nothing else was found: rule, a capture and its values (lower case), story.
_QUIET = (
    ("kernel.aer", "aer_severity", {"corrected", "correctable"}, "aer_corrected"),
    ("kernel.pcie_bus_error", "aer_severity", {"corrected", "correctable"}, "aer_corrected"),
    ("kernel.edac", "edac_kind", {"ce"}, "edac_corrected"),
    ("fabricmanager.nothing_to_do", "sxid", {""}, "fabric_manager_idle"),
)


def conclude_bus(scene: Scene, taken: set[Place]) -> list[Finding]:
    """Uncorrected PCIe errors and links that are narrower than they could be, from records no other finding rests on.

    Args:
        scene: The scene.
        taken: Places that other findings rest on.
    """
    free = [record for record in sorted(scene.records, key=sort_key) if record.place not in taken]
    errors = [record for record in free if record.topic == _ERROR and _is_uncorrected(record)]
    narrow = [record for record in free if record.topic == _LINK and _is_narrower(record)]
    findings: list[Finding] = []
    for records, stories in ((errors, _ERROR_STORIES), (narrow, _LINK_STORIES)):
        of_gpus = [record for record in records if _names_a_gpu(record, scene)]
        of_gpus += [record for record in records if record not in of_gpus and _is_beside(record, of_gpus)]
        others = [record for record in records if record not in of_gpus]
        for own, kind in zip((of_gpus, others), stories, strict=True):
            if own:
                findings.append(finding_of(scene, kind, own, {"devices": _devices(scene, own)}))
    return findings


def quiet_notes(scene: Scene, findings: list[Finding]) -> list[Finding]:
    """What has nothing to fix, where no finding says otherwise: corrected errors, a service that is not needed."""
    if any(finding.verdict != "benign" for finding in findings):
        return []
    by_story: dict[str, list[LogRecord]] = {}
    for record in sorted(scene.records, key=sort_key):
        for rule, capture, values, story in _QUIET:
            if record.rule_id == rule and record.fields.get(capture, "").lower() in values:
                by_story.setdefault(story, []).append(record)
    return [
        finding_of(scene, (story, "none.benign", "benign"), records, {"devices": _devices(scene, records)})
        for story, records in by_story.items()
    ]


def finding_of(scene: Scene, kind: Kind, records: list[LogRecord], values: dict[str, object], *names: str) -> Finding:
    """A finding of story, cause and verdict `kind` that rests on `records`; `names` are the thresholds it used."""
    story, cause, verdict = kind
    first = min(records, key=sort_key)
    return compose(
        scene.lang, story, cause, verdict, {"at_time": scene.when(first), "number": len(records)} | values,
        first_event=first.place,
        evidence=evidence_list(
            scene, first, [Part(record, "first" if record is first else "context") for record in records]
        ),
        window=window_of(records),
        hosts=hosts_of(records),
        devices=scene.devices([record.gpu_key for record in records]),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in records)),
        thresholds=used(*names),
    )  # fmt: skip


def _is_uncorrected(record: LogRecord) -> bool:
    said = record.fields.get("aer_severity", "")
    return said.startswith("Uncorrect") or record.fields.get("recovery") in _NOT_RECOVERED


def _is_narrower(record: LogRecord) -> bool:
    """Fewer lanes than the device has: a lower speed alone is what an idle link does."""
    return int(record.fields["link_width"]) < int(record.fields["capable_width"])


def _names_a_gpu(record: LogRecord, scene: Scene) -> bool:
    if record.fields.get("driver") == "nvidia" or record.fields.get("pci_ids", "").startswith(_NVIDIA):
        return True
    places = {normal_pci(record.fields.get(name)) for name in ("reporter", "source_bdf", "source_of_port")}
    known = {
        scene.context.pci_by_gpu.get(other.gpu_key)
        for other in scene.records
        if other.gpu_key is not None and (other.host == record.host or None in (other.host, record.host))
    }
    return bool(places & known - {None})


def _is_beside(record: LogRecord, others: list[LogRecord]) -> bool:
    """Whether `record` is of the same report as one of `others`: same machine, and the same port or the same moment."""
    return any(
        record.host == other.host
        and record.source_id == other.source_id
        and (
            record.fields.get("reporter") == other.fields.get("reporter")
            or abs(record.place.line - other.place.line) <= _ONE_REPORT
        )
        for other in others
    )


def _devices(scene: Scene, records: list[LogRecord]) -> str:
    names = [
        record.fields.get("reporter") or record.fields.get("dimm") or record.fields.get("mc") or ""
        for record in records
    ]
    return listed(scene.lang, [name for name in dict.fromkeys(names) if name])
