"""`kubectl describe`: the last states of containers, conditions of nodes, what they offer, and the events below."""

from datetime import UTC, datetime
from pathlib import Path

import crashlens as cl
from crashlens.sources.parsers.kubernetes_describe import sniff

POD = """\
Name:             trainer-4
Namespace:        ml
Node:             gpu-node-03/10.0.0.3
Labels:           app=trainer
Containers:
  trainer:
    Image:          registry.example/train:1
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Thu, 01 Oct 2026 09:00:02 +0000
      Finished:     Thu, 01 Oct 2026 18:41:10 +0900
    Ready:          False
    Restart Count:  3
  side:
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
Events:
  Type     Reason     Age                From     Message
  ----     ------     ----               ----     -------
  Warning  Unhealthy  2m (x9 over 6m)    kubelet  Liveness probe failed: HTTP probe failed with statuscode: 503
  Normal   Pulled     2m                 kubelet  Container image already present
"""
NODE = """\
Name:               gpu-node-07
Roles:              worker
Labels:             zone=a
Conditions:
  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message
  ----             ------    -----------------                 ------------------                ------              -------
  MemoryPressure   False     Thu, 01 Oct 2026 09:00:00 +0000   Thu, 01 Oct 2026 08:00:00 +0000   KubeletOk           enough memory
  KernelDeadlock   True      Thu, 01 Oct 2026 09:00:00 +0000   Thu, 01 Oct 2026 08:59:00 +0000   DockerHung          task docker blocked
  Ready            Unknown   Thu, 01 Oct 2026 09:00:00 +0000   Thu, 01 Oct 2026 09:04:10 +0000   NodeStatusUnknown   no status
Capacity:
  nvidia.com/gpu:  8
Allocatable:
  nvidia.com/gpu:  7
"""


def read(tmp_path: Path, text: str) -> cl.Case:
    (tmp_path / "describe.txt").write_text(text)
    return cl.read(tmp_path / "describe.txt")


def test_the_last_state_of_a_container_is_a_record_and_a_completed_one_is_none(tmp_path: Path) -> None:
    case = read(tmp_path, POD)
    assert case.events.select("line", "rule_id", "host", "exit_code", "time_utc").rows() == [
        (11, "k8s.oom_killed", "gpu-node-03", 137, datetime(2026, 10, 1, 9, 41, 10, tzinfo=UTC)),
        (24, "k8s.probe_failed", "gpu-node-03", None, None),
    ]
    told = {item["key"]: item["value"] for item in case.events.row(0, named=True)["fields"]}
    assert (told["pod"], told["container"], told["namespace"]) == ("trainer-4", "trainer", "ml")
    assert case.inventory.select("line", "component", "value").rows() == [
        (3, "pod", "ml/trainer-4"),
        (16, "restarts of trainer-4/trainer", "3"),
    ]


def test_only_conditions_that_are_not_well_are_records_of_a_node(tmp_path: Path) -> None:
    case = read(tmp_path, NODE)
    assert case.events.select("line", "rule_id", "host").rows() == [
        (8, "k8s.node_condition", "gpu-node-07"),
        (9, "k8s.node_not_ready", "gpu-node-07"),
    ]
    assert case.inventory.select("component", "value").rows() == [
        ("capacity nvidia.com/gpu", "8"),
        ("allocatable nvidia.com/gpu", "7"),
    ]


def test_a_text_that_begins_with_a_name_is_not_this_format() -> None:
    assert sniff(POD.encode()) > 0.9
    assert sniff(b"Name:   somebody\nText:   something\n") == 0.0


def test_a_message_over_several_lines_ends_no_section(tmp_path: Path) -> None:
    text = POD.replace(
        "      Reason:       OOMKilled\n      Exit Code:    137\n",
        "      Reason:       StartError\n      Message:      failed to create shim task: runc create failed\n"
        "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown\n"
        "      Exit Code:    128\n",
    ).replace("gpu-node-03/10.0.0.3", "<none>")
    (tmp_path / "pod.txt").write_text(text)
    rows = sorted(cl.read(tmp_path / "pod.txt").events.select("line", "rule_id", "exit_code", "host").rows())
    assert rows[:2] == [(11, "k8s.container_exit", 128, None), (13, "container.nvml_error", None, None)]
    assert [row[1] for row in rows[2:]] == ["k8s.probe_failed"]
