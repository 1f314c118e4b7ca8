"""Jobs, steps and nodes as `--json` prints them, in the forms of old and new releases."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.sources.parsers.slurm_json import sniff

NEW = """\
{
  "jobs": [
    {
      "job_id": 90233,
      "name": "pretrain",
      "nodes": "gpu-node-07",
      "exit_code": {"return_code": {"set": true, "number": 1}, "signal": {"id": {"set": true, "number": 9}}},
      "state": {
        "current": ["OUT_OF_MEMORY"], "reason": "None"
      },
      "time": {"end": 1790845200},
      "steps": [
        {"state": ["COMPLETED"], "step": {"id": "90233.extern"}},
        {"state": ["OUT_OF_MEMORY"], "step": {"id": "90233.0"}}
      ]
    }
  ],
  "meta": {"slurm": {"version": {"major": "23"}}}
}
"""
OLD = (
    '{"meta": {"Slurm": {"version": {"major": 22}}}, "jobs": [{"job_id": 771, "nodes": "gpu-node-[01-02]", '
    '"exit_code": {"return_code": 0, "signal": {"signal_id": 15}}, "state": {"current": "TIMEOUT"}}]}\n'
)
NODES = """\
{"nodes": [
  {"name": "gpu-node-01", "gres": "gpu:8", "gres_used": "gpu:0", "state": ["IDLE", "DRAIN"], "reason": "Kill task failed"},
  {"name": "gpu-node-02", "gres": "gpu:8", "gres_used": "gpu:8", "state": "allocated", "reason": ""}
], "meta": {"slurm": {}}}
"""


def read(tmp_path: Path, text: str) -> cl.Case:
    (tmp_path / "slurm.json").write_text(text)
    return cl.read(tmp_path / "slurm.json")


def test_a_job_and_its_bad_steps_are_records_with_their_lines(tmp_path: Path) -> None:
    case = read(tmp_path, NEW)
    rows = case.events.select("line", "rule_id", "host", "job_id", "job_step_id", "exit_code").rows()
    assert rows == [
        (9, "slurm.job_state", "gpu-node-07", "90233", None, 1),
        (14, "slurm.job_state", None, "90233", "0", None),
    ]
    assert str(case.events["time_utc"][0]) == "2026-10-01 09:00:00+00:00"
    assert [finding.cause for finding in case.findings()] == ["host_memory.cgroup_oom"]


def test_an_older_form_names_states_by_one_word(tmp_path: Path) -> None:
    case = read(tmp_path, OLD)
    assert case.events.select("line", "host", "job_id", "exit_code").rows() == [(1, None, "771", 0)]
    [finding] = case.findings()
    assert (finding.cause, finding.verdict) == ("scheduler.time_limit", "supported")


def test_a_drained_node_is_a_record_and_an_allocated_one_is_none(tmp_path: Path) -> None:
    case = read(tmp_path, NODES)
    assert case.events.select("line", "rule_id", "host").rows()[-1] == (2, "slurm.node_state", "gpu-node-01")
    assert set(case.events["line"]) == {2}
    assert case.inventory.select("host", "component", "value").rows() == [
        ("gpu-node-01", "gres", "gpu:8"),
        ("gpu-node-02", "gres", "gpu:8"),
    ]


def test_a_cut_document_says_so_and_keeps_the_jobs_before(tmp_path: Path) -> None:
    second = NEW.replace('"meta"', '"last": {"slurm": 1}, "meta"').split('  ],\n  "last"')[0]
    cut = second + ', {"job_id": 90234, "state": {"cur'
    case = read(tmp_path, cut.replace("{\n", '{"slurm": 1,\n', 1))
    assert "90233" in case.events["job_id"].to_list()
    assert any("is no whole JSON" in notice for notice in case.tables.sources["notices"][0])


@pytest.mark.parametrize("text", ['{"jobs": [{"id": 1}]}', "[]", "slurm jobs", '{"slurm": 1, "log": "job_id"}'])
def test_other_json_is_not_taken_for_it(text: str) -> None:
    assert sniff(text.encode()) == 0.0


@pytest.mark.parametrize("value", ["null", "[]", '"x"', "{}", "1e400", "99999999999999999999"])
def test_odd_values_cost_no_more_than_themselves(tmp_path: Path, value: str) -> None:
    case = read(
        tmp_path,
        f'{{"slurm": 1, "jobs": [{{"job_id": 1, "state": {value}, "exit_code": {value}, "time": {value}, '
        f'"steps": {value}, "nodes": {value}}}, {{"job_id": 2, "job_state": "FAILED"}}]}}',
    )
    assert "2" in case.events["job_id"].to_list()
