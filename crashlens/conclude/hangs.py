"""The starts of runs in which ranks waited for each other, with every record that says how far they had come."""

from dataclasses import dataclass, field

from crashlens.analysis.collective_state import (
    STATUS,
    WAITS,
    Absence,
    Disagreement,
    find_absences,
    find_disagreements,
    group_of,
)
from crashlens.analysis.nccl_calls import find_parted_calls
from crashlens.analysis.records import LogRecord, sort_key
from crashlens.analysis.relations import Relation
from crashlens.analysis.runs import Run, run_of
from crashlens.conclude.scene import Scene

STUCK = {"c10d.watchdog_stuck", "c10d.heartbeat_timeout"}
STORE_WAITS = {"c10d.store_timeout", "c10d.monitored_barrier"}
TOLD_MISMATCH = {"c10d.mismatch", "nccl.mismatch"}
STATE = "communication.state"
_FOLLOWING = ("communication.", "process.teardown", "process.exit", "process.wrapper")
_NO_FOLLOWERS = {
    "communication.call", "communication.advice", "communication.path", "communication.connect_retry", STATE,
    "communication.mismatch", "communication.absence", "communication.store_wait",
}  # fmt: skip


@dataclass
class Hang:
    """The waits of one start of a run.

    Attributes:
        run: The run.
        start: Which of its starts: 0 the first one.
        waits: Timeout records, by the beginning of the wait.
        stuck: Records of watchdogs that did not move.
        store: Waits at the store or in a barrier that goes through it.
        told: Records in which NCCL or c10d itself says that ranks called different collectives.
        following: What the run printed on the way down.
        absences: Collectives that some ranks did not enter.
        disagreements: Numbers at which ranks asked for different things.
        dumps: Flight recorder records that belong to it.
    """

    run: Run
    start: int
    waits: list[LogRecord]
    stuck: list[LogRecord]
    store: list[LogRecord] = field(default_factory=list[LogRecord])
    told: list[LogRecord] = field(default_factory=list[LogRecord])
    following: list[LogRecord] = field(default_factory=list[LogRecord])
    absences: list[Absence] = field(default_factory=list[Absence])
    disagreements: list[Disagreement] = field(default_factory=list[Disagreement])
    dumps: list[LogRecord] = field(default_factory=list[LogRecord])

    @property
    def ranks(self) -> list[int]:
        """Ranks that waited."""
        records = self.waits or self.stuck or self.store
        told = {record.rank for record in records if record.rank is not None}
        return sorted(told or {rank for absence in self.absences for rank in absence.entered})

    @property
    def records(self) -> list[LogRecord]:
        """Every record of it that a log holds."""
        return [*self.waits, *self.stuck, *self.store, *self.told, *self.following]

    @property
    def group_names(self) -> set[str]:
        """The groups of its waits that are known."""
        status = [record for record in self.following if record.rule_id == STATUS]
        return {group for record in self.waits for group in [group_of(record, status)] if group is not None}


def find_hangs(scene: Scene) -> list[Hang]:
    """The runs in which ranks waited for each other; a run that was started again may have hung in each start."""
    hangs: list[Hang] = []
    for run, start, own in _starts(scene):
        hang = _hang(run, start, own)
        if hang.waits or hang.stuck or hang.store or hang.told or hang.absences or hang.disagreements:
            hangs.append(hang)
    dumps = [record for record in scene.records if record.topic == STATE]
    return _with_dumps(hangs, dumps) if dumps else hangs


def concerns(scene: Scene, hang: Hang, relation: Relation) -> bool:
    """Whether the records that would follow in `relation` are those of this hang."""
    then, run = relation.then[0], hang.run
    return (
        run_of(then, scene.runs) is run
        and run.start_of(then.place, then.written, skew_us=scene.context.skew_us) == hang.start
    )


def _hang(run: Run, start: int, own: list[LogRecord]) -> Hang:
    waits = _distinct(sorted((record for record in own if record.rule_id == WAITS), key=sort_key))
    stuck = sorted((record for record in own if _is_stuck(record)), key=sort_key)
    store = sorted((record for record in own if record.rule_id in STORE_WAITS), key=sort_key)
    told = sorted((record for record in own if record.rule_id in TOLD_MISMATCH), key=sort_key)
    taken = {(record.place, record.n) for record in (*stuck, *store, *told)}
    # A watchdog that ends with the error of a CUDA call passes that on: the line tells of it, not of the wait.
    passed_on = {record.place for record in own if record.topic == "gpu.cuda_error"}
    following = [
        record
        for record in own
        if record.topic.startswith(_FOLLOWING)
        and record.topic not in _NO_FOLLOWERS
        and record.rule_id != WAITS
        and (record.place, record.n) not in taken
        and record.place not in passed_on
    ]
    parted = find_parted_calls(own)
    disagreements = [*find_disagreements(own), *([parted] if parted is not None else [])]
    return Hang(run, start, waits, stuck, store, told, following, find_absences(own), disagreements)


def _is_stuck(record: LogRecord) -> bool:
    """Whether a monitor says that the watchdog did not move; it also ends processes after an ordinary timeout."""
    why = record.fields.get("why", "")
    return record.rule_id in STUCK and ("why" not in record.fields or "hang" in why or "heartbeat" in why)


def _with_dumps(hangs: list[Hang], dumps: list[LogRecord]) -> list[Hang]:
    """The hangs with the flight recorder dumps: those of the only one, or a case of its own."""
    absences, disagreements = find_absences(dumps), find_disagreements(dumps)
    if len(hangs) == 1:
        hangs[0].absences = [*absences, *hangs[0].absences]
        hangs[0].disagreements = [*disagreements, *hangs[0].disagreements]
        hangs[0].dumps = dumps
        return hangs
    open_ = any(record.fields.get("state") in {"scheduled", "started"} for record in dumps)
    if absences or disagreements or open_:
        run = Run({record.source_id for record in dumps})
        own = Hang(run, 0, [], [], absences=absences, disagreements=disagreements, dumps=dumps)
        return [*hangs, own]
    return hangs


def _starts(scene: Scene) -> list[tuple[Run, int, list[LogRecord]]]:
    """Every run and start with the records it printed."""
    found: list[tuple[Run, int, list[LogRecord]]] = []
    for run in scene.runs:
        by_start: dict[int, list[LogRecord]] = {}
        for record in scene.records:
            if record.source_id in run.sources:
                by_start.setdefault(
                    run.start_of(record.place, record.written, skew_us=scene.context.skew_us), []
                ).append(record)
        found += [(run, start, own) for start, own in sorted(by_start.items())]
    return found


def _distinct(waits: list[LogRecord]) -> list[LogRecord]:
    """Each wait once: the exception that ends the watchdog thread quotes its words again."""
    seen: set[tuple[object, ...]] = set()
    kept: list[LogRecord] = []
    for record in waits:
        key = (record.fields.get("group_rank"), record.seq, record.fields.get("op_type"), record.ran_ms)
        again = key in seen if record.rank is None else (record.rank, *key) in seen
        if not again or record.ran_ms is None or record.fields.get("group_rank") is None:
            kept.append(record)
        seen |= {key, (record.rank, *key)}
    return kept
