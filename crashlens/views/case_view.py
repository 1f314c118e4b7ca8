"""What does a case say about itself: what was read, what was not, and what the evidence can decide?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from crashlens.catalog.phrases import in_language
from crashlens.schemas import Tables
from crashlens.views import html, mime
from crashlens.views.coverage import answerable
from crashlens.views.labels import counted, sentences, word_for
from crashlens.views.numbers import moment, number
from crashlens.views.overview import unmatched, unmatched_count
from crashlens.views.scope import extent, file_counts
from crashlens.views.tables import Shown, Table
from crashlens.views.terminal import printable_lines

MOST_FILES = 12
MOST_TEMPLATES = 3
SHOWN_OF_TEMPLATE = 88
TEXT_WIDTH = 100
_SIZES = ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


@dataclass(frozen=True, slots=True)
class _Said:
    head: tuple[str, ...]
    not_read: tuple[str, ...]
    unmatched: tuple[str, ...]
    decides: tuple[str, ...]


def case_text(tables: Tables, coverage: pl.DataFrame, *, lang: str = "en") -> str:
    """The case as plain text; no control character of the input reaches the terminal.

    Args:
        tables: The case.
        coverage: One row per question and needed signal, as `analysis.coverage` gives it; empty: not measured.
        lang: Language of the sentences, `en` or `ko`.
    """
    words, said = sentences("case", lang), _said(tables, coverage, lang)
    lines = [line for sentence in said.head for line in printable_lines(sentence, width=TEXT_WIDTH)]
    for title, entries in _parts(said, words):
        if entries:
            lines.append(title)
        lines += [line for entry in entries for line in printable_lines(entry, width=TEXT_WIDTH, first="  - ")]
    return "\n".join(lines)


def case_html(tables: Tables, coverage: pl.DataFrame) -> str:
    """The case as one HTML output: what was read, what was not, what the evidence can decide.

    Args:
        tables: The case.
        coverage: One row per question and needed signal, as `analysis.coverage` gives it; empty: not measured.
    """
    words, said = sentences("case"), _said(tables, coverage, "en")
    parts = [html.element("p", html.text(sentence)) for sentence in said.head]
    for title, entries in _parts(said, words):
        if entries:
            parts.append(html.element("p", html.text(title), "part"))
            parts.append(html.element("ul", "".join(html.element("li", html.text(entry)) for entry in entries)))
    return html.page_part("".join(parts))


def case_bundle(tables: Tables, coverage: pl.DataFrame) -> dict[str, Any]:
    """The case as a bundle of MIME types: text, HTML, and a table that the report lays out.

    Args:
        tables: The case.
        coverage: One row per question and needed signal, as `analysis.coverage` gives it; empty: not measured.
    """
    words, said = sentences("case"), _said(tables, coverage, "en")
    parts = ((words["read_title"], said.head), *_parts(said, words))
    rows = tuple((title, "\n".join(entries)) for title, entries in parts if entries)
    columns = (Shown(sentences("scope")["item"], width=1), Shown(sentences("scope")["value"], width=4))
    table = Table(words["title"], "", columns, rows)
    return mime.bundle(mime.TABLE, table.to_json(), text=case_text(tables, coverage), html=case_html(tables, coverage))


def _parts(said: _Said, words: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What follows the head: title and entries."""
    return (
        (words["not_read_title"], said.not_read),
        (words["unmatched_title"], said.unmatched),
        (words["decide_title"], said.decides),
    )


def _said(tables: Tables, coverage: pl.DataFrame, lang: str) -> _Said:
    words = sentences("case", lang)
    recognised = tables.sources.filter(pl.col("format").is_not_null() & (pl.col("state") != "skipped"))
    head = [] if recognised.height else [words["nothing"]]
    files, seen = file_counts(tables), extent(tables)
    if recognised.height:
        read = tables.sources.filter(pl.col("state").is_in(["read", "partly_read"]))
        count = counted("case", "one_file", "many_files", files["read"] + files["partly_read"], lang)
        lines, size = int(read["lines"].sum()), int(read["bytes"].sum())
        head.append(words["read"].format(files=count, lines=f"{lines:,}", bytes=_size(size)))
        held = [(name, getattr(tables, name).height) for name in Tables.names() if name != "sources"]
        listed = ", ".join(f"{name} {height:,}" for name, height in held if height)
        head.append(words["tables"].format(tables=listed) if listed else words["no_rows"])
        if seen.start is not None and seen.end is not None:
            head.append(words["span"].format(start=moment(seen.start, "UTC"), end=moment(seen.end, "UTC")))
        else:
            head.append(words["no_span"])
        if seen.unplaced:
            head.append(words["unplaced"].format(count=f"{seen.unplaced:,}", total=f"{seen.total:,}"))
    return _Said(tuple(head), _not_read(tables, lang), _unmatched(tables, lang), _decides(coverage, lang))


def _unmatched(tables: Tables, lang: str) -> tuple[str, ...]:
    """What no rule knows, in short; nothing is said where no line holds an error word."""
    if not int(tables.sources["lines_error_like"].sum()) + int(tables.sources["lines_harmless"].sum()):
        return ()
    found, words = unmatched(tables), sentences("unmatched", lang)
    shown = [
        words["entry"].format(path=one.path, line=one.first_line, lines=number(one.lines)) + f"\n| {_cut(one.template)}"
        for one in found[:MOST_TEMPLATES]
    ]
    more = len(found) - len(shown)
    said = (unmatched_count(tables, lang), *shown)
    return (*said, *([words["more"].format(count=number(more))] if more else []))


def _cut(template: str) -> str:
    """A template as one line of the terminal: what is quoted stands alone, behind a bar."""
    return template if len(template) <= SHOWN_OF_TEMPLATE else f"{template[: SHOWN_OF_TEMPLATE - 1]}\u2026"


def _not_read(tables: Tables, lang: str) -> tuple[str, ...]:
    rows = tables.sources.filter((pl.col("state") != "read") | pl.col("format").is_null()).sort("path").to_dicts()
    said = [_about(row["path"], row["state"], row["format"], row["notices"] or [], lang) for row in rows[:MOST_FILES]]
    more = len(rows) - len(said)
    return (*said, *([sentences("case", lang)["more_files"].format(count=more)] if more else []))


def _about(path: str, state: str | None, format_name: str | None, notices: list[str], lang: str) -> str:
    recognised = state != "read" or format_name
    what = word_for("state", state, lang) if recognised else sentences("sources", lang)["not_recognised"]
    return " ".join([f"{path}: {what}.", *(in_language(notice, lang) for notice in notices[:1])])


def _decides(coverage: pl.DataFrame, lang: str) -> tuple[str, ...]:
    words = sentences("case", lang)
    if not coverage.height:
        return (words["no_coverage"],)
    return tuple(
        words["missing_line" if one.missing and one.decidable != "yes" else "decidable_line"].format(
            question=one.question, decidable=word_for("decidable", one.decidable, lang), missing=", ".join(one.missing)
        )
        for one in answerable(coverage, lang=lang)
    )


def _size(count: int) -> str:
    factor, label = next((step for step in _SIZES if count >= step[0]), (1, "B"))
    return f"{count / factor:,.1f} {label}" if factor > 1 else f"{count} {label}"
