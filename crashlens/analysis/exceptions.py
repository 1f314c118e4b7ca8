"""Which of the exceptions that a program printed was raised first, and which only repeat it?

Python prints a chain oldest first, with a sentence between two tracebacks; torch prints what a worker raised behind the
exception that passes it on. Ranks that share a file interleave theirs. A C++ run time that ends a process repeats what
was thrown.
"""

import re

from crashlens.analysis.records import LogRecord

Key = tuple[str, int, int]
_CHAIN, _IGNORED = "python.chain", "python.exception_ignored"
_ERRORS = ("error", "fatal")
_OWN_PID = ("python.", "cuda.")  # other rules may name the process that ended, not the one that prints
_RAISED_AGAIN = re.compile(r"Caught \w{1,60} in (?:DataLoader worker|replica|pin memory)")
_NOT_RAISED = ("communication.", "process.exit", "process.teardown", "process.wrapper", "identity.", "training.")


def key_of(record: LogRecord) -> Key:
    """What names a record: source, line and number within the line."""
    return record.place.source, record.place.line, record.n


def raised_before(records: list[LogRecord]) -> dict[Key, LogRecord]:
    """For each record that only repeats or follows another one of its chain: the one that was raised first.

    Args:
        records: All records.
    """
    leaders: dict[Key, LogRecord] = {}
    for stream in _streams(records):
        last: LogRecord | None = None
        linked = False
        raised_again: LogRecord | None = None  # whose own traceback follows
        for record in stream:
            if record.rule_id == _CHAIN:
                linked = True
                continue
            if not _raised(record):
                continue
            if raised_again is not None:
                leaders[key_of(raised_again)] = record
            raised_again = record if _RAISED_AGAIN.match(record.fields.get("message", "")) else None
            leader = last if linked else _inside(record, stream)
            if leader is not None:
                leaders[key_of(record)] = leaders.get(key_of(leader), leader)
            last, linked = record, False
    return leaders


def ignored(records: list[LogRecord]) -> set[Key]:
    """Exceptions that Python says it could not raise and went on without: mostly of destructors at exit."""
    found: set[Key] = set()
    for stream in _streams(records):
        marks = {record.place.line for record in stream if record.rule_id == _IGNORED}
        for record in stream:
            start = int(record.fields.get("record_start", 0))
            if start and marks & {start - 1, start - 2}:
                found.add(key_of(record))
    return found


def _streams(records: list[LogRecord]) -> list[list[LogRecord]]:
    """The records of each source, rank and process in the order of their lines."""
    streams: dict[tuple[int, int | None, int | None], list[LogRecord]] = {}
    for record in records:
        pid = record.pid if record.rule_id.startswith(_OWN_PID) else None
        streams.setdefault((record.source_id, record.rank, pid), []).append(record)
    return [sorted(stream, key=lambda record: (record.place.line, record.n)) for stream in streams.values()]


def _raised(record: LogRecord) -> bool:
    return record.severity in _ERRORS and not record.topic.startswith(_NOT_RAISED)


def _inside(record: LogRecord, stream: list[LogRecord]) -> LogRecord | None:
    """What stands within the lines of `record` and says more than it does."""
    first = int(record.fields.get("record_start", record.place.line))
    last = max(record.line_end, record.place.line)
    if first == last:
        return None
    within = (
        other
        for other in stream
        if other is not record
        and first <= other.place.line <= last
        and _raised(other)
        and not other.topic.startswith("application.exception")
    )
    return next(within, None)
