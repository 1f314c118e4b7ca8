"""Kubernetes events: the table of `kubectl get events`, and event lists as JSON (`-o json`, exporters' JSON lines).

The table prints ages relative to when it was made (`4m12s`), so its rows have no time of their own; the JSON form has
UTC stamps. Each message is searched by the line rules as `TYPE  REASON  OBJECT  MESSAGE`; pod, node and container
become fields of the record. Source: kubectl get events; core/v1 and events.k8s.io/v1 Event.
"""

import re

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.json_objects import Document, Found, read_document, table
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

_COLUMNS = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_HEADER = re.compile(r"(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +OBJECT +.*\bMESSAGE\b")
_NAMES = re.compile(r"[A-Z][A-Z ]*?(?= {2,}|$)")


def sniff(head: bytes) -> float:
    """How surely `head` is a list of events, 0 to 1."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    first = text.split("\n", 1)[0]
    if _HEADER.match(first):
        return 0.95
    if not text.startswith(("{", "[")) or ('"involvedObject"' not in text and '"regarding"' not in text):
        return 0.0
    return 0.95 if '"reason"' in text else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write the records of each event; a warning that no rule knows is a record of `k8s.event`."""
    rows = RecordRows(out)
    if member.head().lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["}:
        _parse_json(member, out, rows)
    else:
        _parse_table(member, out, rows)
    rows.close()


def _parse_table(member: Member, out: TableWriter, rows: RecordRows) -> None:
    starts: dict[str, int] = {}
    for line, text in text_lines(member):
        if _HEADER.match(text):
            starts = {found.group().strip(): found.start() for found in _NAMES.finditer(text)}
        elif starts and text.strip():
            cells = _cells(text, starts)
            if not cells.get("REASON") or not cells.get("OBJECT"):
                out.unread(line, "it does not fit its header")
                continue
            write_event(
                rows, line, text,
                kind=cells.get("TYPE", ""), reason=cells["REASON"], obj=cells["OBJECT"],
                message=cells.get("MESSAGE", ""),
                about={"last_seen": cells.get("LAST SEEN", ""), "namespace": cells.get("NAMESPACE", "")},
            )  # fmt: skip


def _cells(text: str, starts: dict[str, int]) -> dict[str, str]:
    """Cells by the place of their column; where a cell is longer than its column, by stretches of spaces."""
    edges = sorted(starts.items(), key=lambda item: item[1])
    bounds = [*(start for _, start in edges), len(text)]
    if all(start == 0 or start > len(text) or text[start - 1] == " " for _, start in edges):
        return {name: text[bounds[n] : bounds[n + 1]].strip() for n, (name, _) in enumerate(edges)}
    parts = re.split(r" {2,}", text.strip(), maxsplit=len(edges) - 1)
    return dict(zip((name for name, _ in edges), parts, strict=False))


def _parse_json(member: Member, out: TableWriter, rows: RecordRows) -> None:
    document = read_document(member, out)
    for item in document.objects("items", out):
        _json_event(rows, document, item)


def _json_event(rows: RecordRows, document: Document, found: Found) -> None:
    item = found.item if "reason" in found.item else table(found.item, "object")  # a watch wraps each event
    about = table(item, "involvedObject") or table(item, "regarding")
    message = str(item.get("message") or item.get("note") or "")
    reason = str(item.get("reason") or "")
    if not reason:
        return
    at, shown = document.place(found, message or reason)
    container = re.search(r"spec\.(?:init)?[cC]ontainers\{([\w.-]{1,63})\}", str(about.get("fieldPath") or ""))
    stamp = next(
        (str(item[key]) for key in ("lastTimestamp", "eventTime", "deprecatedLastTimestamp") if item.get(key)), ""
    )
    write_event(
        rows, at, shown,
        kind=str(item.get("type") or ""), reason=reason, message=message,
        obj=f"{str(about.get('kind') or '').lower()}/{about.get('name') or ''}",
        about={
            "namespace": str(about.get("namespace") or ""),
            "container": container[1] if container else "",
            "count": str(item.get("count") or item.get("deprecatedCount") or ""),
        },
        stamp=f"{stamp} " if stamp else "",
        host=str(table(item, "source").get("host") or "") or None,
    )  # fmt: skip


def write_event(
    rows: RecordRows, line: int, text: str, *, kind: str, reason: str, obj: str, message: str, about: dict[str, str],
    stamp: str = "", host: str | None = None,
) -> None:  # fmt: skip
    """The records that the line rules find in one event; a warning that none of them knows is one of `k8s.event`.

    Args:
        rows: Where they go.
        line: Line that holds the message.
        text: What stands there.
        kind: Normal or Warning.
        reason: Reason of the event.
        obj: What it is about, as `pod/NAME`.
        message: Its message.
        about: Further captures.
        stamp: Its time as the source writes it, or "".
        host: Node that reported it.
    """
    what, _, name = obj.partition("/")
    identity = {
        "reason": reason,
        "object": obj,
        "pod": name if what == "pod" else "",
        "host": name if what == "node" else "",
        "type": kind,
        "message": message[:400],
        **about,
    }
    found = rows.message(f"{kind}  {reason}  {obj}  {message}", line, text, identity, stamp=stamp, host=host)
    if not found and kind == "Warning":
        rows.state("k8s.event", line, text, identity, stamp=stamp, host=host)


FORMAT = Format("kubernetes_events", "Kubernetes events", sniff, parse, ("events", "clocks", "stamps"))
