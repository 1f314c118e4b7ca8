"""Events as a table and as JSON: the same rules read the messages, and who it is about goes into columns and fields."""

from datetime import UTC, datetime
from pathlib import Path

import crashlens as cl
from crashlens.sources.parsers.kubernetes_events import sniff

TABLE = """\
NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT            MESSAGE
ml          4m12s       Warning   FailedScheduling   pod/trainer-0     0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 node(s) had taints.
ml          2m          Warning   FailedMount        pod/trainer-1     MountVolume.SetUp failed for volume "data"
ml          2m          Normal    Pulled             pod/trainer-1     Container image already present
"""
JSON = """\
{
    "apiVersion": "v1",
    "items": [
        {
            "involvedObject": {"kind": "Pod", "name": "trainer-0", "namespace": "ml", "fieldPath": "spec.containers{main}"},
            "lastTimestamp": "2026-10-01T09:00:00Z",
            "message": "The node was low on resource: memory. Threshold quantity: 100Mi",
            "reason": "Evicted",
            "type": "Warning",
            "source": {"host": "gpu-node-01"}
        },
        {
            "involvedObject": {"kind": "Node", "name": "gpu-node-01"},
            "lastTimestamp": "2026-10-01T09:00:01Z",
            "message": "Memory cgroup out of memory: Killed process 48211 (python3) total-vm:9kB",
            "reason": "OOMKilling",
            "type": "Warning"
        }
    ],
    "kind": "List"
}
"""


def read(tmp_path: Path, text: str) -> cl.Case:
    (tmp_path / "events.txt").write_text(text)
    return cl.read(tmp_path / "events.txt")


def fields(case: cl.Case, row: int) -> dict[str, str]:
    return {item["key"]: item["value"] for item in case.events.row(row, named=True)["fields"]}


def test_a_row_of_the_table_has_no_time_and_names_its_pod(tmp_path: Path) -> None:
    case = read(tmp_path, TABLE)
    assert case.events.select("line", "rule_id", "time_utc").rows() == [
        (2, "k8s.failed_scheduling", None),
        (3, "k8s.event", None),
    ]
    told = fields(case, 0)
    assert (told["pod"], told["namespace"], told["last_seen"]) == ("trainer-0", "ml", "4m12s")
    assert (told["short_nodes"], told["short_resource"]) == ("3", "nvidia.com/gpu")
    assert fields(case, 1)["reason"] == "FailedMount"


def test_an_event_of_a_json_list_stands_at_the_line_of_its_message(tmp_path: Path) -> None:
    case = read(tmp_path, JSON)
    assert case.events.select("line", "rule_id", "host", "pid", "time_utc").rows() == [
        (7, "k8s.evicted", "gpu-node-01", None, datetime(2026, 10, 1, 9, 0, 0, tzinfo=UTC)),
        (15, "k8s.oom_event", "gpu-node-01", 48211, datetime(2026, 10, 1, 9, 0, 1, tzinfo=UTC)),
    ]
    told = fields(case, 0)
    assert (told["pod"], told["container"], told["resource"]) == ("trainer-0", "main", "memory")
    assert case.events["text"][0] == '"message": "The node was low on resource: memory. Threshold quantity: 100Mi",'


def test_events_one_per_line_are_read_and_a_cut_object_is_said(tmp_path: Path) -> None:
    one = '{"kind":"Event","type":"Warning","reason":"Evicted","involvedObject":{"kind":"Pod","name":"p0"},"message":"The node was low on resource: memory."}'
    case = read(tmp_path, f"{one}\n{one.replace('p0', 'p1')}\n{one[:60]}\n")
    assert case.events.select("line", "rule_id").rows() == [(1, "k8s.evicted"), (2, "k8s.evicted")]
    assert [fields(case, row)["pod"] for row in range(2)] == ["p0", "p1"]
    assert case.sources["notices"][0].to_list() == ["The object at line 3 is no whole JSON; what follows was not read."]


def test_other_json_is_not_this_format() -> None:
    assert sniff(TABLE.encode()) > 0.9
    assert sniff(JSON.encode()) > 0.9
    assert sniff(b'{"findings": [], "reason": "none"}') == 0.0
    assert sniff(b"") == 0.0
