"""How far had each rank come in each process group: who is missing from a collective, and who called another one?

Read from flight recorder dumps, from what watchdogs print about their groups, and from reports that name ranks.
Sequence numbers count per process group and are never compared across groups; times of different hosts are not compared
at all. A rank of which the input says nothing is unknown: neither present nor missing.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from crashlens.analysis.records import LogRecord

Teller = Literal["flight_recorder", "work_status", "desync_report", "monitored_barrier"]
WAITS, STATUS = "c10d.watchdog_timeout", "c10d.work_status"
ENTRY, GROUP, DUMP = "flight_recorder.entry", "flight_recorder.group", "flight_recorder.dump"
_UNEVEN = ("all_to_all", "alltoall", "gather", "scatter", "send", "recv", "coalesced")  # sizes differ by design


@dataclass(frozen=True, slots=True)
class Absence:
    """Ranks that did not enter a collective that others wait in.

    Attributes:
        process_group: The group as c10d names it, or None.
        seq: Sequence number in that group, where it is told.
        op: The operation, or "".
        entered: Ranks that asked for it and did not finish.
        missing: Ranks whose own record, or a report, says that they had not asked for it.
        unknown: Ranks of the group of which the input says nothing.
        told_by: What says so.
        records: The records that say so.
    """

    process_group: str | None
    seq: int | None
    op: str
    entered: tuple[int, ...]
    missing: tuple[int, ...]
    unknown: tuple[int, ...]
    told_by: Teller
    records: tuple[LogRecord, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """Ranks that asked for the same at one sequence number, and the records that say so."""

    what: str
    ranks: tuple[int | None, ...]
    records: tuple[LogRecord, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two or more ranks of one group that asked for different things at the same sequence number, largest side first.

    Attributes:
        process_group: The group, or None.
        seq: The sequence number, where it is told.
        sides: What was asked for, and by whom.
        differs: `op` for the operation, `sizes` for its sizes or types.
    """

    process_group: str | None
    seq: int | None
    sides: tuple[Side, ...]
    differs: Literal["op", "sizes"]

    @property
    def minority(self) -> Side | None:
        """The one side that fewer ranks took than any other, or None."""
        return self.sides[-1] if len(self.sides[-1].records) < len(self.sides[-2].records) else None

    @property
    def records(self) -> list[LogRecord]:
        """Every record of it."""
        return [record for side in self.sides for record in side.records]


def group_of(record: LogRecord, status: Iterable[LogRecord]) -> str | None:
    """The process group of a wait: its own, or that of the status line of the same rank and sequence number."""
    if record.process_group is not None:
        return record.process_group
    named = {
        other.process_group
        for other in status
        if other.rule_id == STATUS and other.rank == record.rank and other.seq == record.seq
        if other.source_id == record.source_id and record.rank is not None
    }
    return next(iter(named)) if len(named) == 1 else None


def find_absences(records: list[LogRecord]) -> list[Absence]:
    """Collectives that some ranks wait in and others did not enter; those whose missing ranks wait nowhere come first.

    A rank that is missing from one group may itself wait in another one: the wait is followed to the ranks that wait
    in none.
    """
    found = [*_recorded(records), *_by_status(records), *_reported(records)]
    waiting = {rank for absence in found for rank in absence.entered}
    return sorted(found, key=lambda absence: bool(set(absence.missing) & waiting))


def find_cycle(absences: list[Absence]) -> list[Absence]:
    """Absences of several groups whose missing ranks all wait in another of these groups: no order can serve them all.

    Dumps tell this only: a watchdog line says nothing of the groups that a rank is not late in.
    """
    recorded = [absence for absence in absences if absence.told_by == "flight_recorder"]
    waiting = {rank for absence in recorded for rank in absence.entered}
    closed = len(recorded) > 1 and all(set(absence.missing) <= waiting for absence in recorded)
    return recorded if closed else []


def find_disagreements(records: list[LogRecord]) -> list[Disagreement]:
    """Sequence numbers at which ranks of one group asked for different things, from dumps and from waits."""
    entries = _entries_by_number(records)
    found = [_differ(group, seq, own, _asked) for (group, seq), own in entries.items()]
    if not any(found):
        found = [_sizes_differ(group, seq, own) for (group, seq), own in entries.items()]
    waits = [record for record in records if record.rule_id == WAITS]
    status = [record for record in records if record.rule_id == STATUS]
    groups: dict[tuple[str | None, int | None], list[LogRecord]] = {}
    for record in waits:
        group, within = group_of(record, status), record.fields.get("group_rank")
        # A rank within a group that is not the global one tells of a smaller group; which one is not known.
        if group is not None or within is None or record.rank is None or int(within) == record.rank:
            groups.setdefault((group, record.seq), []).append(record)
    found += [_differ(group, seq, own, _asked) for (group, seq), own in groups.items()]
    return [one for one in found if one is not None]


def _recorded(records: list[LogRecord]) -> list[Absence]:
    """From dumps: per group the first number that a rank did not complete, and the ranks that have no entry of it."""
    with_dump = {record.rank for record in records if record.rule_id == DUMP and record.rank is not None}
    by_group: dict[str | None, list[LogRecord]] = {}
    for record in records:
        if record.rule_id == ENTRY and record.fields.get("is_p2p") != "true" and record.rank is not None:
            by_group.setdefault(record.process_group, []).append(record)
    absences = [_recorded_in(group, own, records, with_dump) for group, own in by_group.items()]
    return [one for one in absences if one is not None]


def _recorded_in(
    group: str | None, entries: list[LogRecord], records: list[LogRecord], with_dump: set[int]
) -> Absence | None:
    open_numbers = [e.seq for e in entries if e.seq is not None and e.fields.get("state") in {"scheduled", "started"}]
    if not open_numbers:
        return None
    seq = min(open_numbers)
    here = [entry for entry in entries if entry.seq == seq]
    reached: dict[int, int] = {}
    for entry in entries:
        if entry.rank is not None and entry.seq is not None:
            reached[entry.rank] = max(reached.get(entry.rank, -1), entry.seq)
    rows = [record for record in records if record.rule_id == GROUP and record.process_group == group]
    for row in rows:
        last = _number(row.fields.get("last_enqueued"))
        if row.rank is not None and last is not None:
            reached[row.rank] = max(reached.get(row.rank, -1), last)
    members = {rank for row in rows for rank in _ranks(row.fields.get("ranks"))} or set(reached)
    told = with_dump & members
    missing = {rank for rank in told if reached.get(rank, -1) < seq}
    entered = {entry.rank for entry in here if entry.rank is not None and entry.fields.get("state") != "completed"}
    if not missing or not entered:
        return None
    behind = [row for row in rows if row.rank in missing]
    return Absence(
        group, seq, here[0].fields.get("op_type", ""), _sorted(entered), _sorted(missing), _sorted(members - told),
        "flight_recorder", (*here, *behind),
    )  # fmt: skip


def _by_status(records: list[LogRecord]) -> list[Absence]:
    """From what watchdogs print: a rank whose last enqueued work lies below the number that most others wait at."""
    by_group: dict[str, dict[int, LogRecord]] = {}
    for record in records:
        if record.rule_id == STATUS and record.rank is not None and record.process_group is not None:
            by_group.setdefault(record.process_group, {}).setdefault(record.rank, record)
    absences: list[Absence] = []
    for group, own in by_group.items():
        counts = Counter(record.seq for record in own.values() if record.seq is not None)
        seq = max(counts, key=lambda number: (counts[number], number), default=None)
        if seq is None:
            continue
        missing = {rank for rank, one in own.items() if (_number(one.fields.get("last_enqueued")) or 0) < seq}
        entered = {rank for rank, one in own.items() if one.seq == seq and rank not in missing}
        if missing and len(entered) > len(missing):
            ops = {
                r.fields.get("op_type", "")
                for r in records
                if r.rule_id == WAITS and r.seq == seq and r.rank in entered
            }
            op = next(iter(ops)) if len(ops) == 1 else ""
            told = tuple(own[rank] for rank in sorted(own))
            absences.append(Absence(group, seq, op, _sorted(entered), _sorted(missing), (), "work_status", told))
    return absences


def _reported(records: list[LogRecord]) -> list[Absence]:
    """From the desync report and the monitored barrier, which name the ranks that did not come; each list once."""
    found: dict[tuple[object, ...], Absence] = {}
    for record in records:
        if record.rule_id == "c10d.desync_report":
            late = record.fields.get("ranks") if "missed_seq" in record.fields else None
            named = record.fields.get("never_joined") or late
            teller: Teller = "desync_report"
        elif record.rule_id == "c10d.monitored_barrier":
            named, teller = record.fields.get("missing"), "monitored_barrier"
        else:
            continue
        missing = _sorted(_ranks(named or ""))
        if missing:
            seq = _number(record.fields.get("missed_seq"))
            own = Absence(record.process_group, seq, "", (), missing, (), teller, (record,))
            found.setdefault((teller, missing, seq), own)
    return list(found.values())


def _entries_by_number(records: list[LogRecord]) -> dict[tuple[str | None, int | None], list[LogRecord]]:
    """Entries of dumps by group and number, in order of the number; of each rank the last one of a number."""
    by_number: dict[tuple[str | None, int | None], dict[int, LogRecord]] = {}
    for record in records:
        if record.rule_id == ENTRY and record.fields.get("is_p2p") != "true" and record.rank is not None:
            by_number.setdefault((record.process_group, record.seq), {})[record.rank] = record
    ordered = sorted(by_number.items(), key=lambda item: (item[0][1] or 0, item[0][0] or ""))
    return {key: list(own.values()) for key, own in ordered if len(own) > 1}


def _asked(record: LogRecord) -> str:
    return record.fields.get("op_type", "?")


def _sized(record: LogRecord) -> str:
    return f"{_asked(record)} {record.fields.get('input_sizes', '')} {record.fields.get('input_dtypes', '')}".strip()


def _sizes_differ(group: str | None, seq: int | None, own: list[LogRecord]) -> Disagreement | None:
    """Whether sizes or types differ where all ranks give the same and somebody did not finish."""
    if any(word in _asked(record) for record in own for word in _UNEVEN):
        return None
    if all(record.fields.get("state") == "completed" for record in own):
        return None
    found = _differ(group, seq, own, _sized)
    return None if found is None else Disagreement(group, seq, found.sides, "sizes")


def _differ(
    group: str | None, seq: int | None, own: list[LogRecord], what: Callable[[LogRecord], str]
) -> Disagreement | None:
    sides: dict[str, list[LogRecord]] = {}
    for record in own:
        sides.setdefault(what(record), []).append(record)
    ranks = [record.rank for record in own]
    if len(sides) < 2 or len(set(ranks)) < len(ranks) or None in ranks:
        return None
    told = [Side(name, tuple(record.rank for record in side), tuple(side)) for name, side in sides.items()]
    return Disagreement(group, seq, tuple(sorted(told, key=lambda side: -len(side.records))), "op")


def _ranks(text: str | None) -> set[int]:
    return {int(word) for word in (text or "").replace(",", " ").split() if word.isdigit() and len(word) <= 7}


def _sorted(ranks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(ranks))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.lstrip("-").isdigit() else None
