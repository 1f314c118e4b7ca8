"""The status of pods as YAML and as JSON: `lastState` belongs to the name below it, `state` to the name above."""

from pathlib import Path

import crashlens as cl
from crashlens.sources.parsers.kubernetes_status import sniff

YAML = """\
apiVersion: v1
kind: Pod
metadata:
  labels:
    app: trainer
  name: trainer-0
  namespace: ml
  ownerReferences:
  - kind: Job
    name: owner
spec:
  nodeName: gpu-node-07
status:
  containerStatuses:
  - containerID: containerd://aa
    lastState:
      terminated:
        exitCode: 137
        finishedAt: "2026-10-01T09:41:10Z"
        reason: OOMKilled
    name: main
    state:
      waiting:
        reason: CrashLoopBackOff
  - lastState: {}
    name: side
    state:
      terminated:
        exitCode: 1
        finishedAt: "2026-10-01T09:41:12Z"
        reason: Error
"""
JSON = """\
{
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "trainer-1",
        "namespace": "ml"
    },
    "spec": {
        "nodeName": "gpu-node-08"
    },
    "status": {
        "containerStatuses": [
            {
                "lastState": {
                    "terminated": {
                        "exitCode": 137,
                        "finishedAt": "2026-10-01T09:41:10Z",
                        "reason": "Error"
                    }
                },
                "name": "main",
                "state": {
                    "running": {}
                }
            }
        ]
    }
}
"""


def rows(tmp_path: Path, text: str) -> list[tuple[object, ...]]:
    (tmp_path / "pod.txt").write_text(text)
    events = cl.read(tmp_path / "pod.txt").events
    told = [{item["key"]: item["value"] for item in row["fields"]} for row in events.iter_rows(named=True)]
    return [
        (*row, cells["pod"], cells.get("container"))
        for row, cells in zip(events.select("line", "rule_id", "host", "exit_code").rows(), told, strict=True)
    ]


def test_endings_of_both_containers_have_their_names(tmp_path: Path) -> None:
    assert rows(tmp_path, YAML) == [
        (20, "k8s.oom_killed", "gpu-node-07", 137, "trainer-0", "main"),
        (31, "k8s.container_exit", "gpu-node-07", 1, "trainer-0", "side"),
    ]


def test_json_reads_as_yaml_does(tmp_path: Path) -> None:
    assert rows(tmp_path, JSON) == [(18, "k8s.container_exit", "gpu-node-08", 137, "trainer-1", "main")]


def test_a_cut_file_keeps_what_stands_before_the_cut(tmp_path: Path) -> None:
    cut = YAML[: YAML.index("  - lastState: {}")]
    assert rows(tmp_path, cut) == [(20, "k8s.oom_killed", "gpu-node-07", 137, "trainer-0", "main")]


def test_a_manifest_of_another_kind_is_not_this_format() -> None:
    assert sniff(YAML.encode()) > 0.9
    assert sniff(YAML.replace("kind: Pod", "kind: Service").encode()) == 0.0


REFUSED = """\
kind: PodList
apiVersion: v1
items:
- metadata:
    name: trainer-0
    namespace: ml
  spec:
    nodeName: gpu-node-07
  status:
    message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available:
      80Mi. '
    reason: Evicted
- metadata:
    name: serve-0
  spec:
    nodeName: gpu-node-08
  status:
    containerStatuses:
    - name: server
      state:
        waiting:
          message: 'failed to create containerd task: runc create failed

            nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8'
          reason: RunContainerError
"""


def test_what_is_said_of_a_pod_or_of_a_container_that_waits(tmp_path: Path) -> None:
    assert rows(tmp_path, REFUSED) == [
        (10, "k8s.evicted", "gpu-node-07", None, "trainer-0", None),
        (12, "k8s.evicted", "gpu-node-07", None, "trainer-0", None),
        (22, "container.driver_requirement", "gpu-node-08", None, "serve-0", "server"),
    ]


def test_pods_as_json_on_one_line(tmp_path: Path) -> None:
    ended = '{"name":"main","lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}'
    pod = f'"metadata":{{"name":"a-0"}},"spec":{{"nodeName":"gpu-node-07"}},"status":{{"containerStatuses":[{ended}]}}'
    text = f'{{"apiVersion":"v1","kind":"Pod",{pod}}}\n'
    assert rows(tmp_path, text) == [(1, "k8s.oom_killed", "gpu-node-07", 137, "a-0", "main")]
