"""What is a table that a person reads? Columns with labels, rows of text, and what was left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from crashlens.schemas import need
from crashlens.views import html, mime
from crashlens.views.labels import counted, sentences
from crashlens.views.numbers import moment, number
from crashlens.views.terminal import printable_lines, width_of
from crashlens.views.visible import visible

MOST_ROWS = 200
TEXT_WIDTH = 120
_CELL = 400  # characters of a cell that a terminal row shows


@dataclass(frozen=True, slots=True)
class Shown:
    """How one column is shown.

    Attributes:
        label: Header.
        align: `left` or `right`.
        mono: Set in a monospaced font.
        width: Share of the line in the report, relative to the other columns; None: as wide as its text.
    """

    label: str
    align: str = "left"
    mono: bool = False
    width: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Keys label, align, mono, width."""
        return {"label": self.label, "align": self.align, "mono": self.mono, "width": self.width}


@dataclass(frozen=True, slots=True)
class Table:
    """A table to read: every cell is text, or None where the value is not known.

    Attributes:
        title: What it shows.
        caption: How to read it.
        columns: How each column is shown.
        rows: Cells.
        more: Rows that were left out.
        lang: Language of the words around the cells, `en` or `ko`.
    """

    title: str
    caption: str
    columns: tuple[Shown, ...]
    rows: tuple[tuple[str | None, ...], ...]
    more: int = 0
    lang: str = "en"

    def to_json(self) -> dict[str, Any]:
        """Shape of `application/vnd.crashlens.table+json`: title, caption, columns, rows, more."""
        return {
            "title": self.title,
            "caption": self.caption,
            "columns": [column.to_json() for column in self.columns],
            "rows": [list(row) for row in self.rows],
            "more": self.more,
        }

    def to_html(self) -> str:
        """The table as one HTML output."""
        unknown = html.element("span", html.text(sentences("word", self.lang)["unknown"]), "unknown")
        kinds = [f"{column.align}{' cl-mono' if column.mono else ''}" for column in self.columns]
        head = "".join(html.element("th", html.text(column.label), column.align) for column in self.columns)
        body = "".join(
            html.element(
                "tr",
                "".join(
                    html.element("td", unknown if cell is None else html.text(cell), kind)
                    for cell, kind in zip(row, kinds, strict=True)
                ),
            )
            for row in self.rows
        )
        table = (
            html.element("caption", html.text(self.title))
            + html.element("thead", html.element("tr", head))
            + html.element("tbody", body)
        )
        foot = " ".join(part for part in (self._left_out(), self.caption) if part)
        return html.page_part(html.element("table", table) + html.element("p", html.text(foot), "quiet"))

    def __str__(self) -> str:
        unknown = sentences("word", self.lang)["unknown"]
        cells = [
            [column.label for column in self.columns],
            *[[unknown if cell is None else _one_line(cell) for cell in row] for row in self.rows],
        ]
        widths = [max(width_of(row[place]) for row in cells) for place in range(len(self.columns))]
        if sum(widths) + 2 * len(widths) <= TEXT_WIDTH:
            body = [_padded(row, widths, self.columns) for row in cells]
        else:
            body = [line for row in cells[1:] for line in _stacked(row, cells[0])]
        return "\n".join([self.title, "", *body, *([self._left_out()] if self.more else [])]).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _left_out(self) -> str:
        return counted("word", "more_one", "more_many", self.more, self.lang) if self.more else ""

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return mime.bundle(mime.TABLE, self.to_json(), text=str(self), html=self.to_html())


def table_of(
    frame: pl.DataFrame,
    shown: dict[str, Shown],
    *,
    title: str,
    caption: str = "",
    most: int = MOST_ROWS,
    show_tz: str = "UTC",
    lang: str = "en",
) -> Table:
    """A polars frame as a table to read; units come from the column names, times are shown in `show_tz`.

    Args:
        frame: Any frame.
        shown: Column name to how it is shown, in order; numbers are aligned to the right whatever it says.
        title: What it shows.
        caption: How to read it.
        most: Rows that are kept; the rest is counted in `more`.
        show_tz: IANA zone of printed times.
        lang: Language of the words around the cells, `en` or `ko`.

    Raises:
        MissingColumnError: `frame` lacks a column of `shown`.
    """
    need(frame, *shown)
    kept = frame.select(list(shown)).head(most)
    columns = tuple(
        replace(how, align="right") if kept.schema[name].is_numeric() else how for name, how in shown.items()
    )
    rows = tuple(
        tuple(cell(value, name, show_tz) for name, value in zip(shown, row, strict=True)) for row in kept.iter_rows()
    )
    return Table(title, caption, columns, rows, frame.height - kept.height, lang)


def cell(value: object, column: str, show_tz: str) -> str | None:
    """One value as text; None stays None, because a missing value is not a zero."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return moment(value, show_tz)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, column)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(str(item) for item in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def _one_line(value: str) -> str:
    shown = visible(" · ".join(value.split("\n")).expandtabs(1))
    return shown if len(shown) <= _CELL else shown[: _CELL - 1] + "…"


def _padded(row: list[str], widths: list[int], columns: tuple[Shown, ...]) -> str:
    cells: list[str] = []
    for value, width, column in zip(row, widths, columns, strict=True):
        room = " " * (width - width_of(value))
        cells.append(room + value if column.align == "right" else value + room)
    return "  ".join(cells).rstrip()


def _stacked(row: list[str], labels: list[str]) -> list[str]:
    wide = max(width_of(label) for label in labels)
    lines = [
        line
        for label, value in zip(labels, row, strict=True)
        for line in printable_lines(value, width=TEXT_WIDTH, first=label + " " * (wide - width_of(label)) + "  ")
    ]
    return [*lines, ""]
