"""One output of a notebook cell -> blocks. The richest form that can be laid out wins; HTML is never read."""

import base64
import binascii
from typing import Any, cast
from zoneinfo import ZoneInfo

from crashlens.report.blocks import Block, Column, FindingList, Grid, Mono, Note, NoteKind, Picture, PictureKind
from crashlens.report.fields import Fields
from crashlens.report.words import Labels
from crashlens.timebase import find_zone
from crashlens.views import mime

_PICTURES: tuple[tuple[str, PictureKind], ...] = (
    ("image/svg+xml", "svg"),
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
)
_NOTE_KINDS: dict[str, NoteKind] = {"info": "info", "warning": "warning", "unknown": "unknown"}
_SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "jpg": b"\xff\xd8", "gif": b"GIF8"}


def read_output(output: Fields, *, level: int, labels: Labels) -> Block | str | None:
    """What one output shows.

    Args:
        output: An output object of nbformat 4.
        level: Level for the headings of findings.
        labels: Words for what cannot be shown.

    Returns:
        A block, Markdown text to be read on, or None where nothing is to be shown.
    """
    kind = output.text("output_type")
    if kind == "stream":
        text = joined(output.values.get("text"))
        return Mono(text) if output.text("name") == "stdout" and text.strip() else None
    if kind == "error":
        name, message = output.text("ename"), output.text("evalue")
        return Note("failed", f"{name}: {message}" if message else name, labels["cell_failed"])
    return _rich(Fields.of(output.values.get("data")), level, labels)


def _rich(data: Fields, level: int, labels: Labels) -> Block | str | None:
    if mime.FINDINGS in data.values:
        return _findings(data.object(mime.FINDINGS), level, labels)
    if mime.TABLE in data.values:
        return _grid(data.object(mime.TABLE), labels)
    if mime.NOTE in data.values:
        note = data.object(mime.NOTE)
        return Note(_NOTE_KINDS.get(note.text("kind"), "info"), note.text("text"))
    picture = _picture(data, labels)
    if picture is not None:
        return picture
    if markdown := joined(data.values.get("text/markdown")):
        return markdown
    plain = joined(data.values.get("text/plain"))
    return Mono(plain) if plain.strip() else None


def _findings(bundle: Fields, level: int, labels: Labels) -> Block:
    if not isinstance(bundle.values.get("findings"), list):
        return _unreadable(mime.FINDINGS, labels)
    zone = find_zone(bundle.text("show_tz") or "UTC", mime.FINDINGS)
    return FindingList(level, tuple(bundle.objects("findings")), bundle.object("titles"), zone)


def _grid(table: Fields, labels: Labels) -> Block:
    columns = tuple(
        Column(c.text("label"), c.text("align") == "right", c.values.get("mono") is True, _share(c.number("width")))
        for c in table.objects("columns")
    )
    if not columns:
        return _unreadable(mime.TABLE, labels)
    rows = [cast("list[Any]", row) for row in table.items("rows") if isinstance(row, list)]
    return Grid(
        table.text("title"),
        table.text("caption"),
        columns,
        tuple(tuple(_cell(row, at) for at in range(len(columns))) for row in rows),
        max(0, int(table.number("more") or 0)),
    )


def _share(width: float | None) -> float | None:
    return width if width is not None and 0 < width < 1000 else None


def _cell(row: list[Any], at: int) -> str | None:
    value = row[at] if at < len(row) else None
    return None if value is None else str(value)


def _picture(data: Fields, labels: Labels) -> Block | None:
    chart = data.object(mime.CHART)
    for name, kind in _PICTURES:
        if name not in data.values:
            continue
        content = joined(data.values[name])
        raw = content.encode("utf-8", "backslashreplace") if kind == "svg" else _decoded(content)
        if kind in _SIGNATURES and not raw.startswith(_SIGNATURES[kind]):
            return Note("unknown", labels["picture_unreadable"])
        alt = chart.text("alt") or chart.text("title") or joined(data.values.get("text/plain")).strip()
        return Picture(
            kind, raw, chart.text("title"), chart.text("caption"), alt or labels["picture_without_description"]
        )
    return _unreadable(mime.CHART, labels) if mime.CHART in data.values else None


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        return b""


def _unreadable(kind: str, labels: Labels) -> Note:
    return Note("unknown", labels["output_unreadable"].replace("{kind}", kind))


def joined(value: object) -> str:
    """Text of a notebook, which is a string or a list of strings; the empty string for anything else."""
    if isinstance(value, list):
        return "".join(str(item) for item in cast("list[Any]", value))
    return value if isinstance(value, str) else ""


def zone_or_utc(name: str, given_by: str) -> tuple[str, ZoneInfo]:
    """The zone called `name` with its name; UTC where none is named.

    Raises:
        UnknownTimeZoneError: There is no zone of that name.
    """
    return name or "UTC", find_zone(name or "UTC", given_by)
