"""What a container runtime keeps of an ended container: killed at its limit, another exit code, an error of its start."""

from pathlib import Path

import crashlens as cl
from crashlens.sources.parsers.container_inspect import sniff

DOCKER = """\
[
  {
    "Id": "29d72966e0beb17d",
    "State": {
      "Status": "exited",
      "OOMKilled": %s,
      "ExitCode": %d,
      "Error": "%s",
      "FinishedAt": "2026-10-01T10:00:00.5Z"
    },
    "Name": "/trainer"
  }
]
"""
CRI = """\
{
  "status": {
    "metadata": {"attempt": 1, "name": "trainer"},
    "state": "CONTAINER_EXITED",
    "finishedAt": "2026-10-01T10:00:00Z",
    "exitCode": 137,
    "reason": "%s",
    "labels": {"io.kubernetes.pod.name": "trainer-0", "io.kubernetes.pod.namespace": "ml"}
  }
}
"""


def read(tmp_path: Path, text: str) -> cl.Case:
    (tmp_path / "inspect.json").write_text(text)
    return cl.read(tmp_path / "inspect.json")


def rows(case: cl.Case) -> list[tuple[object, ...]]:
    fields = [{one["key"]: one["value"] for one in row["fields"]} for row in case.events.iter_rows(named=True)]
    return [
        (row["line"], row["rule_id"], row["exit_code"], about.get("container"), about.get("pod"))
        for row, about in zip(case.events.iter_rows(named=True), fields, strict=True)
    ]


def test_a_kill_at_the_limit_is_told_by_the_flag_of_docker(tmp_path: Path) -> None:
    case = read(tmp_path, DOCKER % ("true", 137, ""))
    assert rows(case) == [(6, "container.oom_killed", 137, "trainer", None)]
    assert str(case.events["time_utc"][0]) == "2026-10-01 10:00:00.500000+00:00"
    assert [(f.cause, f.verdict) for f in case.findings()] == [("host_memory.cgroup_oom", "supported")]


def test_a_kill_without_the_flag_has_an_unknown_sender(tmp_path: Path) -> None:
    case = read(tmp_path, DOCKER % ("false", 137, ""))
    assert rows(case) == [(7, "container.exited", 137, "trainer", None)]
    assert [f.cause for f in case.findings()] == ["process.killed_sender_unknown"]


def test_the_error_of_a_start_is_read_by_the_line_rules(tmp_path: Path) -> None:
    error = "runc create failed: nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown"
    case = read(tmp_path, DOCKER % ("false", 128, error))
    assert [row[:2] for row in rows(case)] == [(7, "container.exited"), (8, "container.nvml_error")]


def test_a_container_that_ended_well_is_no_record(tmp_path: Path) -> None:
    assert rows(read(tmp_path, DOCKER % ("false", 0, ""))) == []


def test_the_reason_of_a_cri_runtime_and_the_pod(tmp_path: Path) -> None:
    assert rows(read(tmp_path, CRI % "OOMKilled")) == [(7, "k8s.oom_killed", 137, "trainer", "trainer-0")]
    assert rows(read(tmp_path, CRI % "Error")) == [(7, "k8s.container_exit", 137, "trainer", "trainer-0")]


def test_other_json_is_not_taken_for_it() -> None:
    assert sniff(b'{"State": 1, "ExitCode": 2}') == 0.0
    assert sniff(b"OOMKilled ExitCode State") == 0.0
