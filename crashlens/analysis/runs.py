"""Which processes form a run: rank, host, process id and GPU of every member that the logs name.

A run is what one job log tells about, or several logs whose NCCL communicators share an id, or the files of a folder
that differ in the number of the rank only. The members come from NCCL's init lines (world communicator: the largest
one) and from launchers that print rank and pid together.
"""

import re
from dataclasses import dataclass, field, replace

from crashlens.analysis.records import LogRecord
from crashlens.findings import Place
from crashlens.timebase import Instant, order

MOST_STARTS = 8  # told apart; a crash loop holds hundreds, and as many findings are not shown
_ELASTIC = re.compile(r"(attempt_\d{1,6})/\d{1,4}/(?:stdout|stderr)\.log")
_RANK_FILE = re.compile(r"(?<![A-Za-z])rank([._-]?)\d{1,6}(?!\d)", re.IGNORECASE)
_UNTOLD = -1  # a smaller communicator numbers its ranks anew
_STATE = "communication.state"  # a dump of one rank is no log of a run
_RUN_TOPICS = ("communication.", "identity.rank", "application.", "gpu.memory", "gpu.cuda_error", "process.")


@dataclass(frozen=True, slots=True)
class Member:
    """One process of a run, as the line at `place`, written at `seen`, names it."""

    rank: int
    host: str | None
    pid: int | None
    pci_bus_id: str | None
    place: Place
    seen: Instant = field(default=Instant(None, None, None), compare=False)
    communicator: str | None = field(default=None, compare=False)


@dataclass
class Run:
    """One run.

    Attributes:
        sources: Sources whose records belong to it.
        members: Its processes by rank; of a rank that was started again, the first one.
        starts: Further processes of the ranks that were started again, one list per further start.
        joined: Every time that a process completed a communicator or was new; of a smaller one the rank is not told.
        world_size: Number of ranks, where a line says so.
        start_by_line: Starts told before, since every relation asks for them.
        unplaced: Processes that a smaller communicator names. Those that the largest one does not name too are of a
            start with fewer ranks.
    """

    sources: set[int] = field(default_factory=set[int])
    members: dict[int, Member] = field(default_factory=dict[int, Member])
    starts: list[list[Member]] = field(default_factory=list[list[Member]])
    joined: list[Member] = field(default_factory=list[Member])
    unplaced: set[int] = field(default_factory=set[int])
    world_size: int | None = None
    start_by_line: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int], repr=False)

    @property
    def restarted(self) -> list[Member]:
        """The processes of every further start."""
        return [member for start in self.starts for member in start]

    @property
    def complete(self) -> bool:
        """Whether every process of it is known with its rank."""
        known = {member.pid for member in self.processes()}
        ranks = sum(member.pid is not None for member in self.members.values())
        return ranks == self.world_size and self.unplaced <= known

    def processes(self) -> list[Member]:
        """Every process of it that a line names, those of a restart too."""
        return [*self.members.values(), *self.restarted]

    def start_of(self, place: Place, written: Instant, *, skew_us: int) -> int:
        """The start that printed a line: 0 the first one; by line where its source names the start, else by time."""
        if not self.starts:
            return 0
        key = (place.source, place.line)
        if key not in self.start_by_line:
            told = self.starts[:MOST_STARTS]
            self.start_by_line[key] = sum(_printed_after(place, written, members, skew_us) for members in told)
        return self.start_by_line[key]

    def hosts(self) -> set[str]:
        """Hosts of its members."""
        return {member.host for member in self.processes() if member.host}

    def gpus_known(self, host: str | None) -> bool:
        """Whether the GPU of every process of it on `host` is known."""
        here = [member for member in self.processes() if host is not None and member.host == host]
        return bool(here) and all(member.pci_bus_id for member in here)

    def member_with_pid(self, pid: int | None, host: str | None) -> Member | None:
        """The member with this process id on this host; an unknown host matches any."""
        return next((m for m in self.processes() if pid is not None and m.pid == pid and hosts_fit(m.host, host)), None)

    def member_on_gpu(self, pci_bus_id: str | None, host: str | None) -> Member | None:
        """The member on this GPU of this host; both must be known, since every host has the same addresses."""
        return next(
            (
                m
                for m in self.processes()
                if pci_bus_id is not None and m.pci_bus_id == pci_bus_id and m.host and m.host == host
            ),
            None,
        )


def find_runs(records: list[LogRecord], pci_by_gpu: dict[str, str]) -> list[Run]:
    """The runs that the records tell about.

    Args:
        records: All records.
        pci_by_gpu: PCI bus id of each gpu_key.

    Returns:
        One run per job log, or per group of job logs that share a communicator id.
    """
    by_source: dict[int, Run] = {}
    by_communicator: dict[str, Run] = {}
    by_series: dict[str, Run] = {}
    for record in records:
        if not record.topic.startswith(_RUN_TOPICS) or record.topic == _STATE:
            continue
        run = by_source.setdefault(record.source_id, Run({record.source_id}))
        for index, key in (
            (by_communicator, record.fields.get("comm_id")),
            (by_series, series_of(record.place.source)),
        ):
            known = index.setdefault(key, run) if key else run
            if known is not run:
                _merge(known, run)
                by_source |= dict.fromkeys(run.sources, known)
                for other in (by_communicator, by_series):
                    other |= {name: known for name, one in other.items() if one is run}
                run = known
        if record.topic == "identity.rank":
            _add_member(run, record, pci_by_gpu)
    unique: list[Run] = []
    for run in by_source.values():
        if not any(run is other for other in unique):
            unique.append(run)
    return unique


def series_of(path: str) -> str | None:
    """What files of one run share where each rank writes its own: the path without the number of the rank, or None."""
    if _ELASTIC.search(path):
        return _ELASTIC.sub(r"\1/*", path)
    return _RANK_FILE.sub(r"rank\1*", path) if _RANK_FILE.search(path) else None


def hosts_fit(one: str | None, other: str | None) -> bool:
    """Whether two records may be of one host: an unknown host fits any."""
    return one is None or other is None or one == other


def run_of(record: LogRecord, runs: list[Run]) -> Run | None:
    """The run whose logs hold `record`, or None."""
    return next((run for run in runs if record.source_id in run.sources), None)


def _printed_after(place: Place, written: Instant, members: list[Member], skew_us: int) -> bool:
    here = [member.place.line for member in members if member.place.source == place.source]
    if here:
        return place.line > min(here)
    return any(order(member.seen, written, skew_us=skew_us) == "before" for member in members)


def _add_start(run: Run, member: Member) -> None:
    """Put a process of a rank that was started again to those of the same start."""
    named = member.communicator
    known = [start for start in run.starts if named and any(other.communicator == named for other in start)]
    last = (
        run.starts[-1:]
        if run.starts and (not named or any(other.communicator is None for other in run.starts[-1]))
        else []
    )
    fits = known or [start for start in last if all(other.rank != member.rank for other in start)]
    if fits:
        fits[0].append(member)
    else:
        run.starts.append([member])


def _add_member(run: Run, record: LogRecord, pci_by_gpu: dict[str, str]) -> None:
    if record.rank is None:
        return
    size = int(record.fields.get("world_size", 0)) or None
    pci_bus_id = pci_by_gpu.get(record.gpu_key) if record.gpu_key else None
    member = Member(
        record.rank, record.host, record.pid, pci_bus_id, record.place, record.written, record.fields.get("comm_id")
    )
    known_pid = run.member_with_pid(record.pid, record.host)
    if known_pid is None or record.fields.get("phase") == "COMPLETE":
        smaller = size is not None and run.world_size is not None and size < run.world_size
        run.joined.append(replace(member, rank=_UNTOLD) if smaller else member)
    if size is not None and run.world_size is not None and size < run.world_size:
        # A smaller communicator numbers its ranks anew.
        if record.pid is not None and known_pid is None:
            run.unplaced.add(record.pid)
        return
    if size is not None and (run.world_size is None or size > run.world_size):
        run.unplaced |= {member.pid for member in run.processes() if member.pid is not None}
        run.members.clear()
        run.starts.clear()
        run.joined = [*(replace(one, rank=_UNTOLD) for one in run.joined[:-1]), *run.joined[-1:]]
        run.world_size = size
    known = run.members.get(record.rank)
    if known is None or (known.pid is None and record.pid is not None):
        run.members[record.rank] = member
    elif record.pid is not None and known_pid is None:
        _add_start(run, member)


def _merge(kept: Run, gone: Run) -> None:
    kept.sources |= gone.sources
    kept.joined += gone.joined
    kept.unplaced |= gone.unplaced
    if (gone.world_size or 0) > (kept.world_size or 0):
        kept.members, kept.starts, kept.world_size = gone.members, gone.starts, gone.world_size
    elif gone.world_size == kept.world_size:
        kept.members = gone.members | kept.members
        for member in gone.restarted:
            _add_start(kept, member)
