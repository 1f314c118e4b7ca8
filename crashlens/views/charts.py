"""How do the tracks of a case become one picture? Stacked panels over one time axis, as SVG.

GPUs that a finding names are drawn in colour and last, all others in grey; where samples are missing the line is
broken; what is not drawn is counted in the caption. The picture is made offline and needs no script to be shown.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from crashlens.catalog.thresholds import threshold
from crashlens.findings import Finding
from crashlens.schemas import Tables
from crashlens.timebase import Window
from crashlens.views import html, mime
from crashlens.views.axis import axis_title, when
from crashlens.views.chart_fonts import register_fonts
from crashlens.views.devices import gpu_lines
from crashlens.views.encoding import panels, run_panels
from crashlens.views.labels import sentences
from crashlens.views.marks import Marks, marks_of
from crashlens.views.numbers import duration
from crashlens.views.scales import UTC, time_scales
from crashlens.views.stack import Group, Palette, Rows, reason_lanes, sentence_alone, short, specification
from crashlens.views.tracks import Tracks, tracks_of
from crashlens.views.visible import visible

_CLIP_ID = re.compile(r'id="clip(\d+)"')
_CLIP = re.compile(r'(id="clip|clip-path="url\(#clip)(\d+)("|\))')


@dataclass(frozen=True, slots=True)
class Chart:
    """A finished picture.

    Attributes:
        title: What it shows.
        caption: How to read it and what it leaves out.
        alt: The same for those who cannot see it.
        svg: The picture.
    """

    title: str
    caption: str
    alt: str
    svg: str = field(repr=False)

    def __repr__(self) -> str:
        return "\n".join(part for part in (self.title, visible(self.alt), visible(self.caption)) if part)

    def to_json(self) -> dict[str, Any]:
        """Shape of `application/vnd.crashlens.chart+json`: title, caption, alt."""
        return {"title": self.title, "caption": self.caption, "alt": self.alt}

    def to_html(self) -> str:
        """The picture as an image with its caption; an image, because ids of two inline SVGs would collide."""
        source = f"data:image/svg+xml;base64,{b64encode(self.svg.encode()).decode()}"
        image = f'<img src="{source}" alt="{html.text(self.alt)}">'
        return html.page_part(html.element("figure", image + html.element("figcaption", html.text(self.caption))))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return mime.bundle(mime.CHART, self.to_json(), text=repr(self), html=self.to_html(), svg=self.svg)


def timeline(
    tables: Tables,
    *,
    findings: Sequence[Finding] = (),
    window: Window | None = None,
    show_tz: str = "UTC",
    lang: str = "en",
) -> Chart:
    """Telemetry, training speed and log records of a case on one time axis.

    Panels, top to bottom: temperature, power against the enforced limit, SM clock, utilization, clocks event reasons,
    throughput or step time, log records in lanes. A clock that is not placed in UTC has an axis of its own.

    Args:
        tables: The case.
        findings: In order of importance; the GPUs they name are coloured, their evidence is marked.
        window: Ends of the UTC axis; None: what was read.
        show_tz: IANA zone of the times on the axis.
        lang: Language of titles, legends and caption, `en` or `ko`.

    Raises:
        UnknownTimeZoneError: No such zone.
    """
    words = sentences("timeline", lang)
    lines = gpu_lines(tables.gpus, findings, polled=set(tables.samples["gpu_key"].drop_nulls().unique()))
    scales, left_out = time_scales(tables, findings, window)
    made = [
        (tracks_of(tables, scale, lines, lang=lang), marks_of(tables, findings, scale, lang=lang)) for scale in scales
    ]
    groups = [(tracks, marks) for tracks, marks in made if tracks.titles or tracks.bands.height or marks.lanes.height]
    if not groups:
        return Chart(words["title"], words["nothing"], words["nothing"], _svg(sentence_alone(words["nothing"])))
    datasets: dict[str, Rows] = {}
    drawn: list[list[alt.LayerChart]] = []
    for place, (tracks, marks) in enumerate(groups):
        group = Group(tracks, marks, Palette(lines, lang=lang), show_tz=show_tz, prefix=f"g{place}_", lang=lang)
        drawn.append(group.draw())
        datasets |= group.datasets
    return Chart(
        words["title"],
        " ".join(_caption(groups, tables, left_out, lang)),
        " ".join(_alternative(tracks, marks, lines, show_tz, lang) for tracks, marks in groups),
        _svg(specification(drawn, datasets)),
    )


def _svg(spec: dict[str, Any]) -> str:
    register_fonts()
    major_minor = alt.SCHEMA_VERSION.removeprefix("v").rsplit(".", 1)[0]
    svg = vl_convert.vegalite_to_svg(spec, vl_version=major_minor)
    # The renderer counts its clip paths over the life of the process; the same case must give the same bytes.
    numbers = {old: str(place) for place, old in enumerate(_CLIP_ID.findall(svg))}
    return _CLIP.sub(lambda found: f"{found[1]}{numbers.get(found[2], found[2])}{found[3]}", svg)


def _caption(groups: Sequence[tuple[Tracks, Marks]], tables: Tables, left_out: int, lang: str) -> list[str]:
    words = sentences("timeline", lang)
    said: list[str] = []
    longest = max((tracks.longest_gap_s for tracks, _ in groups if tracks.longest_gap_s is not None), default=None)
    if longest is not None:
        said.append(words["caption_reduced"])
        cadences = f"{threshold('longest_gap_cadences').value:g}"
        said.append(words["caption_gaps"].format(cadences=cadences, longest=duration(longest)))
    if any(tracks.bands.height for tracks, _ in groups):
        said.append(words["caption_bands"])
    if any(marks.lanes.height for _, marks in groups):
        said.append(words["caption_order"])
    if any(tracks.scale.key != UTC for tracks, _ in groups):
        said.append(words["caption_separate"])
    lanes_missing = sum(tracks.bands["label"].n_unique() - len(reason_lanes(tracks.bands)) for tracks, _ in groups)
    stampless = sum(frame["clock_us"].null_count() for frame in (tables.samples, tables.steps, tables.events))
    counts = {
        "caption_outside": sum(marks.outside for _, marks in groups),
        "caption_lanes": sum(marks.more_lanes for _, marks in groups),
        "caption_reason_lanes": lanes_missing,
        "caption_not_drawn": stampless,
        "caption_groups": left_out,
    }
    return said + [words[key].format(count=f"{count:,}") for key, count in counts.items() if count]


def _alternative(tracks: Tracks, marks: Marks, lines: pl.DataFrame, show_tz: str, lang: str) -> str:
    words, scale = sentences("timeline", lang), tracks.scale
    shown = [tracks.titles[one.name] for one in (*panels(), *run_panels()) if one.name in tracks.titles]
    shown += [words["reasons"]] if tracks.bands.height else []
    shown += [words["events"]] if marks.lanes.height else []
    count = lines["label"].n_unique()
    named = [short(label) for label in lines.filter(pl.col("named").is_not_null())["label"].unique(maintain_order=True)]
    gpus = ""
    if count:
        key = "alt_gpus" if named else "alt_gpus_one" if count == 1 else "alt_gpus_plain"
        gpus = words[key].format(count=count, named=", ".join(named))
    marked = ", ".join(f"{row[1]} ({when(scale, row[0], show_tz)})" for row in marks.marks.iter_rows())
    return (
        words["alt"]
        .format(
            axis=axis_title(scale, show_tz, lang=lang),
            start=when(scale, scale.start_us, show_tz),
            end=when(scale, scale.end_us, show_tz),
            panels="; ".join(shown),
            gpus=gpus,
            marks=words["alt_marks"].format(marks=marked) if marked else "",
        )
        .strip()
    )
