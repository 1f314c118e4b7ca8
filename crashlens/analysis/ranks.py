"""Which rank wrote a line that does not say so? Told by its process, or by a file that one process of a run wrote."""

from dataclasses import replace

from crashlens.analysis.records import LogRecord
from crashlens.analysis.runs import Run

_IDENTITY = "identity.rank"
_OF_MACHINES = ("gpu.xid", "gpu.bus")  # what the kernel says of a GPU is no line of a rank


def with_ranks(records: list[LogRecord], runs: list[Run]) -> list[LogRecord]:
    """`records`, those of a run with the rank of their process where only the process is named.

    A file tells the rank of all its lines where each file of the run names one process, and each another one.
    """
    by_source = {source_id: run for run in runs for source_id in run.sources}
    of_file = _ranks_of_files(records, by_source)
    return [_with_rank(record, by_source.get(record.source_id), of_file) for record in records]


def _with_rank(record: LogRecord, run: Run | None, of_file: dict[int, int]) -> LogRecord:
    if record.rank is not None or run is None or record.topic in _OF_MACHINES:
        return record
    member = run.member_with_pid(record.pid, record.host)
    rank = member.rank if member is not None else of_file.get(record.source_id)
    return record if rank is None else replace(record, rank=rank)


def _ranks_of_files(records: list[LogRecord], by_source: dict[int, Run]) -> dict[int, int]:
    """The rank of each file that one process of a run wrote, of runs with several such files."""
    source_of = {record.place.source: record.source_id for record in records}
    named: dict[int, set[int]] = {}
    members = [member for run in by_source.values() for member in run.processes()]
    for place, rank in {(member.place.source, member.rank) for member in members}:
        if place in source_of:
            named.setdefault(source_of[place], set()).add(rank)
    for record in records:
        # The line that names a member of a smaller communicator holds another rank than the global one.
        if record.rank is not None and record.source_id in named and record.topic != _IDENTITY:
            named[record.source_id].add(record.rank)
    alone = {source_id: next(iter(ranks)) for source_id, ranks in named.items() if len(ranks) == 1}
    return {
        source_id: rank
        for source_id, rank in alone.items()
        if len({alone[other] for other in by_source[source_id].sources if other in alone}) > 1
    }
