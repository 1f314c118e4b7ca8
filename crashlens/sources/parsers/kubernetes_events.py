"""Kubernetes events: the table of `kubectl get events`, and event lists as JSON (`-o json`, exporters' JSON lines).

The table prints ages relative to when it was made (`4m12s`), so its rows have no time of their own; the JSON form has
UTC stamps. Each message is searched by the line rules as `TYPE  REASON  OBJECT  MESSAGE`; pod, node and container
become fields of the record. Source: kubectl get events; core/v1 and events.k8s.io/v1 Event.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

MOST_JSON = 64 * 1024**2  # characters of one JSON document that are held at a time
_COLUMNS = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_HEADER = re.compile(r"(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +OBJECT +.*\bMESSAGE\b")
_NAMES = re.compile(r"[A-Z][A-Z ]*?(?= {2,}|$)")
_LIST = re.compile(r'\{\s*"(?:apiVersion|kind|items|metadata)"')


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
            _event(
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
    parts: list[str] = []
    size = 0
    for block in member.blocks():
        size += len(block.data)
        if size <= MOST_JSON:
            parts.append(block.data.decode("utf-8", "replace"))
    if size > MOST_JSON:
        out.notice(f"It is longer than {MOST_JSON // 1024**2} MiB; what comes later was not read.")
    text = "\n".join(part.removesuffix("\n") for part in parts)
    for start, end, item in _objects(text, out):
        _json_event(rows, text, (start, end), item)


def _objects(text: str, out: TableWriter) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Each event object with where it starts and ends: items of a list, or objects one after another."""
    decoder = json.JSONDecoder()
    at = _first_item(text)
    while True:
        at = text.find("{", at)
        if at < 0:
            return
        try:
            item, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            out.notice(
                f"The object at line {text.count(chr(10), 0, at) + 1} is no whole JSON; what follows was not read."
            )
            return
        if isinstance(item, dict):
            yield at, end, cast("dict[str, Any]", item)
        at = end


def _first_item(text: str) -> int:
    """Where the first event starts: behind `"items": [` of a list, else at the beginning."""
    found = re.search(r'"items"\s*:\s*\[', text[:100_000]) if _LIST.match(text.lstrip()) else None
    return found.end() if found else 0


def _json_event(rows: RecordRows, text: str, where: tuple[int, int], item: dict[str, Any]) -> None:
    item = item if "reason" in item else _table(item, "object")  # a watch wraps each event
    about = _table(item, "involvedObject") or _table(item, "regarding")
    message = str(item.get("message") or item.get("note") or "")
    reason = str(item.get("reason") or "")
    if not reason:
        return
    at, shown = _place(text, where, message or reason)
    container = re.search(r"spec\.(?:init)?[cC]ontainers\{([\w.-]{1,63})\}", str(about.get("fieldPath") or ""))
    stamp = next(
        (str(item[key]) for key in ("lastTimestamp", "eventTime", "deprecatedLastTimestamp") if item.get(key)), ""
    )
    _event(
        rows, at, shown,
        kind=str(item.get("type") or ""), reason=reason, message=message,
        obj=f"{str(about.get('kind') or '').lower()}/{about.get('name') or ''}",
        about={
            "namespace": str(about.get("namespace") or ""),
            "container": container[1] if container else "",
            "count": str(item.get("count") or item.get("deprecatedCount") or ""),
        },
        stamp=f"{stamp} " if stamp else "",
        host=str(_table(item, "source").get("host") or "") or None,
    )  # fmt: skip


def _table(item: dict[str, Any], key: str) -> dict[str, Any]:
    value: object = item.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _place(text: str, where: tuple[int, int], value: str) -> tuple[int, str]:
    """Line of a value inside an object, and that line; of an object written on one line, what surrounds the value."""
    written = json.dumps(value, ensure_ascii=False)
    at = text.find(written, *where)
    at = text.find(json.dumps(value), *where) if at < 0 else at
    at = where[0] if at < 0 else at
    line = text.count("\n", 0, at) + 1
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    end = len(text) if end < 0 else end
    return line, text[max(start, where[0]) : min(end, where[1])].strip()


def _event(
    rows: RecordRows, line: int, text: str, *, kind: str, reason: str, obj: str, message: str, about: dict[str, str],
    stamp: str = "", host: str | None = None,
) -> None:  # fmt: skip
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
