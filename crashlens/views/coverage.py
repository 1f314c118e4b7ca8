"""What can and cannot be decided, question by question?"""

from dataclasses import dataclass

import polars as pl

from crashlens.schemas import need
from crashlens.views.labels import LANGUAGES, sentences, word_for
from crashlens.views.tables import Shown, Table

COLUMNS = ("question", "signal", "state", "share", "decidable", "leaves_open", "still_possible", "collect_with")


@dataclass(frozen=True, slots=True)
class Answerable:
    """One question and whether the input decides it.

    Attributes:
        question: As a person asks it.
        decidable: `yes`, `partly` or `no`.
        missing: Signals that are missing or incomplete, each with its state in words.
        leaves_open: What stays open without them.
        still_possible: What can be said all the same.
        collect_with: What would collect the missing signals.
    """

    question: str
    decidable: str
    missing: tuple[str, ...]
    leaves_open: tuple[str, ...]
    still_possible: tuple[str, ...]
    collect_with: tuple[str, ...]


def in_language(coverage: pl.DataFrame, *, lang: str) -> pl.DataFrame:
    """`coverage` with its sentences in `lang` under the plain column names, without the columns of other languages.

    Args:
        coverage: Rows as `analysis.coverage` gives them: `asks` and its twin `asks_ko`, and so on.
        lang: `en` or `ko`; where the rows have no twin in it, English stays.
    """
    twins = {name.removesuffix(f"_{lang}"): name for name in coverage.columns if name.endswith(f"_{lang}")}
    others = [name for name in coverage.columns if name.endswith(tuple(f"_{other}" for other in LANGUAGES))]
    return coverage.with_columns(pl.col(twin).alias(name) for name, twin in twins.items()).drop(others)


def answerable(coverage: pl.DataFrame, *, lang: str = "en") -> list[Answerable]:
    """The rows of `coverage` grouped by question, in the order they come.

    Args:
        coverage: One row per question and needed signal, as `analysis.coverage` gives it.
        lang: Language of the sentences, `en` or `ko`; where the rows have no twin in it, English.

    Raises:
        MissingColumnError: It lacks a column.
    """
    need(coverage, *COLUMNS)
    coverage = in_language(coverage, lang=lang)
    found: list[Answerable] = []
    for rows in coverage.partition_by("question", maintain_order=True):
        lacking = _lacking(rows)
        asks = rows["asks"][0] if "asks" in rows.columns else None
        missing = [_missing(row, lang) for row in lacking.to_dicts()]
        open_ = lacking if rows["decidable"][0] != "yes" else lacking.clear()
        found.append(
            Answerable(
                asks or str(rows["question"][0]).replace("_", " "),
                rows["decidable"][0],
                tuple(dict.fromkeys(missing)),
                _distinct(open_["leaves_open"]),
                _distinct(open_["still_possible"]),
                _distinct(open_["collect_with"]),
            )
        )
    return found


def _lacking(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of one question whose signal is missing and has no stand-in of its group that is complete."""
    complete = pl.lit(value=False)
    if "group" in rows.columns:
        complete = (pl.col("state") == "ok").any().over("group") & pl.col("group").is_not_null()
    return rows.filter((pl.col("state") != "ok") & ~complete)


def coverage_view(coverage: pl.DataFrame, *, lang: str = "en") -> Table:
    """Per question: decidable or not, which signals are missing, what stays open, what can still be said.

    Args:
        coverage: One row per question and needed signal, as `analysis.coverage` gives it.
        lang: Language of the table, `en` or `ko`.

    Raises:
        MissingColumnError: It lacks a column.
    """
    words, none = sentences("coverage", lang), sentences("word", lang)["none"]
    columns = (
        Shown(words["question"], width=2.4),
        Shown(words["decidable"], width=1.2),
        Shown(words["missing"], width=3.4),
        Shown(words["leaves_open"], width=2.6),
        Shown(words["still_possible"], width=2.6),
    )
    rows = tuple(
        (
            one.question,
            word_for("decidable", one.decidable, lang),
            *("\n".join(part) or none for part in (one.missing, one.leaves_open, one.still_possible)),
        )
        for one in answerable(coverage, lang=lang)
    )
    return Table(words["title"], words["caption"], columns, rows, lang=lang)


def collect_view(coverage: pl.DataFrame, *, lang: str = "en") -> Table:
    """Per question that is not decided: the commands or settings that would collect what is missing.

    Args:
        coverage: One row per question and needed signal, as `analysis.coverage` gives it.
        lang: Language of the table, `en` or `ko`.

    Raises:
        MissingColumnError: It lacks a column.
    """
    words = sentences("coverage", lang)
    columns = (Shown(words["question"], width=2), Shown(words["collect_with"], mono=True, width=7))
    asked = answerable(coverage, lang=lang)
    rows = tuple((one.question, "\n".join(one.collect_with)) for one in asked if one.collect_with)
    return Table(words["collect_title"], words["collect_caption"], columns, rows, lang=lang)


def _missing(row: dict[str, str | float | None], lang: str) -> str:
    state = word_for("signal_state", None if row["state"] is None else str(row["state"]), lang)
    share = row["share"]
    if row["state"] == "partly" and isinstance(share, float):
        state = f"{state}, " + sentences("coverage", lang)["of_samples"].format(share=f"{share:.1%}")
    return f"{row['signal']} ({state})"


def _distinct(values: pl.Series) -> tuple[str, ...]:
    return tuple(value for value in values.unique(maintain_order=True).to_list() if value)
