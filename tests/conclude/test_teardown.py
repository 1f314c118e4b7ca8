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


LOST = "[rank3]:[W1001 09:12:45.1 TCPStore.cpp:141] [c10d] recvValue failed on SocketImpl(fd=3): failed to recv, got 0 bytes\n"


def test_a_store_that_goes_away_after_the_cancel_is_teardown(tmp_path: Path) -> None:
    (tmp_path / "slurm-7.out").write_text(STEP + CANCEL.format(why=" DUE TO TIME LIMIT") + LOST)
    assert [finding.cause for finding in cl.read(tmp_path).findings()] == ["scheduler.time_limit"]


POD = """\
Name:         trainer-0
Namespace:    ml
Node:         gpu-node-07/10.0.0.7
Labels:       app=trainer
Status:       {status}
Containers:
  trainer:
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
Events:
  Type    Reason   Age  From     Message
  ----    ------   ---- ----     -------
{event}
"""


@pytest.mark.parametrize(
    ("status", "event", "cause"),
    [
        ("Running", "  Normal  Killing  2m   kubelet  Stopping container trainer", "unknown.insufficient_evidence"),
        ("Running", "  Normal  Killing  2m   kubelet  Container trainer failed liveness probe, will be restarted",
         "unknown.insufficient_evidence"),
        ("Failed\nReason:       DeadlineExceeded", "", "scheduler.time_limit"),
        ("Running", "  Normal  Pulled   2m   kubelet  Container image already present", "process.killed_sender_unknown"),
    ],
)  # fmt: skip
def test_a_kill_by_the_kubelet_has_a_sender(tmp_path: Path, status: str, event: str, cause: str) -> None:
    (tmp_path / "pod.txt").write_text(POD.format(status=status, event=event))
    assert {finding.cause for finding in cl.read(tmp_path).findings()} == {cause}
