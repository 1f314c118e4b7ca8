"""`kubectl get events -o yaml`: the same events as the table and the JSON, one key per line.

Only lines are read, no document is built: a cut file keeps the events before the cut. A long message is folded over
further lines that are indented deeper than its key. Times are UTC. Source: kubectl get -o yaml; core/v1 and
events.k8s.io/v1 Event.
"""

import json
import re
from dataclasses import dataclass, field

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.parsers.kubernetes_events import write_event
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

_KEY = re.compile(r"(?P<indent> {0,40})(?P<dash>- )?(?P<key>[A-Za-z][\w.]{0,60}):(?: (?P<value>.*))?")
_LONGEST = 16 * 1024  # characters of one message


@dataclass
class _Scalar:
    """A value, where it began, and the text of that line."""

    line: int
    text: str
    indent: int
    value: str


@dataclass
class _Event:
    """The values of one event by path, and the keys that are open."""

    values: dict[str, _Scalar] = field(default_factory=dict[str, _Scalar])
    open: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    last: _Scalar | None = None

    def said(self, *paths: str) -> str:
        """The first of these values that is there."""
        return next((_plain(one.value) for path in paths if (one := self.values.get(path)) and one.value), "")


def sniff(head: bytes) -> float:
    """How surely `head` is such text, 0 to 1."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff\r\n")
    if text.startswith(("{", "[")) or not re.search(r"^ {0,4}-? ?apiVersion: ", text, re.MULTILINE):
        return 0.0
    about = re.search(r"^ {0,4}(?:involvedObject|regarding):\s*$", text, re.MULTILINE)
    return 0.96 if about and re.search(r"^ {0,4}reason: ", text, re.MULTILINE) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write the records of each event, as those of the other forms."""
    rows = RecordRows(out)
    event = _Event()
    for line, text in text_lines(member):
        found = _KEY.fullmatch(text)
        indent = len(text) - len(text.lstrip(" "))
        if event.last is not None and text.strip() and indent > event.last.indent and event.last.value:
            if len(event.last.value) < _LONGEST:
                event.last.value += " " + text.strip()
        elif found is not None:
            if found["dash"] and indent <= 2:
                _close(rows, event)
                event = _Event()
            _key(event, line, text, found)
    _close(rows, event)
    rows.close()


def _key(event: _Event, line: int, text: str, found: re.Match[str]) -> None:
    indent = len(found["indent"]) + (2 if found["dash"] else 0)
    event.open = [(depth, name) for depth, name in event.open if depth < indent]
    path = ".".join([*(name for _, name in event.open), found["key"]])
    event.last = _Scalar(line, text.strip(), indent, (found["value"] or "").strip())
    event.values[path] = event.last
    if not event.last.value:
        event.open.append((indent, found["key"]))


def _close(rows: RecordRows, event: _Event) -> None:
    reason, message = event.said("reason"), event.said("message", "note")
    if not reason or not (event.said("involvedObject.kind", "regarding.kind")):
        return
    place = event.values.get("message") or event.values.get("note") or event.values["reason"]
    kind, name = (
        event.said("involvedObject.kind", "regarding.kind"),
        event.said("involvedObject.name", "regarding.name"),
    )
    container = re.search(r"spec\.(?:init)?[cC]ontainers\{([\w.-]{1,63})\}", event.said("involvedObject.fieldPath"))
    stamp = event.said("lastTimestamp", "eventTime", "deprecatedLastTimestamp")
    write_event(
        rows, place.line, place.text,
        kind=event.said("type"), reason=reason, message=message, obj=f"{kind.lower()}/{name}",
        about={
            "namespace": event.said("involvedObject.namespace", "regarding.namespace"),
            "container": container[1] if container else "",
            "count": event.said("count", "deprecatedCount"),
        },
        stamp=f"{stamp} " if stamp and stamp != "null" else "",
        host=event.said("source.host") or None,
    )  # fmt: skip


def _plain(value: str) -> str:
    """A YAML scalar without its quotation marks; a block scalar without its mark."""
    if value == "null":
        return ""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value, strict=False))
        except ValueError:
            return value[1:-1]
    return re.sub(r"^[|>][+-]? ", "", value)


FORMAT = Format(
    "kubernetes_events_yaml", "Kubernetes events (YAML)", sniff, parse, ("events", "inventory", "clocks", "stamps")
)
