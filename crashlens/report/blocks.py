"""The parts that a document is laid out from. PDF and HTML read the same ones."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from crashlens.report.fields import Fields

Token = dict[str, Any]  # one node of mistune's syntax tree: type, children or raw, attrs
PictureKind = Literal["svg", "png", "jpg", "gif"]
NoteKind = Literal["info", "warning", "unknown", "failed"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. `level` counts from 1 and is at most one more than that of the heading before."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown between two headings, as syntax tree."""

    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class FindingList:
    """Findings in the shape of `crashlens.findings/1`, each to get a heading of `level`; `titles` by cause."""

    level: int
    findings: tuple[Fields, ...]
    titles: Fields
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `width` is relative to the other columns; None leaves it to the content."""

    label: str
    right: bool
    mono: bool
    width: float | None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. A cell of None is not known; `more` rows were left out; every row is as long as `columns`."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    more: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart or image with the description that stands in for it (`alt` is never empty)."""

    kind: PictureKind
    data: bytes
    title: str
    caption: str
    alt: str


@dataclass(frozen=True, slots=True)
class Note:
    """A framed remark; `title` is empty where the label of its kind says enough."""

    kind: NoteKind
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Mono:
    """Plain text as a program printed it."""

    text: str


Block = Heading | Prose | FindingList | Grid | Picture | Note | Mono


@dataclass(frozen=True, slots=True)
class Meta:
    """What stands on the title page.

    Attributes:
        title: Title of the document, never empty.
        kicker: Kind of document, above the title; may be empty.
        client: For whom it was made; may be empty.
        window: First and last moment (half-open), or None for all of the evidence.
        made: When it was made, or None where the notebook does not say.
        zone: Zone in which times are shown.
        zone_name: Name of that zone.
        version: Version of crashlens; empty for a notebook that crashlens did not make.
        lang: `en` or `ko`.
        synthetic: The evidence is made up and the document must say so.
    """

    title: str
    kicker: str
    client: str
    window: tuple[datetime, datetime] | None
    made: datetime | None
    zone: ZoneInfo
    zone_name: str
    version: str
    lang: str
    synthetic: bool


@dataclass(frozen=True, slots=True)
class Document:
    """A notebook read for layout."""

    meta: Meta
    blocks: tuple[Block, ...]
