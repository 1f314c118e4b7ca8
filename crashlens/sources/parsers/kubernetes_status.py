"""`kubectl get pod -o yaml|json`: how the containers of each pod ended, as their status says.

Both forms print one key per line in alphabetical order, so `lastState` stands before the `name` it belongs to and
`state` behind it. Only lines are read, no document is built: a cut file keeps the pods before the cut. Times are UTC.
Source: core/v1 PodStatus.
"""

import re
from dataclasses import dataclass, field

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.json_objects import many, read_document, table
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

_KEY = re.compile(r'(?P<indent>[ -]*)"?(?P<key>[A-Za-z]\w{0,60})"?: ?(?P<value>.*?),?\s*')
_ONE_LINE = re.compile(
    r'^[^\n"]{0,4}(?:"[^\n]{0,2000})?"kind": ?"Pod(?:List)?",[^\n]{0,4}"', re.MULTILINE
)  # compact JSON
_STATES = {"lastState", "state"}
_ENTRY = {2, 8}  # how much deeper the keys of a container status stand than the list: YAML, JSON
_LONGEST = 16 * 1024  # characters of one message
_OF_ENDING = {"exitCode", "reason", "finishedAt", "startedAt", "signal", "message"}


@dataclass
class _Ending:
    """One `terminated` block."""

    line: int
    text: str
    words: dict[str, str] = field(default_factory=dict[str, str])
    lines: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])


@dataclass
class _Said:
    """A reason or a message, of the pod or of a container that waits; a long one is folded over further lines."""

    line: int
    text: str
    indent: int
    value: str
    container: str = ""


@dataclass
class _Pod:
    """The pod that is being read, and the container of its status."""

    name: str = ""
    namespace: str = ""
    host: str | None = None
    container: str = ""
    waiting: list[_Ending] = field(default_factory=list[_Ending])
    said: list[_Said] = field(default_factory=list["_Said"])


@dataclass
class _Place:
    """Where in the document we are: indents of the blocks that are open."""

    metadata: int | None = None
    statuses: int | None = None
    state: int | None = None
    status: int | None = None
    saying: _Said | None = None
    ending: tuple[int, _Ending] | None = None


def sniff(head: bytes) -> float:
    """How surely `head` is the status of pods, 0 to 1."""
    text = head.decode("utf-8", "replace")
    pod = re.search(r'^\s*"?kind"?: ?"?Pod(?:List)?"?,?\s*$', text, re.MULTILINE)
    if pod is None and _ONE_LINE.search(text) and '"containerStatuses"' in text:
        return 0.95
    return 0.95 if pod and re.search(r'^\s*"?apiVersion"?:', text, re.MULTILINE) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per ended container, and which pod runs on which node."""
    rows = RecordRows(out)
    if _ONE_LINE.search(member.head().decode("utf-8", "replace")):
        _parse_objects(member, out, rows)
        rows.close()
        return
    pod, place = _Pod(), _Place()
    for line, text in text_lines(member):
        found = _KEY.fullmatch(text)
        saying = place.saying
        if saying is not None and (not text.strip() or len(text) - len(text.lstrip(" ")) > saying.indent):
            saying.value = f"{saying.value} {text.strip()}"[:_LONGEST]
            continue
        place.saying = None
        if found is not None:
            value = found["value"].strip().strip('"').strip("'")
            pod = _read((rows, pod, place), (line, text), (len(found["indent"]), found["key"], value))
    _close_ending(rows, pod, place)
    _flush(rows, pod)
    _tell(rows, pod)
    rows.close()


def _parse_objects(member: Member, out: TableWriter, rows: RecordRows) -> None:
    """Pods printed as JSON without line breaks between their keys, as `jq -c` leaves them."""
    document = read_document(member, out)
    for found in document.objects("items", out):
        about, status = table(found.item, "metadata"), table(found.item, "status")
        pod = _Pod(str(about.get("name") or ""), str(about.get("namespace") or ""))
        pod.host = str(table(found.item, "spec").get("nodeName") or "") or None
        for one in [*many(status, "initContainerStatuses"), *many(status, "containerStatuses")]:
            pod.container = str(one.get("name") or "")
            for words in (table(table(one, state), "terminated") for state in ("lastState", "state")):
                line, text = document.place(found, str(words.get("reason") or "terminated"))
                said = {key: str(words[key]) for key in _OF_ENDING if words.get(key) is not None}
                pod.waiting += [_Ending(line, text, said)] if words else []
            _flush(rows, pod)
        line, text = document.place(found, str(status.get("message") or "message"))
        pod.said = [_Said(line, text, 0, str(said)) for key in ("reason", "message") if (said := status.get(key))]
        _tell(rows, pod)


def _read(state: tuple[RecordRows, _Pod, _Place], at: tuple[int, str], key: tuple[int, str, str]) -> _Pod:
    rows, pod, place = state
    line, text = at
    indent, name, value = key
    if place.ending is not None:
        if indent > place.ending[0]:
            _word(place.ending[1], line, text, name, value)
            return pod
        _close_ending(rows, pod, place)
    if name == "metadata" and value in {"", "{"}:
        if place.metadata is None or indent <= place.metadata:  # the metadata of the next pod, not of what it owns
            _flush(rows, pod)
            _tell(rows, pod)
            pod = _Pod()
            place.metadata, place.statuses, place.status, place.state = indent, None, None, None
    elif name in {"containerStatuses", "initContainerStatuses"}:
        place.statuses = indent
    elif name == "status" and value in {"", "{"} and indent == place.metadata:
        place.status = indent
    elif name in {"reason", "message"} and value and place.status is not None and _is_below(indent, place.status):
        _say(pod, place, at, key)
    elif name == "nodeName":
        pod.host = value or None
        rows.fact(line, pod.host, "pod", f"{pod.namespace}/{pod.name}")
    elif place.statuses is None:
        _identity(pod, place, indent, name, value)
    elif name in _STATES:
        place.state = indent
        pod.container = "" if name == "lastState" else pod.container
    elif name == "message" and value and place.state is not None and indent > place.state:
        _say(pod, place, at, key)  # of a container that waits
    elif name == "terminated" and value in {"", "{"}:
        place.ending = (indent, _Ending(line, text))
    elif name == "name" and (indent == place.state or (place.state is None and indent - place.statuses in _ENTRY)):
        pod.container = value
        _flush(rows, pod)
    return pod


def _is_below(indent: int, parent: int) -> bool:
    """Whether a key is a direct child: YAML indents by two, JSON by four."""
    return indent - parent in {2, 4}


def _say(pod: _Pod, place: _Place, at: tuple[int, str], key: tuple[int, str, str]) -> None:
    indent, name, value = key
    said = value if name == "message" else f" Reason: {value}"
    place.saying = _Said(at[0], at[1].strip(), indent, said, pod.container)
    pod.said.append(place.saying)


def _identity(pod: _Pod, place: _Place, indent: int, name: str, value: str) -> None:
    if place.metadata is not None and indent == place.metadata + (2 if indent - place.metadata == 2 else 4):
        pod.name = value if name == "name" and not pod.name else pod.name
        pod.namespace = value if name == "namespace" and not pod.namespace else pod.namespace


def _word(ending: _Ending, line: int, text: str, name: str, value: str) -> None:
    if name in _OF_ENDING:
        ending.words[name] = value
        ending.lines[name] = (line, text.strip())


def _close_ending(rows: RecordRows, pod: _Pod, place: _Place) -> None:
    if place.ending is not None:
        pod.waiting.append(place.ending[1])
        place.ending = None
        if pod.container:
            _flush(rows, pod)


def _flush(rows: RecordRows, pod: _Pod) -> None:
    """Write the endings whose container is known by now."""
    for ending in pod.waiting:
        words = ending.words
        reason, code = words.get("reason", ""), words.get("exitCode", "")
        if reason == "Completed" and code == "0":
            continue
        line, text = ending.lines.get("reason") or ending.lines.get("exitCode") or (ending.line, ending.text.strip())
        about = {
            "pod": pod.name, "namespace": pod.namespace, "container": pod.container, "exit_code": code,
            "reason": reason, "finished": words.get("finishedAt", ""),
        }  # fmt: skip
        rule_id = "k8s.oom_killed" if reason == "OOMKilled" else "k8s.container_exit"
        stamp = f"{words['finishedAt']} " if words.get("finishedAt") else ""
        rows.state(rule_id, line, text, about, stamp=stamp, host=pod.host)
    pod.waiting = []


def _tell(rows: RecordRows, pod: _Pod) -> None:
    """Let the line rules read what was said of the pod and of containers that wait."""
    for one in pod.said:
        about = {"pod": pod.name, "namespace": pod.namespace, "container": one.container}
        rows.message(one.value.strip("'\""), one.line, one.text, about, host=pod.host)
    pod.said = []


FORMAT = Format(
    "kubernetes_status", "Kubernetes pods (YAML or JSON)", sniff, parse, ("events", "inventory", "clocks", "stamps")
)
