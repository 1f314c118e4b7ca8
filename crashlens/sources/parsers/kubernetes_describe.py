"""`kubectl describe pod|node`: who it is, how its containers ended, what the node offers, and its events.

The text is indented `Key:  value`; a container's name stands two deep under `Containers:`. Ages of events are relative
to when the text was made; `Started:` and `Finished:` carry an offset. Source: kubectl describe.
"""

import re
from dataclasses import dataclass, field

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

_KEY = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z][\w ./-]{0,60}):(?: +(?P<value>\S.*?))?\s*")
_EVENT = re.compile(
    r" {2}(?P<type>Normal|Warning) {1,20}(?P<reason>[A-Z]\w{1,60}) {1,20}"
    r"(?P<age>\S{1,20}(?: \(x\d{1,9} over \S{1,20}\))?) {1,20}"
    r"(?P<source>\S{1,80}(?:, \S{1,80})?) {1,20}(?P<message>\S.*)"
)
_NODE_CONDITION = re.compile(
    r" {2}(?P<condition>[A-Z]\w{2,60}) {1,30}(?P<value>True|False|Unknown) {1,30}(?P<rest>\S.*)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = re.compile(r"\w{3}, (\d\d?) (\w{3}) (\d{4}) (\d\d:\d\d:\d\d) ([+-]\d{4})")
# What stands at the left edge; anything else there, below a container, goes on with a message.
_TOP = {
    "Addresses", "Allocatable", "Allocated resources", "Annotations", "Capacity", "Conditions", "Containers",
    "Controlled By", "CreationTimestamp", "Ephemeral Containers", "Events", "ExternalID", "IP", "IPs",
    "Init Containers", "Labels", "Lease", "Message", "Name", "Namespace", "Node", "Node-Selectors", "NominatedNodeName",
    "Non-terminated Pods", "PodCIDR", "PodCIDRs", "Priority", "Priority Class Name", "ProviderID", "QoS Class",
    "Readiness Gates", "Reason", "Resource Claims", "Roles", "Runtime Class Name", "SeccompProfile", "Security Context",
    "Service Account", "Start Time", "Status", "System Info", "Taints", "Termination Grace Period", "Tolerations",
    "Topology Spread Constraints", "Unschedulable", "Volumes",
}  # fmt: skip
_OF_STATE = {"Reason", "Exit Code", "Signal", "Started", "Finished", "Message"}
_GOOD = {"Ready": "True"}  # of every other condition of a node, True is what is wrong


@dataclass
class _Ending:
    """The last state of a container, as far as it was read."""

    line: int
    text: str
    words: dict[str, str] = field(default_factory=dict[str, str])
    lines: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])


@dataclass
class _Reader:
    """Where in the text we are: pod or node, section, container, state."""

    rows: RecordRows
    name: str = ""
    host: str | None = None
    namespace: str = ""
    section: str = ""
    container: str = ""
    ending: _Ending | None = None
    in_message: bool = False


def sniff(head: bytes) -> float:
    """How surely `head` is such text, 0 to 1."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff\r\n")
    if not re.match(r"Name: {2,}\S", text):
        return 0.0
    keys = {found["key"] for line in text.split("\n")[:400] if (found := _KEY.fullmatch(line)) and not found["indent"]}
    return (
        0.95
        if len(keys & {"Namespace", "Labels", "Annotations", "Containers", "Conditions", "Events", "Status"}) >= 2
        else 0.0
    )


def parse(member: Member, out: TableWriter) -> None:
    """Write how containers ended, conditions of a node that are not well, what it offers, and the events below."""
    reader = _Reader(RecordRows(out))
    for line, text in text_lines(member):
        _line(reader, line, text)
    _end(reader)
    reader.rows.close()


def _line(reader: _Reader, line: int, text: str) -> None:
    if reader.section == "Events" and (event := _EVENT.fullmatch(text)):
        _event(reader, line, text, event)
        return
    if reader.section == "Conditions" and (condition := _NODE_CONDITION.fullmatch(text)):
        _condition(reader, line, text, condition)
        return
    found = _KEY.fullmatch(text)
    inside = reader.section.endswith("Containers")
    if found is None or (inside and not found["indent"] and found["key"] not in _TOP):
        if reader.in_message and text.strip():
            reader.rows.message(text.strip(), line, text, _identity(reader), host=reader.host)
        return
    depth, key, value = len(found["indent"]), found["key"], found["value"] or ""
    if depth == 0:
        _end(reader)
        reader.section, reader.container = key, ""
        _head(reader, line, key, value)
    elif depth == 2 and reader.section.endswith("Containers"):
        _end(reader)
        reader.container = key
    elif reader.section in {"Capacity", "Allocatable"} and depth == 2:
        reader.rows.fact(line, reader.host, f"{reader.section.lower()} {key}", value)
    elif reader.section.endswith("Containers"):
        _state(reader, line, text, key, value)


def _head(reader: _Reader, line: int, key: str, value: str) -> None:
    if key == "Name":
        reader.name, reader.host, reader.namespace = value, None, ""
    elif key == "Namespace":
        reader.namespace = value
    elif key == "Node":
        name = value.split("/", maxsplit=1)[0]
        reader.host = None if name in {"", "<none>"} else name
        reader.rows.fact(line, reader.host, "pod", f"{reader.namespace}/{reader.name}")
    elif key == "Roles":
        reader.host = reader.name  # only a node has roles
    elif key in {"Reason", "Message"} and value:
        text = f"{key}: {value}"
        reader.rows.message(f" {text}", line, text, _identity(reader), host=reader.host)


def _state(reader: _Reader, line: int, text: str, key: str, value: str) -> None:
    reader.in_message = key == "Message" or (
        reader.in_message and key not in {*_OF_STATE, "State", "Last State", "Ready"}
    )
    if reader.in_message:
        said = value if key == "Message" else text.strip()
        reader.rows.message(said, line, text, _identity(reader), host=reader.host)
    if key in {"State", "Last State"}:
        _end(reader)
        reader.ending = _Ending(line, text, {"state": value}) if value == "Terminated" else None
    elif reader.ending is not None and key in _OF_STATE:
        reader.ending.words[key] = value
        reader.ending.lines[key] = (line, text)
    elif key in {"Limits", "Requests", "Ready", "Restart Count"}:
        _end(reader)
        if key == "Restart Count":
            reader.rows.fact(line, reader.host, f"restarts of {reader.name}/{reader.container}", value)


def _end(reader: _Reader) -> None:
    """Write the ending of a container, once all that is said of it was read."""
    ending, reader.ending = reader.ending, None
    if ending is None:
        return
    words = ending.words
    reason, code = words.get("Reason", ""), words.get("Exit Code", "")
    if reason == "Completed" and code == "0":
        return
    rule_id = "k8s.oom_killed" if reason == "OOMKilled" else "k8s.container_exit"
    line, text = ending.lines.get("Reason") or ending.lines.get("Exit Code") or (ending.line, ending.text)
    about = {**_identity(reader), "exit_code": code, "reason": reason, "finished": words.get("Finished", "")}
    reader.rows.state(rule_id, line, text, about, stamp=_stamp(words.get("Finished", "")), host=reader.host)


def _event(reader: _Reader, line: int, text: str, event: re.Match[str]) -> None:
    kind, reason, message = event["type"], event["reason"], event["message"]
    about = {**_identity(reader), "reason": reason, "type": kind, "last_seen": event["age"], "message": message[:400]}
    found = reader.rows.message(f"{kind}  {reason}  {message}", line, text, about, host=reader.host)
    if not found and kind == "Warning":
        reader.rows.state("k8s.event", line, text, about, host=reader.host)


def _condition(reader: _Reader, line: int, text: str, condition: re.Match[str]) -> None:
    name, value = condition["condition"], condition["value"]
    wrong = value == "Unknown" or value != _GOOD.get(name, "False")
    if not wrong or reader.host != reader.name:  # the conditions of a pod are no faults
        return
    rule_id = "k8s.node_not_ready" if name == "Ready" else "k8s.node_condition"
    about = {"condition": name, "value": value, "message": condition["rest"][-300:]}
    reader.rows.state(rule_id, line, text, about, host=reader.host)


def _identity(reader: _Reader) -> dict[str, str]:
    pod = "" if reader.host == reader.name else reader.name
    return {"pod": pod, "container": reader.container, "namespace": reader.namespace}


def _stamp(text: str) -> str:
    found = _TIME.fullmatch(text)
    if not found or found[2] not in _MONTHS:
        return ""
    return f"{found[3]}-{_MONTHS.index(found[2]) + 1:02d}-{int(found[1]):02d}T{found[4]}{found[5]} "


FORMAT = Format(
    "kubernetes_describe",
    "Kubernetes pod or node (describe)",
    sniff,
    parse,
    ("events", "inventory", "clocks", "stamps"),
)
