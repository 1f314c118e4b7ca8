"""What did the program do after a record: did it go on, or did it end?

A step well after an error, or the end of training, shows that the error was survived, a step after a
new start does not.
Where neither has a time the lines of one file are compared, and more is asked for.
"""

from bisect import bisect_right

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.analysis.runs import run_of
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.scene import Scene
from crashlens.timebase import Instant, order

ENDINGS = ("process.exit", "process.wrapper", "process.teardown")
_FINISHED = "training.finished"
_RECOVERY = "application.recovery"
_RECOVERY_LINES = 5  # below a record, a line in which the program says that it goes on is about that record
_LEAST_STEPS = 2  # steps without a time that must follow in the file: one may have waited in a buffer
_LEAST_DATED_STEPS = 3  # steps that other ranks cannot make when one rank has ended
_FAILURES = {"cuda.out_of_memory", "python.exception", "python.exception_line", "cuda.error"}


class Aftermath:
    """What the runs of a scene did after their records.

    Args:
        scene: The scene.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._skew_us = scene.context.skew_us
        steps = scene.tables.steps
        rows = steps.group_by("source_id").agg("line", "clock_us").iter_rows()
        self._length: dict[int, int] = dict(scene.tables.sources.select("source_id", "lines").drop_nulls().iter_rows())
        self._lines: dict[int, list[int]] = {}
        self._undated: dict[int, list[int]] = {}
        self._dated: dict[tuple[int, str], list[int]] = {}
        dated = steps.drop_nulls("clock_us").group_by("source_id", "clock_id").agg("clock_us").iter_rows()
        for source_id, clock_id, clocks in dated:
            self._dated[source_id, clock_id] = sorted(clocks)
        for source_id, lines, clocks in rows:
            self._lines[source_id] = sorted(lines)
            self._undated[source_id] = sorted(line for line, clock in zip(lines, clocks, strict=True) if clock is None)

    def steps_before(self, record: LogRecord) -> int:
        """Number of step lines above `record` in its file."""
        return bisect_right(self._lines.get(record.source_id, []), record.place.line)

    def went_on(self, record: LogRecord) -> bool:
        """Whether the run went on after `record` without a new start, and printed no further failure of its kind."""
        sources = self._sources(record)
        ours = [other for other in self._scene.records if other.source_id in sources]
        later = [other for other in ours if self._after(record, other)]
        if any(other.topic == _FINISHED or _ended_well(other) for other in later):
            return True
        if _is_handled(record, ours) and not _failed_again(later) and self._kept_stepping(record):
            return True
        ends = [other for other in later if other.topic.startswith(ENDINGS) and not _ended_well(other)]
        return self._stepped(record, ends) or self._waited(record, ours)

    def far_from_the_end(self, record: LogRecord) -> bool:
        """Whether so much stands below `record` in its file that it hardly ended the program that wrote it."""
        below = self._length.get(record.source_id, 0) - max(record.line_end, record.place.line)
        return below > threshold("exception_before_end_lines").value

    def ended(self, record: LogRecord) -> LogRecord | None:
        """The first record after `record` that states an exit code other than 0 and no signal, in the same run."""
        sources = self._sources(record)
        return next(
            (
                other
                for other in sorted(self._scene.records, key=sort_key)
                if other.source_id in sources
                and other.exit_code is not None
                and 0 < other.exit_code < 128
                and self._after(record, other)
            ),
            None,
        )

    def _sources(self, record: LogRecord) -> set[int]:
        run = run_of(record, self._scene.runs)
        return run.sources if run else {record.source_id}

    def _after(self, record: LogRecord, other: LogRecord) -> bool:
        ordered = order(record.written, other.written, skew_us=self._skew_us)
        same = record.source_id == other.source_id
        return ordered == "before" or (ordered != "after" and same and other.place.line > record.place.line)

    def _stepped(self, record: LogRecord, ends: list[LogRecord]) -> bool:
        late = record.written.shifted(self._scene.context.step_slack_us)
        for step in self._scene.context.steps_of(record):
            if self._before(late, step) and not any(self._before(end.written, step) for end in ends):
                return True
        if ends:
            return False
        lines = self._undated.get(record.source_id, [])
        following = len(lines) - bisect_right(lines, record.place.line)
        return following >= _LEAST_STEPS or self._dated_steps_after(record) >= _LEAST_DATED_STEPS

    def _dated_steps_after(self, record: LogRecord) -> int:
        """Steps of the file that were made after `record` by its own clock; none where the run was started again."""
        run = run_of(record, self._scene.runs)
        moment = record.written
        if moment.clock_us is None or (run is not None and run.starts):
            return 0
        of_clock = self._dated.get((record.source_id, moment.clock_id or ""), [])
        return len(of_clock) - bisect_right(of_clock, moment.clock_us + moment.uncertainty_us)

    def _kept_stepping(self, record: LogRecord) -> bool:
        """Whether a step follows a record, or the file tells of no steps at all."""
        lines = self._lines.get(record.source_id, [])
        return not lines or self._dated_steps_after(record) > 0 or lines[-1] > record.place.line

    def _before(self, moment: Instant, step: Instant) -> bool:
        return order(moment, step, skew_us=self._skew_us) == "before"

    def _waited(self, record: LogRecord, ours: list[LogRecord]) -> bool:
        """Whether its own rank entered a collective after it: a rank that has ended does not."""
        return record.rank is not None and any(
            other.rule_id == "c10d.watchdog_timeout"
            and other.rank == record.rank
            and order(record.began, other.began, skew_us=self._skew_us) == "before"
            for other in ours
        )


def _is_handled(record: LogRecord, ours: list[LogRecord]) -> bool:
    """Whether the program says, in the record or just below it, that it goes on."""
    last = max(record.line_end, record.place.line)
    return record.fields.get("handled") == "yes" or any(
        other.topic == _RECOVERY
        and other.source_id == record.source_id
        and record.place.line <= other.place.line <= last + _RECOVERY_LINES
        and other.rank in {None, record.rank}
        for other in ours
    )


def _ended_well(record: LogRecord) -> bool:
    return record.topic == "process.exit" and record.exit_code == 0


def _failed_again(later: list[LogRecord]) -> bool:
    return any(other.rule_id in _FAILURES and other.fields.get("handled") != "yes" for other in later)
