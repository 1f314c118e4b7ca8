"""NCCL's own log of collective calls: at which call did the processes of one communicator part?

`opCount` counts the calls of one communicator, in hexadecimal. Pointers differ per process, so communicators are
matched by their size, and only where no process has two of that size.
"""

from crashlens.analysis.collective_state import Disagreement, Side
from crashlens.analysis.records import LogRecord

CALL = "nccl.collective_call"
Process = tuple[str | None, int | None]


def find_parted_calls(records: list[LogRecord]) -> Disagreement | None:
    """The first call at which two processes of one communicator called different operations, or None.

    Args:
        records: Records of one run.
    """
    calls = [record for record in records if record.rule_id == CALL and "comm" in record.fields]
    by_size: dict[str, list[LogRecord]] = {}
    for record in calls:
        by_size.setdefault(record.fields.get("comm_size", ""), []).append(record)
    found = [_parted(own) for size, own in by_size.items() if _one_each(own, size)]
    parted = [one for one in found if one is not None]
    return min(parted, key=lambda one: one.seq or 0, default=None)


def _one_each(calls: list[LogRecord], size: str) -> bool:
    """Whether every process has one communicator of that size, and there are no more processes than it has ranks."""
    comms: dict[Process, set[str]] = {}
    for record in calls:
        comms.setdefault((record.host, record.pid), set()).add(record.fields["comm"])
    return size.isdigit() and 1 < len(comms) <= int(size) and all(len(own) == 1 for own in comms.values())


def _parted(calls: list[LogRecord]) -> Disagreement | None:
    by_count: dict[int, dict[Process, LogRecord]] = {}
    for record in calls:
        by_count.setdefault(int(record.fields["op_count"], 16), {}).setdefault((record.host, record.pid), record)
    for count in sorted(by_count):
        sides: dict[str, list[LogRecord]] = {}
        for record in by_count[count].values():
            sides.setdefault(record.fields["op_type"], []).append(record)
        if len(sides) > 1:
            told = [Side(name, tuple(record.rank for record in own), tuple(own)) for name, own in sides.items()]
            return Disagreement(None, count, tuple(sorted(told, key=lambda side: -len(side.records))), "op")
    return None
