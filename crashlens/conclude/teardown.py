"""Does an end only follow, since the scheduler had ended the job before it was noticed?"""

import polars as pl

from crashlens.analysis.records import LogRecord
from crashlens.conclude.scene import Scene

_CANCELLED = "slurm.cancelled"
_NOTICED = "slurm.task_exit"


def follows_a_cancel(scene: Scene, record: LogRecord) -> bool:
    """Whether srun noticed this end below the line with which Slurm ended the step, in the same file.

    Slurm sends SIGTERM, then SIGKILL: how a task ends after that says nothing of its own. A training step between the
    two lines is another run in the same file, as after a requeue with `--open-mode=append`.
    """
    if record.rule_id != _NOTICED:
        return False
    before = [
        other.place.line
        for other in scene.records
        if other.rule_id == _CANCELLED and other.source_id == record.source_id and other.place.line < record.place.line
    ]
    if not before:
        return False
    between = scene.tables.steps.filter(
        (pl.col("source_id") == record.source_id)
        & pl.col("line").is_between(max(before), record.place.line, closed="none")
    )
    return between.is_empty()
