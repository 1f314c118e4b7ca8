"""What was read, with which clocks, rules and catalogs? Tables for the appendix of a report."""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from crashlens.catalog.phrases import in_language
from crashlens.schemas import Tables
from crashlens.views.labels import sentences, word_for
from crashlens.views.numbers import number
from crashlens.views.tables import Shown, Table, table_of

MOST_NOTICES = 5  # per file; the table `sources` keeps all of them

MOST_UNMATCHED = 20  # templates of all files; the table `sources` keeps ten of each


class Unmatched(NamedTuple):
    """One template of lines that no rule knows."""

    path: str
    first_line: int
    lines: int
    template: str


def sources_view(tables: Tables, *, lang: str = "en") -> Table:
    """Every file found: path, format, lines, state, zone and where it came from, notices."""
    words = sentences("sources", lang)
    rows = [
        (
            row["path"],
            row["format"] or words["not_recognised"],
            None if row["lines"] is None else number(row["lines"]),
            word_for("state", row["state"], lang),
            _zone(row["zone"], row["zone_from"], lang),
            _notices(row["notices"] or [], lang),
        )
        for row in tables.sources.sort("path").to_dicts()
    ]
    columns = (
        Shown(words["path"], mono=True, width=3),
        Shown(words["format"], width=2),
        Shown(words["lines"], align="right", width=1.2),
        Shown(words["state"], width=1.3),
        Shown(words["zone"], width=1.8),
        Shown(words["notices"], width=4),
    )
    return Table(words["title"], words["caption"], columns, tuple(rows), lang=lang)


def unmatched_view(tables: Tables, *, lang: str = "en") -> Table:
    """What the lines with an error word that no rule knows say most often: how many, where the first one stands."""
    words = sentences("unmatched", lang)
    rows = [
        (f"{one.path}:{one.first_line}", number(one.lines), one.template) for one in unmatched(tables)[:MOST_UNMATCHED]
    ]
    columns = (
        Shown(words["first"], mono=True, width=3),
        Shown(words["lines"], align="right", width=1),
        Shown(words["template"], mono=True, width=7),
    )
    return Table(words["title"], _unmatched_caption(tables, lang), columns, tuple(rows), lang=lang)


def unmatched(tables: Tables) -> list[Unmatched]:
    """Every template of `sources`, that with the most lines first."""
    found = [
        Unmatched(str(row["path"]), int(one["first_line"]), int(one["lines"]), str(one["template"]))
        for row in tables.sources.select("path", "error_templates").to_dicts()
        for one in row["error_templates"] or ()
    ]
    return sorted(found, key=lambda one: (-one.lines, one.path, one.first_line))


def unmatched_count(tables: Tables, lang: str) -> str:
    """How many lines of how many files hold an error word that no rule knows, and how many such words are harmless."""
    error_like, harmless = (int(tables.sources[name].sum()) for name in ("lines_error_like", "lines_harmless"))
    files = tables.sources.filter(pl.col("lines_error_like") > 0).height
    words = sentences("unmatched", lang)
    said = words["count"].format(lines=number(error_like), files=number(files)) if error_like else words["none"]
    return " ".join([said, *([words["harmless"].format(lines=number(harmless))] if harmless else [])])


def _unmatched_caption(tables: Tables, lang: str) -> str:
    return " ".join([unmatched_count(tables, lang), sentences("unmatched", lang)["caption"]])


def digests_view(tables: Tables, *, lang: str = "en") -> Table:
    """SHA-256 and size of every file found."""
    words = sentences("digests", lang)
    shown = {
        "path": Shown(words["path"], mono=True, width=2),
        "sha256": Shown(words["sha256"], mono=True, width=5),
        "bytes": Shown(words["bytes"], width=1),
    }
    sorted_ = tables.sources.sort("path")
    return table_of(
        sorted_, shown, title=words["title"], caption=words["caption"], most=max(1, sorted_.height), lang=lang
    )


def clocks_view(tables: Tables, *, lang: str = "en") -> Table:
    """Every clock: whose it is, what it shows, and how it was placed in UTC, if it was."""
    words = sentences("clocks", lang)
    joined = tables.clocks.join(tables.sources.select("source_id", "path"), on="source_id", how="left")
    rows = [
        (
            row["path"],
            word_for("clock_kind", row["kind"], lang),
            word_for("clock_method", row["method"], lang),
            row["zone"] or sentences("word", lang)["none" if row["kind"] == "utc" else "no_zone"],
            None if row["stamps"] is None else number(row["stamps"]),
            _lines(row["first_line"], row["last_line"]),
            None if row["uncertainty_us"] is None else number(row["uncertainty_us"], "uncertainty_us"),
        )
        for row in joined.sort("path", "first_line", "clock_id").to_dicts()
    ]
    columns = (
        Shown(words["path"], mono=True, width=3),
        Shown(words["clock"], width=2),
        Shown(words["method"], width=2),
        Shown(words["zone"], width=1.5),
        Shown(words["stamps"], align="right", width=1.2),
        Shown(words["lines"], align="right", width=1.6),
        Shown(words["uncertainty"], align="right", width=1.4),
    )
    return Table(words["title"], words["caption"], columns, tuple(rows), lang=lang)


def versions_view(rows: Iterable[tuple[str, str, int]], *, lang: str = "en") -> Table:
    """The data files that conclusions were made with.

    Args:
        rows: `(name, digest, rows)` of each rule file and catalog file.
        lang: Language of the table, `en` or `ko`.
    """
    words = sentences("versions", lang)
    shown = {
        "name": Shown(words["name"], mono=True, width=2),
        "digest": Shown(words["digest"], mono=True, width=4),
        "rows": Shown(words["rows"], width=1),
    }
    frame = pl.DataFrame(list(rows), schema={"name": pl.String, "digest": pl.String, "rows": pl.Int64}, orient="row")
    return table_of(frame, shown, title=words["title"], caption=words["caption"], most=max(1, frame.height), lang=lang)


def _zone(zone: str | None, zone_from: str | None, lang: str) -> str:
    if zone is None:
        known = zone_from not in (None, "none")
        return word_for("zone_from", zone_from, lang) if known else sentences("word", lang)["no_zone"]
    return f"{zone} ({word_for('zone_from', zone_from, lang)})" if zone_from else zone


def _notices(notices: list[str], lang: str) -> str:
    shown = [in_language(notice, lang) for notice in notices[:MOST_NOTICES]]
    more = len(notices) - len(shown)
    said = [*shown, *([sentences("sources", lang)["more_notices"].format(count=more)] if more else [])]
    return "\n".join(said) or sentences("word", lang)["none"]


def _lines(first: int | None, last: int | None) -> str | None:
    return None if first is None or last is None else f"{first:,}-{last:,}"
