"""Blocks of `Key=Value` words: a job is one record, a node only where it is not simply up."""

from pathlib import Path

import crashlens as cl
from crashlens.sources.parsers.slurm_show import sniff

JOBS = """\
JobId=70116 JobName=train
   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:10:00 TimeLimit=12:00:00 TimeMin=N/A
   StartTime=2026-10-01T09:00:00 EndTime=2026-10-01T09:10:00 Deadline=N/A
   NodeList=gpu-node-01 BatchHost=gpu-node-01

JobId=70117 JobName=infer
   JobState=RUNNING Reason=None Dependency=(null)
   ExitCode=0:0
"""
NODES = """\
NodeName=gpu-node-07 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUTot=128 CPULoad=0.10
   Gres=gpu:h100:8(S:0-1)
   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0
   Reason=ECC errors = 12, see ticket [root@2026-10-01T09:30:00]

NodeName=gpu-node-08 Arch=x86_64 CoresPerSocket=32
   Gres=gpu:h100:8(S:0-1)
   State=IDLE ThreadsPerCore=2 TmpDisk=0
"""


def read(tmp_path: Path, text: str) -> cl.Case:
    (tmp_path / "show.txt").write_text(text)
    return cl.read(tmp_path / "show.txt")


def fields(case: cl.Case, row: int) -> dict[str, str]:
    return {item["key"]: item["value"] for item in case.events.row(row, named=True)["fields"]}


def test_each_job_is_one_record_at_the_line_of_its_state(tmp_path: Path) -> None:
    case = read(tmp_path, JOBS)
    rows = case.events.select("line", "rule_id", "job_id", "host", "exit_code").rows()
    assert rows == [
        (2, "slurm.job_state", "70116", "gpu-node-01", 0),
        (9, "slurm.job_state", "70117", None, 0),
    ]
    told = fields(case, 0)
    assert (told["state"], told["state_reason"], told["time_limit"]) == ("NODE_FAIL", "NodeDown", "12:00:00")
    assert fields(case, 1)["state"] == "RUNNING"


def test_a_drained_node_is_a_record_with_who_wrote_the_reason(tmp_path: Path) -> None:
    case = read(tmp_path, NODES)
    assert case.events.select("line", "rule_id", "host").rows() == [(5, "slurm.node_state", "gpu-node-07")]
    told = fields(case, 0)
    assert (told["node_state"], told["reason"], told["who"]) == ("IDLE+DRAIN", "ECC errors = 12, see ticket", "root")
    gres = case.inventory.filter(case.inventory["component"] == "gres").select("line", "host", "value").rows()
    assert gres == [(3, "gpu-node-07", "gpu:h100:8(S:0-1)"), (8, "gpu-node-08", "gpu:h100:8(S:0-1)")]


def test_a_line_with_such_a_word_in_a_log_is_not_this_format() -> None:
    assert sniff(JOBS.encode()) > 0.9
    assert sniff(b"[2026-10-01T09:00:00] Killing JobId=70116 on failed node gpu-node-01\n") == 0.0
    assert sniff(b"") == 0.0
