"""What does one record of a GPU or an NVSwitch stand for when it leads its burst, and what is said beside it?"""

from typing import NamedTuple

from crashlens.analysis.bursts import SWITCH
from crashlens.analysis.records import LogRecord, seconds_between
from crashlens.catalog.nvlink5 import Nvlink5Decode, decode_nvlink5
from crashlens.catalog.phrases import in_language
from crashlens.catalog.sxids import sxid, sxid_cause
from crashlens.catalog.xid_causes import cause_of, xid_readings
from crashlens.catalog.xids import xid
from crashlens.conclude.scene import Scene
from crashlens.conclude.wording import say, span
from crashlens.findings import Verdict

_HARMLESS = ("Non-fatal", "IGNORE", "IGNORE")
_QUIET = ("none.benign", "benign")


class Reading(NamedTuple):
    """The cause that a record stands for, the story that words it, and how well the record carries it."""

    cause: str
    story: str
    verdict: Verdict


def reading_of(record: LogRecord) -> Reading | None:
    """The reading of a record that leads its burst, or None where it decides nothing alone."""
    if record.topic == SWITCH:
        row = sxid_cause(record.fields)
        return Reading(row.cause, row.story, row.verdict)
    decoded = decoded_link(record)
    if decoded and (decoded.severity, decoded.immediate_action, decoded.investigatory_action) == _HARMLESS:
        return Reading(_QUIET[0], "nvlink5_ignored", "benign")
    found = cause_of(record.xid, record.rule_id, record.fields)
    if found is not None:
        return Reading(found.cause, found.story, found.verdict)
    return _named_before(record)


def decoded_link(record: LogRecord) -> Nvlink5Decode | None:
    """What NVIDIA's table says of the registers of an NVLink5 record (Xid 144 to 150), where one row fits."""
    info, status = record.fields.get("intr_info"), record.fields.get("error_status")
    if record.xid is None or info is None:
        return None
    return decode_nvlink5(
        record.xid, record.fields.get("nvlink_unit", ""), int(info, 16), None if status is None else int(status, 16),
        driver_branch=None,
    )  # fmt: skip


def note_of(record: LogRecord, lead: LogRecord, scene: Scene) -> str:
    """A clause on what a record means, beside its text; empty where nothing is known."""
    if record.topic == SWITCH:
        number = record.fields["sxid"]
        about = sxid(int(number))
        return say(scene.lang, "kernel", "sxid", mnemonic=about.mnemonic) if about else ""
    if record.topic == "pcie.error":
        return _bus_error_note(record, lead, scene)
    if record.topic in {"gpu.lost_note", "gpu.init"}:
        return say(scene.lang, "kernel", record.topic.replace(".", "_"))
    about = xid(record.xid) if record.xid is not None else None
    meaning = "" if about is None else in_language(about.meaning, scene.lang)
    decoded = decoded_link(record)
    if decoded is None:
        return meaning
    table = say(
        scene.lang, "kernel", "nvlink5", unit=decoded.unit, reason=decoded.reason, severity=decoded.severity,
        immediate=decoded.immediate_action, investigatory=decoded.investigatory_action,
    )  # fmt: skip
    return f"{meaning}; {table}"


def _named_before(record: LogRecord) -> Reading | None:
    """What the Xid stands for that the driver itself names as the previous one of a record that only reports."""
    previous = record.fields.get("previous_xid", "")
    reports = any(row.reading == "downstream" and record.xid in row.xids for row in xid_readings())
    found = cause_of(int(previous), record.rule_id, {}) if reports and previous.isdecimal() else None
    if found is None or found.verdict not in {"supported", "consistent"}:
        return None
    return Reading(found.cause, "xid_named_before", "consistent")


def _bus_error_note(record: LogRecord, lead: LogRecord, scene: Scene) -> str:
    gap_s = seconds_between(record.written, lead.written)
    if gap_s is None:
        return say(scene.lang, "kernel", "bus_error")
    key = "bus_error_before" if gap_s > 0 else "bus_error_after"
    return say(scene.lang, "kernel", key, gap=span(scene.lang, gap_s))
