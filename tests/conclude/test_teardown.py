"""How tasks end after Slurm cancelled them is teardown; before it, or in another run of the same file, it is not."""

from pathlib import Path

import pytest

import crashlens as cl

CANCEL = "slurmstepd: error: *** STEP 7.0 ON gpu-node-01 CANCELLED AT 2026-10-01T09:12:44{why} ***\n"
KILLED = "srun: error: gpu-node-01: task 0: Killed\n"
STEP = "2026-10-01 09:20:00 step 100 loss 2.0 step_time 1.2s\n"


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        (CANCEL.format(why=" DUE TO TIME LIMIT") + KILLED, "scheduler.time_limit", 1),
        (CANCEL.format(why="") + KILLED, "unknown.insufficient_evidence", 1),
        (KILLED + CANCEL.format(why=""), "process.killed_sender_unknown", 1),
        (CANCEL.format(why=" DUE TO PREEMPTION") + STEP + STEP + KILLED, "process.killed_sender_unknown", 4),
    ],
)
def test_only_what_srun_notices_after_the_cancel_is_teardown(tmp_path: Path, text: str, cause: str, line: int) -> None:
    (tmp_path / "slurm-7.out").write_text(text)
    first = cl.read(tmp_path).findings()[0]
    assert (first.cause, first.first_event and first.first_event.line) == (cause, line)
