"""Which records does a timeline show, in which lanes, and which moments are marked through all panels?"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from crashlens.findings import Finding
from crashlens.schemas import Tables
from crashlens.timebase import to_us
from crashlens.views.encoding import reason_classes, size
from crashlens.views.findings import title
from crashlens.views.labels import sentences, word_for
from crashlens.views.scales import UTC, Scale, telling

LANES = {
    "lane": pl.String,
    "label": pl.String,
    "role": pl.String,
    "start_us": pl.Int64,
    "end_us": pl.Int64,
}
MARKS = {"time_us": pl.Int64, "label": pl.String, "role": pl.String}
OTHER = "other"
_SAMPLED = "telemetry.reasons"
_MARKED = ("first", "downstream")


@dataclass(frozen=True, slots=True)
class Marks:
    """The log records of one time axis.

    Attributes:
        lanes: One row per record drawn: `lane`, `label`, `role` (role as evidence of a finding, else `other`),
            `start_us` and `end_us` (equal for a moment; a wait reaches from its start to the record).
        marks: Moments marked through all panels, in time order: `time_us`, `label`, `role`.
        outside: Records that lie outside the axis.
        more_lanes: Kinds of records that found no lane.
    """

    lanes: pl.DataFrame
    marks: pl.DataFrame
    outside: int
    more_lanes: int


def marks_of(tables: Tables, findings: Sequence[Finding], scale: Scale, *, lang: str = "en") -> Marks:
    """Records on `scale` in lanes, one lane per rule, and the moments worth a mark.

    A lane is drawn for warnings and worse, for Xids and for evidence. Marked are the first and the following records
    that findings rest on; without findings, the first error of each lane.

    Args:
        tables: The case.
        findings: In order of importance.
        scale: The time axis.
        lang: Language of the words, `en` or `ko`.
    """
    shown = _shown_records(tables, findings, scale)
    names = _lane_names(shown["rule"].unique().to_list(), lang)
    lane = pl.col("rule").replace_strict(list(names), list(names.values()), return_dtype=pl.String)
    waited_us = pl.when(pl.col("time_marks") == "end").then(pl.col("ran_ms") * 1000).fill_null(0)
    ordered = shown.sort("time_us", "source_id", "line", "n", maintain_order=True)
    lanes = ordered.select(
        lane=lane,
        label=pl.coalesce(
            pl.when(pl.col("xid").is_not_null()).then(pl.format("Xid {}", "xid")), _reason_labels(ordered, lang), lane
        ),
        sampled=(pl.col("topic") == _SAMPLED).fill_null(value=False),
        role=pl.col("role").fill_null(OTHER),
        start_us=pl.col("time_us") - waited_us,
        end_us=pl.col("time_us"),
        severity=pl.col("severity"),
    )
    # Samples are drawn as bands already; in the lanes of log records they would stand twice.
    records = lanes.filter(~pl.col("sampled"))
    inside = records.filter((pl.col("end_us") >= scale.start_us) & (pl.col("start_us") < scale.end_us))
    kept, more = _fewest_lanes(inside)
    marks = _evidence_marks(findings, lanes, scale, lang) if findings else _error_marks(inside)
    drawn = marks.filter(pl.col("time_us").is_between(scale.start_us, scale.end_us, closed="left"))
    best = drawn.head(size().most_marks).sort("time_us")
    return Marks(kept.select(list(LANES)), best, records.height - inside.height, more)


def _shown_records(tables: Tables, findings: Sequence[Finding], scale: Scale) -> pl.DataFrame:
    """Warnings and worse, Xids and evidence on `scale`, with `role` (null: no evidence) and `rule`."""
    cited = {(one.place.source, one.place.line): one.role for item in reversed(findings) for one in item.evidence}
    roles = pl.DataFrame(
        [(path, line, role) for (path, line), role in cited.items()],
        schema={"path": pl.String, "line": pl.UInt32, "role": pl.String},
        orient="row",
    )
    placed = (
        scale.rows(tables.events)
        .join(tables.sources.select("source_id", "path"), on="source_id", how="left")
        .join(roles, on=["path", "line"], how="left")
        .with_columns(rule=pl.coalesce("rule_id", "topic", pl.lit("")))
    )
    return pl.concat([telling(placed), placed.filter(pl.col("role").is_not_null())]).unique(
        ["source_id", "line", "n"], keep="first", maintain_order=True
    )


def _reason_labels(records: pl.DataFrame, lang: str) -> pl.Expr:
    """What the first or last sample of a clocks event reason is called in the picture; null for other records."""
    named = {one.name: one.label for one in reason_classes(lang)}
    labels: list[str | None] = []
    for topic, fields in records.select("topic", "fields").iter_rows():
        said = {item["key"]: item["value"] for item in fields or ()} if topic == _SAMPLED else {}
        labels.append(named.get(said.get("reason_class", "")))
    return pl.lit(pl.Series("label", labels, dtype=pl.String))


def _lane_names(rules: Sequence[str], lang: str) -> dict[str, str]:
    """A short name per rule: its last part where no other rule ends alike."""
    last = {rule: word_for("lane", rule.rsplit(".", 1)[-1], lang).replace("_", " ") for rule in rules}
    often = list(last.values())
    return {
        rule: (name if often.count(name) == 1 else rule.replace("_", " ")) or sentences("word", lang)["not_stated"]
        for rule, name in last.items()
    }


def _fewest_lanes(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Lanes with evidence first, then those with the earliest record; at most `most_lanes`."""
    order = (
        rows.group_by("lane", maintain_order=True)
        .agg(evidence=(pl.col("role") != OTHER).any(), first_us=pl.col("start_us").min())
        .sort("evidence", "first_us", "lane", descending=[True, False, False])
    )
    kept = order.head(size().most_lanes).sort("first_us", "lane")
    placed = kept.select("lane").with_row_index("place").join(rows, on="lane", how="inner")
    return placed.sort("place", "start_us"), order.height - kept.height


def _evidence_marks(findings: Sequence[Finding], lanes: pl.DataFrame, scale: Scale, lang: str) -> pl.DataFrame:
    found: list[tuple[int, str, str]] = []
    for item in findings:
        if item.verdict == "benign":
            continue
        for one in item.evidence:  # samples have no row in the lanes
            if one.rule_id is None and one.role == "first" and one.time_utc is not None and scale.key == UTC:
                name = f"{item.id} {title(item.cause, lang=lang)}".strip()
                found.append((to_us(one.time_utc), name, one.role))
    of_samples = pl.DataFrame(found, schema=MARKS, orient="row").unique("label", keep="first", maintain_order=True)
    of_records = lanes.filter(pl.col("role").is_in(_MARKED)).rename({"end_us": "time_us"})
    return pl.concat([_counted(of_records.filter(pl.col("role") == role)) for role in _MARKED] + [of_samples]).sort(
        pl.col("role") != "first", "time_us", maintain_order=True
    )


def _error_marks(lanes: pl.DataFrame) -> pl.DataFrame:
    errors = lanes.filter(pl.col("severity").is_in(["error", "fatal"])).rename({"end_us": "time_us"})
    return _counted(errors).sort("time_us")


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    """The first record of each label, with how often the label comes."""
    grouped = rows.group_by("label", maintain_order=True).agg(pl.first("time_us", "role"), often=pl.len())
    repeated = sentences("timeline")["mark_repeated"]
    return pl.DataFrame(
        [
            (
                row["time_us"],
                row["label"] if row["often"] == 1 else repeated.format(label=row["label"], count=row["often"]),
                row["role"],
            )
            for row in grouped.to_dicts()
        ],
        schema=MARKS,
        orient="row",
    )
