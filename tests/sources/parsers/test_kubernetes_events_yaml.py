"""Events as YAML: folded messages, both API versions, and a file that was cut."""

from pathlib import Path

import crashlens as cl
from crashlens.sources.parsers.kubernetes_events_yaml import sniff

LIST = """\
apiVersion: v1
items:
- apiVersion: v1
  count: 3
  involvedObject:
    kind: Pod
    name: trainer-0
    namespace: ml
  kind: Event
  lastTimestamp: "2026-10-01T10:00:00Z"
  message: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3
    nodes are available: 3 No preemption victims found for incoming pod.'
  reason: FailedScheduling
  source:
    component: default-scheduler
  type: Warning
- apiVersion: v1
  involvedObject:
    fieldPath: spec.containers{server}
    kind: Pod
    name: serve-1
    namespace: ml
  kind: Event
  lastTimestamp: "2026-10-01T10:01:00Z"
  message: Back-off restarting failed container server in pod
    serve-1_ml(1b2c)
  reason: BackOff
  source:
    component: kubelet
    host: gpu-node-07
  type: Warning
kind: List
metadata:
  resourceVersion: ""
"""
NEWER = """\
apiVersion: events.k8s.io/v1
eventTime: "2026-10-01T10:00:00.123456Z"
kind: Event
note: Failed to start
reason: FailedStart
regarding:
  kind: Node
  name: gpu-node-07
type: Warning
"""


def read(tmp_path: Path, text: str) -> cl.Case:
    (tmp_path / "events.yaml").write_text(text)
    return cl.read(tmp_path / "events.yaml")


def about(case: cl.Case, row: int) -> dict[str, str]:
    return {one["key"]: one["value"] for one in case.events.row(row, named=True)["fields"]}


def test_each_event_is_a_record_at_the_line_of_its_message(tmp_path: Path) -> None:
    case = read(tmp_path, LIST)
    assert case.events.select("line", "rule_id", "host").rows() == [
        (11, "k8s.failed_scheduling", None),
        (25, "k8s.restarting", "gpu-node-07"),
    ]
    assert about(case, 0)["short_resource"] == "nvidia.com/gpu"
    assert about(case, 0)["reasons"].endswith("3 No preemption victims found for incoming pod.")
    assert (about(case, 1)["pod"], about(case, 1)["container"]) == ("serve-1", "server")
    assert str(case.events["time_utc"][0]) == "2026-10-01 10:00:00+00:00"


def test_the_newer_api_names_its_fields_otherwise(tmp_path: Path) -> None:
    case = read(tmp_path, NEWER)
    assert case.events.select("line", "rule_id", "host").rows() == [(4, "k8s.event", "gpu-node-07")]
    assert (about(case, 0)["message"], about(case, 0)["reason"]) == ("Failed to start", "FailedStart")


def test_a_cut_file_keeps_the_events_before_the_cut(tmp_path: Path) -> None:
    assert read(tmp_path, LIST[: LIST.index("  reason: BackOff")]).events["line"].to_list() == [11]


def test_other_yaml_is_not_taken_for_it() -> None:
    assert sniff(b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n") == 0.0
    assert sniff(b"reason: Back\ninvolvedObject:\n") == 0.0
