"""Were clocks held back, by what, and what did the run do meanwhile? Thermal, power, brake, setting and idle apart.

The reason mask is a snapshot: a bit that was never sampled is weak evidence of absence, and is worded so.
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from crashlens.analysis.change import Change, clock_series, measure_change, throughput_series
from crashlens.analysis.load import mark_loaded, measure_cadence, measure_power_headroom, measure_reason_shares
from crashlens.analysis.reason_intervals import class_intervals, reason_intervals
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.scene import Scene, used
from crashlens.conclude.wording import clock_text, compose, listed, say
from crashlens.findings import Effect, Evidence, Finding, Place, Role
from crashlens.timebase import Window, from_us

SEED = 20261201
MOST_TURNS = 5  # samples shown per finding
_TURN = "telemetry.clocks_event_reasons"
_HELD = ("thermal", "power_brake", "ambiguous")


@dataclass(frozen=True)
class Held:
    """GPUs of one source whose clocks were held back by one class of reason.

    Attributes:
        reason_class: The class.
        shares: Rows of `measure_reason_shares` of these GPUs.
        span_us: First and last moment of it, on the scale of `utc`.
        utc: Whether that scale is UTC.
    """

    reason_class: str
    shares: list[dict[str, object]]
    span_us: tuple[int, int] | None
    utc: bool

    @property
    def gpu_keys(self) -> list[str]:
        """The GPUs."""
        return [str(row["gpu_key"]) for row in self.shares]

    def share(self, column: str) -> float | None:
        """The largest of a share over the GPUs; None where no GPU has it."""
        values = [float(str(row[column])) for row in self.shares if row[column] is not None]
        return max(values, default=None)

    def share_range(self, column: str, lang: str) -> str:
        """A share over the GPUs as a percentage, or as a range where they differ."""
        values = [float(str(row[column])) for row in self.shares if row[column] is not None]
        if not values:
            return "?"
        low, high = f"{100 * min(values):.1f}", f"{100 * max(values):.1f}"
        return f"{low} %" if low == high else say(lang, "words", "range", low=low, high=high, unit="%")


def conclude_clocks_power(scene: Scene) -> list[Finding]:
    """Findings on clocks and power, one per class of reason and source of telemetry."""
    findings: list[Finding] = []
    for (_source,), samples in scene.tables.samples.group_by("source_id", maintain_order=True):
        if not samples["clocks_event_reasons"].count():
            continue
        found = {held.reason_class: held for held in _held(samples)}
        for reason_class, conclude in _CONCLUDE:
            held = found.get(reason_class)
            finding = conclude(scene, samples, held) if held else None
            if finding is not None:
                findings.append(finding)
        if not findings:
            idle = _idle(scene, samples, found.get("idle"))
            findings += [idle] if idle else []
    return findings


def _held(samples: pl.DataFrame) -> list[Held]:
    loaded = threshold("loaded_utilization_ratio").value
    shares = measure_reason_shares(samples, loaded_utilization_ratio=loaded)
    cadence = measure_cadence(samples)["cadence_s"].median()
    longest_gap_s = threshold("longest_gap_cadences").value * float(str(cadence)) if cadence is not None else 1.0
    stretches = class_intervals(reason_intervals(samples, longest_gap_s=longest_gap_s))
    held: list[Held] = []
    least = threshold("thermal_share_of_loaded").value
    enough = shares.filter((pl.col("set") > 0) & (pl.coalesce("loaded_share", "share") >= least))
    for (name,), rows in enough.group_by("reason_class", maintain_order=True):
        own = stretches.filter((pl.col("reason_class") == name) & pl.col("gpu_key").is_in(rows["gpu_key"].to_list()))
        utc = own["start_utc"].null_count() == 0 and own.height > 0
        columns = ("start_utc", "end_utc") if utc else ("start_us", "end_us")
        span = _span(own, *columns)
        held.append(Held(str(name), list(rows.iter_rows(named=True)), span, utc))
    return held


def _span(stretches: pl.DataFrame, start: str, end: str) -> tuple[int, int] | None:
    if not stretches.height:
        return None
    ends = [
        stretches[name].dt.timestamp("us") if stretches[name].dtype.is_temporal() else stretches[name]
        for name in (start, end)
    ]
    return int(str(ends[0].min())), int(str(ends[1].max())) + 1


def _slowdown(scene: Scene, samples: pl.DataFrame, held: Held, story: str, cause: str) -> Finding:
    clocks = [effect for key in held.gpu_keys for effect in _clock_effect(scene, samples, held, key)]
    throughput = _throughput_effect(scene, held)
    lang = scene.lang
    least = threshold("least_samples").value
    dropped = [
        effect for effect in clocks if effect.ratio <= threshold("clock_drop_ratio").value and min(effect.n) >= least
    ]
    worst = min(clocks, key=lambda effect: effect.ratio, default=None)
    began, ended = _edges(scene, held)
    values: dict[str, object] = {
        "gpus": scene.gpus_phrase(list(held.gpu_keys)),
        "share": _percent(
            held.share("loaded_share") if held.share("loaded_share") is not None else held.share("share")
        ),
        "began": began,
        "ended": ended,
        "clock": "" if worst is None else _clock_text(lang, worst),
        "throughput": _throughput_text(lang, throughput),
        "memory": say(lang, "memory_temperature", "missing") if not samples["memory_temperature_c"].count() else "",
    }
    verdict = "undecided" if held.reason_class == "ambiguous" else ("supported" if dropped else "consistent")
    evidence = _turn_evidence(scene, held)
    first = next((item.place for item in evidence if item.role == "first"), None)
    return compose(
        lang, story, cause, verdict, values,
        first_event=first,
        evidence=evidence,
        window=_window(held),
        devices=scene.devices(list(held.gpu_keys)),
        effects=(*([worst] if worst else []), *([throughput] if throughput else [])),
        rule_ids=(_TURN,),
        thresholds=used(
            "thermal_share_of_loaded",
            "loaded_utilization_ratio",
            "clock_drop_ratio",
            "least_samples",
            "longest_gap_cadences",
        ),
    )  # fmt: skip


def _thermal(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding | None:
    return _slowdown(scene, samples, held, "thermal", "thermal.slowdown")


def _brake(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding | None:
    return _slowdown(scene, samples, held, "power_brake", "power.brake")


def _ambiguous(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding | None:
    return _slowdown(scene, samples, held, "hw_slowdown", "clocks.hw_slowdown")


def _power_cap(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding | None:
    headroom = measure_power_headroom(samples.filter(pl.col("gpu_key").is_in(held.gpu_keys)))
    ratio = headroom["draw_to_limit_ratio"].median()
    at_limit, below = threshold("power_cap_draw_ratio"), threshold("cap_below_limit_draw_ratio")
    if ratio is None or below.value <= float(str(ratio)) < at_limit.value:
        return _cap_undecided(scene, samples, held, headroom)
    share = held.share("loaded_share") if held.share("loaded_share") is not None else held.share("share")
    values: dict[str, object] = {
        "gpus": scene.gpus_phrase(list(held.gpu_keys)),
        "share": _percent(share),
        "draw": _percent(float(str(ratio))),
    }
    if float(str(ratio)) < below.value:
        story, cause, verdict = "cap_below_limit", "power.cap_below_limit", "undecided"
    else:
        story, cause, verdict = "power_cap_normal", "power.software_cap", "benign"
    return compose(
        scene.lang, story, cause, verdict, values,
        first_event=None,
        evidence=_turn_evidence(scene, held, lead="context"),
        window=_window(held),
        devices=scene.devices(list(held.gpu_keys)),
        rule_ids=(_TURN,),
        thresholds=(at_limit, below, *used("thermal_share_of_loaded")),
    )  # fmt: skip


def _cap_undecided(scene: Scene, samples: pl.DataFrame, held: Held, headroom: pl.DataFrame) -> Finding:
    lang = scene.lang
    absent = [
        say(lang, "signals", name)
        for name in ("enforced_power_limit_w", "sm_clock_mhz", "memory_temperature_c")
        if not samples[name].count()
    ]
    absent += [] if scene.tables.steps.height else [say(lang, "signals", "step_time")]
    values: dict[str, object] = {
        "gpus": scene.gpus_phrase(list(held.gpu_keys)),
        "share": held.share_range("share", lang),
        "share_loaded": held.share_range("loaded_share", lang),
        "draw_w": _watts(lang, headroom),
        "thermal": _thermal_bits(lang, samples),
        "missing": listed(lang, absent),
    }
    return compose(
        lang, "power_cap_consistent", "power.software_cap", "consistent", values,
        first_event=None,
        evidence=_turn_evidence(scene, held, lead="context"),
        window=_window(held),
        devices=scene.devices(list(held.gpu_keys)),
        rule_ids=(_TURN,),
        thresholds=used("thermal_share_of_loaded", "loaded_utilization_ratio", "power_cap_draw_ratio"),
    )  # fmt: skip


def _watts(lang: str, headroom: pl.DataFrame) -> str:
    low, high = headroom["power_draw_w"].min(), headroom["power_draw_w"].max()
    if low is None or high is None:
        return say(lang, "words", "unknown")
    ends = f"{float(str(low)):.0f}", f"{float(str(high)):.0f}"
    return f"{ends[0]} W" if ends[0] == ends[1] else say(lang, "words", "range", low=ends[0], high=ends[1], unit="W")


def _thermal_bits(lang: str, samples: pl.DataFrame) -> str:
    rows = measure_reason_shares(samples, loaded_utilization_ratio=0.0).filter(pl.col("reason_class") == "thermal")
    told, seen = int(rows["samples"].sum()), int(rows["set"].sum())
    if not told:
        return say(lang, "thermal_bits", "not_reported")
    return say(lang, "thermal_bits", "some", share=_percent(seen / told)) if seen else say(lang, "thermal_bits", "none")


def _configured(scene: Scene, _samples: pl.DataFrame, held: Held) -> Finding | None:
    return compose(
        scene.lang, "user_setting", "clocks.user_setting", "supported",
        {"gpus": scene.gpus_phrase(list(held.gpu_keys)), "share": _percent(held.share("share"))},
        first_event=None,
        evidence=_turn_evidence(scene, held, lead="context"),
        window=_window(held),
        devices=scene.devices(list(held.gpu_keys)),
        rule_ids=(_TURN,),
        thresholds=used("thermal_share_of_loaded"),
    )  # fmt: skip


def _idle(scene: Scene, samples: pl.DataFrame, held: Held | None) -> Finding | None:
    busy = mark_loaded(samples, loaded_utilization_ratio=threshold("loaded_utilization_ratio").value)["loaded"]
    if held is None or busy.any() or (held.share("share") or 0.0) < 1.0:
        return None
    return compose(
        scene.lang, "idle", "clocks.idle", "benign", {"gpus": scene.gpus_phrase(list(held.gpu_keys))},
        first_event=None,
        evidence=_turn_evidence(scene, held, lead="context"),
        window=_window(held),
        devices=scene.devices(list(held.gpu_keys)),
        rule_ids=(_TURN,),
        thresholds=used("loaded_utilization_ratio"),
    )  # fmt: skip


_CONCLUDE: tuple[tuple[str, Callable[[Scene, pl.DataFrame, Held], Finding | None]], ...] = (
    ("power_brake", _brake),
    ("thermal", _thermal),
    ("ambiguous", _ambiguous),
    ("power_cap", _power_cap),
    ("configured", _configured),
    ("sync_boost", _configured),
)


def _clock_effect(scene: Scene, samples: pl.DataFrame, held: Held, gpu_key: str) -> list[Effect]:
    """The clock of loaded samples with the reason against those of the same GPU without any slowdown reason."""
    if held.span_us is None:
        return []
    marked = mark_loaded(samples, loaded_utilization_ratio=threshold("loaded_utilization_ratio").value)
    values = clock_series(marked.filter(pl.col("loaded").fill_null(value=True)), gpu_key)
    change = _change(values, held.span_us)
    if change is None or not values.height:
        return []
    metric = str(values["metric"][0])
    return [_effect(metric, change, _windows(values, held), subject=scene.gpus_phrase([gpu_key]))]


def _throughput_effect(scene: Scene, held: Held) -> Effect | None:
    if held.span_us is None or not held.utc or not scene.tables.steps.height:
        return None
    series = throughput_series(scene.tables.steps)
    series = series.drop_nulls("time_utc")
    change = _change(series, held.span_us) if series.height else None
    if change is None:
        return None
    return _effect(str(series["metric"][0]), change, _windows(series, held), subject="run")


def _change(values: pl.DataFrame, span_us: tuple[int, int]) -> Change | None:
    if not values.height:
        return None
    times = values["time_utc"].dt.timestamp("us") if values["time_utc"].count() else values["clock_us"]
    start = int(str(times.min()))
    if start >= span_us[0]:
        return None
    return measure_change(
        values,
        before=(start, span_us[0]),
        after=span_us,
        statistic="median",
        block_s=threshold("bootstrap_block_s").value,
        least_blocks=round(threshold("bootstrap_least_blocks").value),
        resamples=round(threshold("bootstrap_resamples").value),
        seed=SEED,
    )


def _windows(values: pl.DataFrame, held: Held) -> tuple[Window, Window] | None:
    if not held.utc or held.span_us is None or not values["time_utc"].count():
        return None
    start = int(str(values["time_utc"].dt.timestamp("us").min()))
    begin, end = held.span_us
    return Window(from_us(start), from_us(begin)), Window(from_us(begin), from_us(end))


def _effect(metric: str, change: Change, windows: tuple[Window, Window] | None, *, subject: str) -> Effect:
    return Effect(
        metric=metric, before=change.before, after=change.after, ratio=change.ratio, interval=change.interval,
        windows=windows, n=change.n, method=change.method, seed=change.seed, subject=subject,
    )  # fmt: skip


def _turn_evidence(scene: Scene, held: Held, *, lead: Role = "first") -> tuple[Evidence, ...]:
    """The samples in which the reason was first and last seen, per GPU; the earliest one leads."""
    own = scene.tables.events.filter((pl.col("rule_id") == _TURN) & pl.col("gpu_key").is_in(held.gpu_keys))
    paths = dict(scene.tables.sources.select("source_id", "path").iter_rows())
    found: list[tuple[int, int, dict[str, str], Evidence]] = []
    for row in own.iter_rows(named=True):
        fields = {item["key"]: item["value"] for item in row["fields"]}
        if fields.get("reason_class") != held.reason_class:
            continue
        note = say(scene.lang, "turns", fields["edge"], gpu=scene.called(row["gpu_key"]), mask=fields["mask"])
        place = Place(paths[row["source_id"]], row["line"])
        item = Evidence(place, "context", row["text"], _TURN, row["time_utc"], note)
        found.append((row["clock_us"] if row["clock_us"] is not None else row["line"], row["line"], fields, item))
    found.sort(key=lambda entry: entry[:2])
    shown = [entry[3] for entry in found][:MOST_TURNS]
    if shown:
        head = shown[0]
        shown[0] = Evidence(head.place, lead, head.text, head.rule_id, head.time_utc, head.note)
    return tuple(shown)


def _edges(scene: Scene, held: Held) -> tuple[str, str]:
    unknown = say(scene.lang, "words", "unknown_time")
    if held.span_us is None:
        return unknown, unknown
    suffix = " UTC" if held.utc else say(scene.lang, "words", "local_clock")
    return tuple(clock_text(from_us(us)) + suffix for us in held.span_us)  # type: ignore[return-value]


def _window(held: Held) -> Window | None:
    return Window(from_us(held.span_us[0]), from_us(held.span_us[1])) if held.utc and held.span_us else None


def _clock_text(lang: str, effect: Effect) -> str:
    return say(
        lang,
        "clock_change",
        "text",
        ratio=f"{effect.ratio:.2f}",
        before=f"{effect.before:.0f}",
        after=f"{effect.after:.0f}",
    )


def _throughput_text(lang: str, effect: Effect | None) -> str:
    if effect is None:
        return say(lang, "throughput_change", "none")
    values: dict[str, object] = {
        "metric": effect.metric,
        "ratio": f"{effect.ratio:.2f}",
        "before": f"{effect.before:,.4g}" if effect.before < 100 else f"{effect.before:,.0f}",
        "after": f"{effect.after:,.4g}" if effect.after < 100 else f"{effect.after:,.0f}",
    }
    if effect.interval is None:
        return say(lang, "throughput_change", "no_interval", **values)
    low, high = effect.interval
    return say(lang, "throughput_change", "text", **values, low=f"{low:.2f}", high=f"{high:.2f}")


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"
