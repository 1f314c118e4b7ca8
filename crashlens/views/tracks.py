"""Which points, bands and breaks does a timeline draw? One `tracks` table for all series.

Nothing is averaged and nothing is drawn across a gap: each bucket of a few pixels keeps its lowest and its highest
sample, and a series is broken by a null where samples are missing for longer than their cadence allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from crashlens.catalog.reasons import classes
from crashlens.catalog.thresholds import threshold
from crashlens.schemas import Tables
from crashlens.views.encoding import Panel, panels, reason_classes, run_panels, size
from crashlens.views.labels import sentences
from crashlens.views.scales import Scale

TRACKS = {
    "track": pl.String,
    "gpu_key": pl.String,
    "label": pl.String,
    "time_us": pl.Int64,
    "value": pl.Float64,
    "affected": pl.Boolean,
    "alone": pl.Boolean,
}
BANDS = {
    "gpu_key": pl.String,
    "label": pl.String,
    "reason_class": pl.String,
    "start_us": pl.Int64,
    "end_us": pl.Int64,
    "affected": pl.Boolean,
}
RUN = "run"


@dataclass(frozen=True, slots=True)
class Tracks:
    """What one time axis shows of the telemetry.

    Attributes:
        scale: The axis.
        tracks: One row per point to draw: `track` (name of a panel; behind a `/` its reference line), `gpu_key` (`run`
            for series of the whole run), `label`, `time_us` on the scale, `value` as drawn, `affected` (a finding
            names it), `alone` (no neighbour to draw a line to). A null `value` breaks the line. Sorted
            by track, GPU and time.
        bands: One row per stretch of a class of clocks event reasons: `gpu_key`, `label`, `reason_class`, `start_us`,
            `end_us`, `affected`.
        titles: Title with unit per panel that has points, in the order of panels.
        longest_gap_s: Longest distance of samples that was drawn as continuous; None without samples.
    """

    scale: Scale
    tracks: pl.DataFrame
    bands: pl.DataFrame
    titles: dict[str, str]
    longest_gap_s: float | None


def tracks_of(tables: Tables, scale: Scale, lines: pl.DataFrame, *, lang: str = "en") -> Tracks:
    """Everything of `samples` and `steps` that lies on `scale`, reduced to what its pixels can show.

    Args:
        tables: The case.
        scale: The time axis.
        lines: `gpu_key`, `label`, `named` as `devices.gpu_lines` gives them.
        lang: Language of the titles, `en` or `ko`.
    """
    samples = scale.rows(tables.samples).filter(scale.inside()).sort("gpu_key", "time_us")
    samples = samples.join(lines, on="gpu_key", how="left").with_columns(
        label=pl.col("label").fill_null(pl.col("gpu_key")), affected=pl.col("named").is_not_null()
    )
    samples = _with_allowance(samples)
    steps = _run_steps(scale.rows(tables.steps).filter(scale.inside()))
    found: list[pl.DataFrame] = []
    titles: dict[str, str] = {}
    for panel, rows in [*((panel, samples) for panel in panels(lang)), *((panel, steps) for panel in run_panels(lang))]:
        drawn = _panel_rows(panel, rows, scale, lang)
        if drawn:
            titles[panel.name] = drawn[0]
            found += drawn[1]
    tracks = pl.concat([frame.select(list(TRACKS)) for frame in found]) if found else pl.DataFrame(schema=TRACKS)
    longest = samples["allowed_us"].max() if samples.height else None
    seconds = longest / 1e6 if isinstance(longest, (int, float)) else None
    return Tracks(scale, tracks.sort("track", "gpu_key", "time_us"), _bands(samples, scale), titles, seconds)


def _with_allowance(samples: pl.DataFrame) -> pl.DataFrame:
    """Per GPU the longest distance of samples that still counts as continuous: a multiple of its usual distance."""
    apart = pl.col("apart_us")
    usual = apart.filter(apart > 0).median().over("gpu_key")
    return samples.with_columns(apart_us=pl.col("time_us").diff().over("gpu_key")).with_columns(
        allowed_us=usual * threshold("longest_gap_cadences").value
    )


def _panel_rows(panel: Panel, rows: pl.DataFrame, scale: Scale, lang: str) -> tuple[str, list[pl.DataFrame]] | None:
    for column, title in panel.signals:
        if column in rows.columns and rows[column].count():
            drawn = [_broken(rows, column, panel.name, panel.scale, scale)]
            if panel.reference and panel.reference[0] in rows.columns and rows[panel.reference[0]].count():
                limit, name = panel.reference
                drawn.append(_broken(rows, limit, f"{panel.name}/{name}", panel.scale, scale))
                words = sentences("timeline", lang)["panel_reference"]
                return words.format(title=title, reference=name), drawn
            return title, drawn
    return None


def _broken(rows: pl.DataFrame, column: str, track: str, factor: float, scale: Scale) -> pl.DataFrame:
    value = pl.col(column).cast(pl.Float64) * factor
    known = rows.with_columns(value=pl.when(value.is_finite()).then(value), track=pl.lit(track))
    late = pl.col("apart_us") > pl.col("allowed_us")
    lost = pl.col("value").shift(1).over("gpu_key").is_null()
    known = known.with_columns(run=(late | lost).fill_null(value=True).cum_sum()).filter(pl.col("value").is_not_null())
    kept = _reduced(known, scale)
    ends = kept.group_by("gpu_key", "run", maintain_order=True).agg(
        pl.first("track", "label", "affected"), first_us=pl.first("time_us"), last_us=pl.last("time_us")
    )
    breaks = ends.with_columns(
        time_us=(pl.col("last_us") + pl.col("first_us").shift(-1).over("gpu_key")) // 2,
        value=pl.lit(None, dtype=pl.Float64),
        alone=pl.lit(value=False),
    ).filter(pl.col("time_us").is_not_null())
    kept = kept.with_columns(alone=pl.len().over("gpu_key", "run") == 1)
    return pl.concat([kept.select(list(TRACKS)), breaks.select(list(TRACKS))])


def _reduced(rows: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Of each bucket the lowest and the highest sample, and of each unbroken run its first and last one."""
    place, value = pl.col("place"), pl.col("value")
    whole, within = ("gpu_key", "run"), ("gpu_key", "run", "bucket")
    rows = rows.with_row_index("place").with_columns(bucket=(scale.pixel("time_us") / size().bucket).floor())
    end = (place == place.first().over(whole)) | (place == place.last().over(whole))
    lowest = place == place.get(value.arg_min()).over(within)
    highest = place == place.get(value.arg_max()).over(within)
    kept = rows.filter(lowest | highest | end)
    flat = (value == value.shift(1).over(whole)) & (value == value.shift(-1).over(whole))
    return kept.filter(~flat.fill_null(value=False))  # a level stretch needs its two ends only


def _run_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """One value per training step: the median over the ranks that logged it."""
    columns = [name for panel in run_panels() for name, _ in panel.signals]
    unnumbered = pl.when(pl.col("step").is_null()).then(pl.col("line")).alias("unnumbered")  # a line is a step then
    joined = (
        steps.group_by("source_id", "attempt", "step", unnumbered, maintain_order=True)
        .agg(pl.col("time_us").min(), pl.col(columns).median())
        .drop("unnumbered")
        .sort("time_us")
        .with_columns(gpu_key=pl.lit(RUN), label=pl.lit(RUN), affected=pl.lit(value=False))
    )
    return _with_allowance(joined)


def _bands(samples: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Stretches in which every sample shows a class, joined where less than a pixel lies between them."""
    if "clocks_event_reasons" not in samples.columns or not samples["clocks_event_reasons"].count():
        return pl.DataFrame(schema=BANDS)
    mask = pl.col("clocks_event_reasons")
    following = pl.col("time_us").shift(-1).over("gpu_key")
    apart = following - pl.col("time_us")
    until = pl.when(apart <= pl.col("allowed_us")).then(following).otherwise(pl.col("time_us"))
    shown = samples.with_columns(until=until).filter(mask.is_not_null())
    of_mask = {value: _drawn_classes(value) for value in shown["clocks_event_reasons"].unique().to_list()}
    named = shown.with_columns(
        reason_class=mask.replace_strict(list(of_mask), list(of_mask.values()), return_dtype=pl.List(pl.String))
    )
    rows = named.explode("reason_class").filter(pl.col("reason_class").is_not_null())
    key = ("gpu_key", "reason_class")
    one_pixel = (scale.end_us - scale.start_us) / size().width
    fresh = (pl.col("time_us") - pl.col("until").shift(1).over(key) > one_pixel).fill_null(value=True)
    return (
        rows.sort(*key, "time_us")
        .with_columns(run=fresh.cum_sum().over(key))
        .group_by(*key, "run", maintain_order=True)
        .agg(pl.first("label", "affected"), start_us=pl.first("time_us"), end_us=pl.last("until"))
        .select(list(BANDS))
    )


def _drawn_classes(mask: int) -> Sequence[str]:
    shown = classes(mask)
    return [reason.name for reason in reason_classes() if reason.name in shown]
