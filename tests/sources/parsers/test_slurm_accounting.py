"""The table of sacct: cells by the name above them, what is cut and what is not, and lines that do not fit."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.sources.parsers.slurm_accounting import sniff

WIDE = """\
JobID           JobName      State    Elapsed ExitCode        NodeList                 End
------------ ---------- ---------- ---------- -------- --------------- -------------------
70115             train OUT_OF_ME+   12:00:21    0:125 gpu-node-[01-02 2026-10-01T09:12:44
70115.batch       batch OUT_OF_ME+   12:00:22    0:125     gpu-node-01 2026-10-01T09:12:45
70115.0          python CANCELLED+   12:00:22     0:15     gpu-node-01             Unknown
70116_7         array-x  COMPLETED   00:10:00      0:0     gpu-node-03 2026-10-01T09:00:00
"""
BARS = """\
JobIDRaw|JobName|State|ExitCode|ReqMem
70117|train|CANCELLED by 1204|0:0|200G
70117.0|python|FAILED|1:0|
70118|infer|RUNNING|0:0|10G
70119|infer|PENDING|0:0|10G
no job here
"""


def read(tmp_path: Path, text: str, tz: str | None = None) -> cl.Case:
    (tmp_path / "sacct.txt").write_text(text)
    return cl.read(tmp_path / "sacct.txt", tz=tz)


def fields(case: cl.Case, row: int) -> dict[str, str]:
    return {item["key"]: item["value"] for item in case.events.row(row, named=True)["fields"]}


def test_a_cut_state_is_written_out_and_the_step_is_told_from_the_job(tmp_path: Path) -> None:
    case = read(tmp_path, WIDE, tz="Asia/Seoul")
    assert case.sources["format"].to_list() == ["slurm_accounting"]
    rows = case.events.select("line", "rule_id", "job_id", "job_step_id", "host").rows()
    assert rows == [
        (3, "slurm.job_state", "70115", None, None),
        (4, "slurm.job_state", "70115", "batch", "gpu-node-01"),
        (5, "slurm.job_state", "70115", "0", "gpu-node-01"),
        (6, "slurm.job_state", "70116", None, "gpu-node-03"),
    ]
    states = [fields(case, row)["state"] for row in range(4)]
    assert states == ["OUT_OF_MEMORY", "OUT_OF_MEMORY", "CANCELLED", "COMPLETED"]
    assert [fields(case, row).get("signal") for row in range(4)] == ["125", "125", "15", None]
    assert case.events["time_utc"].to_list() == [
        datetime(2026, 10, 1, 0, 12, 44, tzinfo=UTC), datetime(2026, 10, 1, 0, 12, 45, tzinfo=UTC), None,
        datetime(2026, 10, 1, 0, 0, 0, tzinfo=UTC),
    ]  # fmt: skip


def test_times_without_a_zone_are_not_placed(tmp_path: Path) -> None:
    case = read(tmp_path, WIDE)
    assert case.events["time_utc"].null_count() == 4
    assert "zone" in case.sources["notices"][0][0]


def test_cells_between_bars_are_whole_and_a_line_of_another_shape_is_said(tmp_path: Path) -> None:
    case = read(tmp_path, BARS)
    assert case.events.select("line", "job_id", "job_step_id", "exit_code").rows() == [
        (2, "70117", None, 0),
        (3, "70117", "0", 1),
        (4, "70118", None, 0),
        (5, "70119", None, 0),
    ]
    assert fields(case, 0) == {"state": "CANCELLED", "by_uid": "1204", "job_name": "train", "requested_memory": "200G"}
    assert case.sources["notices"][0].to_list() == ["Line 6 was not read: it names no job or no state."]


@pytest.mark.parametrize(
    ("text", "least"),
    [
        (WIDE, 0.95),
        ("$ sacct -j 70115\n" + WIDE, 0.95),
        (WIDE + "$ grep error slurmctld.log\nerror: a\nerror: b\nerror: c\n", 0.0),  # a transcript: read as text
        ("JobID is the number of the job\n", 0.0),
        ("", 0.0),
    ],
)
def test_what_is_taken_for_accounting(text: str, least: float) -> None:
    assert sniff(text.encode()) == least


def test_one_failed_job_among_many_is_not_lost(tmp_path: Path) -> None:
    rows = [f"{number}|{'NODE_FAIL' if number == 1700 else 'COMPLETED'}|0:0" for number in range(1000, 1900)]
    (tmp_path / "sacct.psv").write_text("\n".join(["JobID|State|ExitCode", *rows, ""]))
    [finding] = cl.read(tmp_path).findings()
    assert finding.first_event is not None
    assert finding.first_event.line == 702
