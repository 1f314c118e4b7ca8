"""Which GPU records of one machine belong together, and which of them stands first? Bursts are ended by silence."""

from dataclasses import dataclass

from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.catalog.sxids import sxid_cause
from crashlens.catalog.xids import xid
from crashlens.timebase import order

EARLY_OF_A_CLOCK = 50  # so many may share one time stamp, as the records of one fault do
UNNUMBERED = 10_000  # a record without an Xid number says less than its twin with one
SWITCH = "fabric.switch"  # topic of the records of an NVSwitch
NEVER_FIRST = 9  # rank of records that only report what another one did


@dataclass(frozen=True, slots=True)
class Burst:
    """GPU records of one machine without a silence between them, by time."""

    machine: str
    records: tuple[LogRecord, ...]


def find_bursts(records: list[LogRecord], *, silence_s: float) -> list[Burst]:
    """Group GPU records into bursts.

    Args:
        records: Records of GPUs and NVSwitches.
        silence_s: This much silence ends a burst. Records whose distance is unknown stay together: nothing separates
            them.

    Returns:
        Bursts in order of time. A machine is a host; where none is named, a source.

    Source: NVIDIA Fleet Intelligence user guide, "XID bursts".
    """
    by_machine: dict[str, list[LogRecord]] = {}
    for record in records:
        by_machine.setdefault(record.host or f"source {record.source_id}", []).append(record)
    bursts: list[Burst] = []
    for machine, own in by_machine.items():
        current: list[LogRecord] = []
        for record in sorted(own, key=sort_key):
            gap_s = seconds_between(current[-1].written, record.written) if current else 0.0
            if current and gap_s is not None and gap_s > silence_s:
                bursts.append(Burst(machine, tuple(current)))
                current = []
            current.append(record)
        bursts.append(Burst(machine, tuple(current)))
    return sorted(bursts, key=lambda burst: sort_key(burst.records[0]))


def first_cause_rank(record: LogRecord) -> int:
    """How early a record is named in a burst: 1 bus to 6 application, 9 never first. Source: decision table T7."""
    if record.topic == "gpu.bus":
        return 1
    if record.topic == SWITCH:
        return sxid_cause(record.fields).rank
    about = xid(record.xid) if record.xid is not None else None
    if about is None or about.first_cause_class == "never_first":
        return NEVER_FIRST
    return about.first_cause_class


def leading_record(records: list[LogRecord], *, skew_us: int) -> LogRecord:
    """The record of a burst that is named first: lowest class, then time, then parent before child, then number.

    File order decides nothing: two records that cannot be ordered are told apart by what they are.
    """
    best = min(first_cause_rank(record) for record in records)
    ranked = [record for record in records if first_cause_rank(record) == best]
    early = _early(ranked)
    not_later = [
        one
        for one in early
        if not any(order(other.written, one.written, skew_us=skew_us) == "before" for other in early)
    ]
    return min(
        not_later or ranked, key=lambda record: (_is_child(record, early), record.xid or UNNUMBERED, sort_key(record))
    )


def _early(records: list[LogRecord]) -> list[LogRecord]:
    """The first records of every clock: a later one of the same clock cannot stand before them."""
    by_clock: dict[str | None, list[LogRecord]] = {}
    for record in sorted(records, key=sort_key):
        own = by_clock.setdefault(record.written.clock_id, [])
        if len(own) < EARLY_OF_A_CLOCK:
            own.append(record)
    return [record for own in by_clock.values() for record in own]


def _is_child(record: LogRecord, others: list[LogRecord]) -> bool:
    numbers = {other.xid for other in others if other is not record and other.xid is not None}
    about = xid(record.xid) if record.xid is not None else None
    return about is not None and any(parent in numbers for parent in about.parents)
