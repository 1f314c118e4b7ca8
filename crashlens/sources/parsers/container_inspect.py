"""`docker inspect`, `podman inspect` and `crictl inspect`: how a container ended, as its runtime keeps it.

Docker's flag `OOMKilled` says that the kernel killed a process of the container at its memory limit, the first one or a
child. CRI runtimes say the same by the reason `OOMKilled`. Times are UTC. Source: moby api/types/container State;
Kubernetes CRI API, ContainerStatus.
"""

from typing import Any

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.json_objects import Document, Found, read_document, table
from crashlens.sources.record_rows import RecordRows
from crashlens.sources.writer import TableWriter

_NEVER = "0001-01-01"  # how Go prints a time that was not set


def sniff(head: bytes) -> float:
    """How surely `head` is such a document, 0 to 1."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith(("[", "{")):
        return 0.0
    docker = all(word in text for word in ('"State"', '"OOMKilled"', '"ExitCode"'))
    cri = all(word in text for word in ('"status"', '"CONTAINER_', '"exitCode"'))
    return 0.95 if docker or cri else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per container that ended with an error or lost a process at its limit."""
    rows = RecordRows(out)
    document = read_document(member, out)
    for found in document.objects("containers", out):
        if state := table(found.item, "State"):
            _docker(rows, document, found, state)
        elif status := table(found.item, "status"):
            _cri(rows, document, found, status)
    rows.close()


def _docker(rows: RecordRows, document: Document, found: Found, state: dict[str, Any]) -> None:
    code = state.get("ExitCode")
    about = {
        "container": str(found.item.get("Name") or found.item.get("Id") or "").lstrip("/"),
        "exit_code": "" if code is None else str(code),
        "status": str(state.get("Status") or ""),
        "finished": _time(state.get("FinishedAt")),
    }
    stamp = f"{about['finished']} " if about["finished"] else ""
    behind = max(document.text.find('"State"', found.start, found.end), found.start)
    killed = state.get("OOMKilled") is True
    if killed or code:
        line, text = document.place(found, "OOMKilled" if killed else "ExitCode", behind=behind)
        rows.state("container.oom_killed" if killed else "container.exited", line, text, about, stamp=stamp)
    if error := str(state.get("Error") or ""):
        line, text = document.place(found, error, behind=behind)
        rows.message(error, line, text, about, stamp=stamp)


def _cri(rows: RecordRows, document: Document, found: Found, status: dict[str, Any]) -> None:
    if not str(status.get("state") or "").endswith("EXITED"):
        return
    labels, code = table(status, "labels"), status.get("exitCode")
    reason = str(status.get("reason") or "")
    about = {
        "container": str(table(status, "metadata").get("name") or ""),
        "pod": str(labels.get("io.kubernetes.pod.name") or ""),
        "namespace": str(labels.get("io.kubernetes.pod.namespace") or ""),
        "pod_uid": str(labels.get("io.kubernetes.pod.uid") or ""),
        "exit_code": "" if code is None else str(code),
        "reason": reason,
        "finished": _time(status.get("finishedAt")),
    }
    stamp = f"{about['finished']} " if about["finished"] else ""
    if code or reason == "OOMKilled":
        line, text = document.place(found, reason or "exitCode")
        rule_id = "k8s.oom_killed" if reason == "OOMKilled" else "k8s.container_exit"
        rows.state(rule_id, line, text, about, stamp=stamp)
    if message := str(status.get("message") or ""):
        line, text = document.place(found, message)
        rows.message(message, line, text, about, stamp=stamp)


def _time(value: object) -> str:
    text = str(value or "")
    return "" if text.startswith(_NEVER) or text == "0" else text


FORMAT = Format(
    "container_inspect", "containers (docker, podman or crictl inspect)", sniff, parse, ("events", "clocks", "stamps")
)
