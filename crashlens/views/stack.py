"""How is one time axis drawn? Panels whose plot areas align, built with Altair.

Data travel beside the specification by name, already reduced to pixels: validating thousands of rows takes longer
than drawing them. Series that a finding names come last, so that nothing covers them.
"""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import altair as alt
import polars as pl

from crashlens.views.axis import axis_title, ticks
from crashlens.views.chart_fonts import FAMILIES
from crashlens.views.devices import natural
from crashlens.views.encoding import Panel, gpu_colours, ink, mark_colours, panels, reason_classes, run_panels, size
from crashlens.views.label_rows import CHARACTER, Side, place_labels
from crashlens.views.labels import sentences
from crashlens.views.marks import Marks
from crashlens.views.terminal import width_of
from crashlens.views.tracks import RUN, Tracks
from crashlens.views.visible import visible

_FLAT = 0.1  # a y axis spans at least this share of its values: noise must not look like a swing
_LONGEST_NAME = 60
_Y_TICKS = 3
_EDGE = 1e-9  # a value on a tick belongs to it

Draw = Callable[[str], alt.LayerChart]
Rows = list[dict[str, Any]]


class Palette:
    """Which colour each GPU has, and what the legend says.

    Args:
        lines: `gpu_key`, `label`, `named` as `devices.gpu_lines` gives them.
        lang: Language of the legend, `en` or `ko`.
    """

    def __init__(self, lines: pl.DataFrame, *, lang: str = "en") -> None:
        self._lines, self._lang = lines, lang
        colours = gpu_colours().affected
        named = lines.filter(pl.col("named").is_not_null()).sort("named")
        self._named: dict[str, str] = {row["gpu_key"]: colours[row["named"] % len(colours)] for row in named.to_dicts()}
        self._plain = gpu_colours().others if self._named else gpu_colours().all_alike

    def colour(self) -> pl.Expr:
        """The colour of `gpu_key`, as an expression."""
        known = {**self._named, RUN: gpu_colours().run}
        return pl.col("gpu_key").replace_strict(
            list(known), list(known.values()), default=self._plain, return_dtype=pl.String
        )

    def legend(self) -> list[tuple[str, str]]:
        """`(colour, words)` of the GPU series, named ones first."""
        words = sentences("timeline", self._lang)
        total = self._lines.select("label").n_unique()
        if not self._named:
            return [(self._plain, words["legend_all"].format(count=total))] if total > 1 else []
        labels: dict[str, str] = dict(self._lines.select("gpu_key", "label").iter_rows())
        named: dict[str, str] = {}
        for key, colour in self._named.items():
            named.setdefault(colour, words["legend_named"].format(label=short(labels[key])))
        others = total - len({labels[key] for key in self._named})
        return [*named.items(), *([(self._plain, words["legend_others"].format(count=others))] if others else [])]


class Group:
    """All panels of one time axis.

    Args:
        tracks: What to draw of the telemetry.
        marks: What to draw of the records.
        palette: Colours of the GPUs.
        show_tz: IANA zone of the labels.
        prefix: Start of the names of its data, different for each group of one picture.
        lang: Language of the words, `en` or `ko`.

    Attributes:
        datasets: Rows by name, as the panels refer to them.
    """

    def __init__(
        self, tracks: Tracks, marks: Marks, palette: Palette, *, show_tz: str, prefix: str, lang: str = "en"
    ) -> None:
        self.datasets: dict[str, Rows] = {}
        self._tracks, self._marks, self._palette, self._prefix = tracks, marks, palette, prefix
        self._lang = lang
        scale = tracks.scale
        span = scale.end_us - scale.start_us
        self._ticks = {
            round((at - scale.start_us) / span * size().width, 1): label for at, label in ticks(scale, show_tz)
        }
        self._title = axis_title(scale, show_tz, lang=lang)
        self._rules = marks.marks.select(
            x=scale.pixel("time_us").round(1),
            label=_short_label("label"),
            colour=_role_colours(),
        )

    def draw(self) -> list[alt.LayerChart]:
        """The panels, top to bottom; the time axis is labelled under the last one."""
        titles = self._tracks.titles
        draws: list[tuple[list[alt.LayerChart], Draw]] = [
            ([], self._series(one, size().gpu_line)) for one in panels() if one.name in titles
        ]
        if self._tracks.bands.height:
            draws.append(self._reasons())
        draws += [([], self._series(one, size().run_line)) for one in run_panels() if one.name in titles]
        if self._marks.lanes.height:
            draws.append(([], self._records()))
        parts = self._mark_labels()
        if self._tracks.longest_gap_s is not None:
            parts += self._strip(self._palette.legend(), heading="")
        for place, (above, draw) in enumerate(draws):
            parts += [*above, draw(self._title if place == len(draws) - 1 else "")]
        return parts

    # --- panels ---------------------------------------------------------------------------------------------------

    def _series(self, panel: Panel, line_width: float) -> Draw:
        track, name = pl.col("track"), panel.name
        rows = self._tracks.tracks.filter((track == name) | track.str.starts_with(f"{name}/"))
        low, high, y_ticks = y_axis_of([*rows["value"].drop_nulls(), *panel.whole])
        rows = rows.with_columns(
            x=self._tracks.scale.pixel("time_us").round(1), value=_quantised(low, high), colour=self._palette.colour()
        )
        scale = alt.Scale(domain=[low, high], nice=False, zero=False)
        y = alt.Y("value:Q", scale=scale, axis=_y_axis(values=y_ticks, format=_tick_format(y_ticks)))
        limit = rows.filter(track != name).with_columns(colour=pl.lit(gpu_colours().limit))
        drawn = rows.filter(track == name)
        layers = (
            (drawn.filter(~pl.col("affected")), line_width, [1, 0]),
            (limit, 1.0, [5, 3]),
            (drawn.filter(pl.col("affected")), line_width + 0.7, [1, 0]),
        )

        def draw(title: str) -> alt.LayerChart:
            x = self._x(title)
            made: list[alt.Chart] = []
            for part, width, dash in layers:
                colour = alt.Color("colour:N", scale=None)
                if part.height:
                    line = alt.Chart(self._data(part.select("x", "value", "gpu_key", "colour"))).mark_line(
                        strokeWidth=width, strokeDash=dash, strokeJoin="round", strokeCap="butt", clip=True
                    )
                    made.append(line.encode(x=x, y=y, detail="gpu_key:N", color=colour, order="x:Q"))
                alone = part.filter(pl.col("alone")).select("x", "value", "colour")
                if alone.height:
                    dots = alt.Chart(self._data(alone)).mark_circle(size=16, opacity=1, clip=True)
                    made.append(dots.encode(x=x, y=y, color=colour))
            return self._panel([*made, *self._rule_layer(x)], size().panel, self._tracks.titles[name])

        return draw

    def _reasons(self) -> tuple[list[alt.LayerChart], Draw]:
        scale, bands = self._tracks.scale, self._tracks.bands
        present = set(bands["reason_class"])
        shown = [one for one in reason_classes(self._lang) if one.name in present]
        names = [one.name for one in shown]
        labels = reason_lanes(bands)
        rows = bands.filter(pl.col("label").is_in(labels)).select(
            x=scale.pixel("start_us").round(1),
            x2=pl.max_horizontal(scale.pixel("end_us"), scale.pixel("start_us") + 1).clip(0, size().width).round(1),
            label=_short_label("label"),
            reason_class="reason_class",
            colour=pl.col("reason_class").replace_strict(names, [one.colour for one in shown], return_dtype=pl.String),
        )
        lane = max(size().lane, size().reason_line * len(shown) + 2)
        y = alt.Y("label:N", axis=_y_axis(grid=False), scale=alt.Scale(domain=[short(label) for label in labels]))
        offset = alt.YOffset("reason_class:N", scale=alt.Scale(domain=names))

        def draw(title: str) -> alt.LayerChart:
            x = self._x(title)
            bars = alt.Chart(self._data(rows)).mark_bar(clip=True)
            colour = alt.Color("colour:N", scale=None)
            made = bars.encode(x=x, x2="x2:Q", y=y, yOffset=offset, color=colour)
            return self._panel([made, *self._rule_layer(x)], lane * len(labels), "")

        heading = sentences("timeline", self._lang)["reasons"]
        return self._strip([(one.colour, one.label) for one in shown], heading=heading), draw

    def _records(self) -> Draw:
        scale, lanes = self._tracks.scale, self._marks.lanes
        order = [short(lane) for lane in lanes["lane"].unique(maintain_order=True)]
        rows = lanes.select(
            x=scale.pixel("start_us").clip(0, size().width).round(1),
            x2=scale.pixel("end_us").clip(0, size().width + 1).round(1),
            lane=_short_label("lane"),
            colour=_role_colours(),
        ).unique(maintain_order=True)
        waits = rows.filter(pl.col("x2") > pl.col("x"))
        moments = (
            rows.select(pl.col("x2").alias("x"), "lane", "colour")
            .filter(pl.col("x") <= size().width)
            .unique(maintain_order=True)
        )
        y = alt.Y("lane:N", axis=_y_axis(grid=False), scale=alt.Scale(domain=order))

        def draw(title: str) -> alt.LayerChart:
            x, colour = self._x(title), alt.Color("colour:N", scale=None)
            made: list[alt.Chart] = []
            if waits.height:
                bars = alt.Chart(self._data(waits)).mark_bar(height=4, opacity=0.35)
                made.append(bars.encode(x=x, x2="x2:Q", y=y, color=colour))
            if moments.height:
                moment = alt.Chart(self._data(moments)).mark_tick(height=11, thickness=1.8)
                made.append(moment.encode(x=x, y=y, color=colour))
            height = (size().lane + 3) * len(order)
            return self._panel([*made, *self._rule_layer(x)], height, sentences("timeline", self._lang)["events"])

        return draw

    def _panel(self, layers: list[alt.Chart], height: int, title: str) -> alt.LayerChart:
        panel = _layered(layers, height)
        if title:
            panel.title = alt.TitleParams(
                title,
                anchor="start",
                frame="group",
                fontSize=size().heading,
                fontWeight=600,
                color=ink().text,
                offset=3,
            )
        return panel

    # --- axes, marks, legends ---------------------------------------------------------------------------------------

    def _x(self, title: str) -> alt.X:
        labelled = bool(title)
        axis = alt.Axis(
            values=list(self._ticks),
            labels=labelled,
            ticks=labelled,
            domain=labelled,
            title=title or None,
            labelExpr=f"({json.dumps({f'{at:g}': label for at, label in self._ticks.items()})})[datum.value]",
            gridColor=ink().grid,
            labelColor=ink().quiet,
            titleColor=ink().quiet,
            titleFontWeight="normal",
            labelFontSize=size().label,
            titleFontSize=size().label,
        )
        return alt.X("x:Q", scale=alt.Scale(domain=[0, size().width], nice=False, zero=False), axis=axis)

    def _rule_layer(self, x: alt.X) -> list[alt.Chart]:
        if not self._rules.height:
            return []
        apart = self._rules.select(pl.col("x").round(), "colour").unique("x", keep="first", maintain_order=True)
        rules = alt.Chart(self._data(apart)).mark_rule(strokeWidth=1, opacity=0.75)
        return [rules.encode(x=x, color=alt.Color("colour:N", scale=None))]

    def _mark_labels(self) -> list[alt.LayerChart]:
        """Labels over their rules, each where it meets no other label and no other rule."""
        placed = place_labels([(row["x"], row["label"]) for row in self._rules.to_dicts()])
        if not placed:
            return []
        high = size().mark_row
        height = high * (max(one.row for one in placed) + 1)
        rows = self._rules.with_columns(
            top=pl.Series([one.row * high for one in placed]),
            y=pl.Series([(one.row + 0.5) * high for one in placed]),
            y2=pl.lit(height),
            align=pl.Series([one.align for one in placed]),
        )
        down = alt.Scale(domain=[0, height], nice=False, reverse=True)
        y = alt.Y("y:Q", scale=down, axis=_no_axis())
        x = alt.X("x:Q", scale=alt.Scale(domain=[0, size().width], nice=False, zero=False), axis=None)
        colour = alt.Color("colour:N", scale=None)
        made: list[alt.Chart] = [
            alt.Chart(self._data(rows.select("x", "top", "y2", "colour")))
            .mark_rule(strokeWidth=1, opacity=0.75)
            .encode(x=x, y=alt.Y("top:Q", scale=down, axis=_no_axis()), y2="y2:Q", color=colour)
        ]
        sides: tuple[tuple[Side, int], ...] = (("left", 4), ("right", -4))
        for align, shift in sides:
            part = rows.filter(pl.col("align") == align).select("x", "y", "label", "colour")
            if part.height:
                text = alt.Chart(self._data(part)).mark_text(
                    align=align, dx=shift, fontSize=size().label, baseline="middle", fontWeight=500
                )
                made.append(text.encode(x=x, y=y, text="label:N", color=colour))
        return [_bare(made, height)]

    def _strip(self, entries: list[tuple[str, str]], *, heading: str) -> list[alt.LayerChart]:
        """One line of coloured squares with their words, behind a heading."""
        if not entries:
            return []
        at = 0.0 if not heading else CHARACTER * 1.08 * width_of(heading) + 18
        rows: Rows = []
        for colour, words in entries:
            rows.append({"x": at + 5, "text_x": at + 14, "words": words, "colour": colour})
            at += CHARACTER * width_of(words) + 34
        base = alt.Chart(self._data(pl.DataFrame(rows)))
        scale = alt.Scale(domain=[0, size().width], nice=False, zero=False)
        middle = alt.value(7)
        square = base.mark_square(size=70, opacity=1).encode(
            x=alt.X("x:Q", scale=scale, axis=None), y=middle, color=alt.Color("colour:N", scale=None)
        )
        words_ = base.mark_text(align="left", fontSize=size().label, color=ink().text, baseline="middle").encode(
            x=alt.X("text_x:Q", scale=scale, axis=None), y=middle, text="words:N"
        )
        made = [square, words_]
        if heading:
            head = alt.Chart(self._data(pl.DataFrame({"x": [0], "words": [heading]})))
            made.append(
                head.mark_text(
                    align="left", fontSize=size().heading, fontWeight=600, color=ink().text, baseline="middle"
                ).encode(x=alt.X("x:Q", scale=scale, axis=None), y=middle, text="words:N")
            )
        return [_bare(made, 14)]

    def _data(self, rows: pl.DataFrame) -> alt.NamedData:
        name = f"{self._prefix}{len(self.datasets)}"
        self.datasets[name] = rows.to_dicts()
        return alt.NamedData(name=name)


def reason_lanes(bands: pl.DataFrame) -> list[str]:
    """Labels of the GPUs whose reasons are drawn, in natural order; where there are too many, named ones first."""
    affected = dict(bands.group_by("label").agg(pl.col("affected").any()).iter_rows())
    kept = sorted(affected, key=lambda label: (not affected[label], natural(label)))[: size().most_lanes]
    return sorted(kept, key=natural)


def specification(groups: Sequence[Sequence[alt.LayerChart]], datasets: dict[str, Rows]) -> dict[str, Any]:
    """The Vega-Lite specification of `groups` of panels, one group under the other, with the data that they name.

    Panels are joined as plain data: Altair would copy and compare each of them at every level.
    """
    stacks = [{"vconcat": [_plain(panel) for panel in panels_], "spacing": size().between} for panels_ in groups]
    return {
        "$schema": alt.SCHEMA_URL,
        "vconcat": stacks,
        "spacing": size().between_groups,
        "background": ink().paper,
        "padding": {"left": 4, "right": 10, "top": 6, "bottom": 4},
        "config": {"aria": False, "font": FAMILIES, "view": {"stroke": ink().grid, "strokeWidth": 1}},
        "datasets": datasets,
    }


def sentence_alone(sentence: str) -> dict[str, Any]:
    """The specification of a picture that says why there is none."""
    drawn = alt.Chart(alt.NamedData(name="alone"))
    text = drawn.mark_text(color=ink().quiet, fontSize=12, limit=size().width).encode(text="text:N")
    return specification([[_bare([text], 40)]], {"alone": [{"text": sentence}]})


def _plain(panel: alt.LayerChart) -> dict[str, Any]:
    made: dict[str, Any] = panel.to_dict(validate=False)
    return {key: value for key, value in made.items() if key not in ("$schema", "config", "datasets")}


def short(label: str) -> str:
    """A name from the input as a chart shows it: unseen characters visible, cut where it is very long."""
    shown = visible(label.replace("\n", " ").replace("\t", " "))
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…"


def _layered(layers: Sequence[alt.Chart], height: int) -> alt.LayerChart:
    return cast("alt.LayerChart", alt.layer(*layers, width=size().width, height=height))


def _bare(layers: Sequence[alt.Chart], height: int) -> alt.LayerChart:
    """Layers without a frame, for labels and legends."""
    panel = _layered(layers, height)
    panel.view = alt.ViewBackground(stroke=None)
    return panel


def _short_label(column: str) -> pl.Expr:
    return pl.col(column).map_elements(short, return_dtype=pl.String)


def _role_colours() -> pl.Expr:
    known = mark_colours()
    return pl.col("role").replace_strict(list(known), list(known.values()), return_dtype=pl.String)


def _y_axis(**more: Any) -> alt.Axis:
    wide = size().label_width
    return alt.Axis(
        title=None,
        minExtent=wide,
        maxExtent=wide,
        labelLimit=wide - 8,
        labelFontSize=size().label,
        labelColor=ink().quiet,
        gridColor=ink().grid,
        domain=False,
        ticks=False,
        labelPadding=6,
        **more,
    )


def _no_axis() -> alt.Axis:
    """Takes the room of a labelled axis, so that all plot areas align, and shows nothing."""
    return _y_axis(labels=False, grid=False)


def y_axis_of(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Ends and ticks of an axis that holds `values`: round numbers, at least a tenth of the values wide."""
    low, high = min(values), max(values)
    room = max(0.0, (max(abs(high), abs(low)) * _FLAT or 1.0) - (high - low)) / 2
    low, high = (low if 0 <= low < room else low - room), high + room
    rough = (high - low) / _Y_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    factors = (1, 2, 2.5, 5, 10) if power >= 10 else (1, 2, 5, 10)  # 2.5 only where no label needs a fraction for it
    step = next(factor * power for factor in factors if factor * power >= rough * (1 - _EDGE))
    first, last = math.floor(low / step + _EDGE), math.ceil(high / step - _EDGE)
    return first * step, last * step, [place * step for place in range(first, last + 1)]


def _tick_format(values: list[float]) -> str:
    step = values[1] - values[0]
    return f",.{max(0, -math.floor(math.log10(step) + _EDGE))}f"


def _quantised(low: float, high: float) -> pl.Expr:
    """Values on steps of half a pixel: finer differences cannot be seen and cost bytes."""
    step = (high - low) / size().panel / 2
    return ((pl.col("value") - low) / step).round() * step + low
