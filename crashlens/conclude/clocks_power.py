"""Were clocks held back, by what, and what did the run do meanwhile? Thermal, power, brake, setting and idle apart.

The reason mask is a snapshot: a bit that was never sampled is weak evidence of absence, and is worded so.
"""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from crashlens.analysis.held import (
    Held,
    Measured,
    Resampling,
    find_held,
    measure_clock,
    measure_lead_in,
    measure_throughput,
)
from crashlens.analysis.load import mark_loaded, measure_power_headroom, measure_reason_shares
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.scene import Scene, used
from crashlens.conclude.wording import clock_text, compose, listed, say
from crashlens.findings import Effect, Evidence, Finding, Place, Role, Verdict
from crashlens.timebase import Window, from_us

SEED = 20261201
MOST_TURNS = 5  # samples shown per finding
_TURN = "telemetry.clocks_event_reasons"

Kind = tuple[str, str, Verdict]


def conclude_clocks_power(scene: Scene) -> list[Finding]:
    """Findings on clocks and power, one per class of reason and source of telemetry."""
    findings: list[Finding] = []
    for (_source,), samples in scene.tables.samples.group_by("source_id", maintain_order=True):
        if not samples["clocks_event_reasons"].count():
            continue
        found = _held(samples)
        told = [conclude(scene, samples, found[name]) for name, conclude in _CONCLUDE if name in found]
        if not told and "idle" in found:
            idle = _idle(scene, samples, found["idle"])
            told = [idle] if idle is not None else []
        findings += told
    return findings


def _held(samples: pl.DataFrame) -> dict[str, Held]:
    found = find_held(
        samples,
        loaded_utilization_ratio=threshold("loaded_utilization_ratio").value,
        least_share=threshold("thermal_share_of_loaded").value,
        longest_gap_cadences=threshold("longest_gap_cadences").value,
    )
    return {held.reason_class: held for held in found}


def _slowdown(scene: Scene, samples: pl.DataFrame, held: Held, story: str, cause: str) -> Finding:
    clocks = _clock_effects(scene, samples, held)
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
        "share": _share_of(lang, held),
        "began": began,
        "ended": ended,
        "clock": _clock_text(lang, worst, held),
        "throughput": _throughput_text(samples, throughput, scene, held),
        "memory": say(lang, "memory_temperature", "missing") if not samples["memory_temperature_c"].count() else "",
    }
    open_ = held.reason_class == "ambiguous" or held.never_loaded
    verdict = "undecided" if open_ else ("supported" if dropped else "consistent")
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
            "throughput_drop_ratio",
            "lead_in_steps",
        ),
    )  # fmt: skip


def _thermal(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding:
    return _slowdown(scene, samples, held, "thermal", "thermal.slowdown")


def _brake(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding:
    return _slowdown(scene, samples, held, "power_brake", "power.brake")


def _ambiguous(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding:
    return _slowdown(scene, samples, held, "hw_slowdown", "clocks.hw_slowdown")


def _power_cap(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding:
    headroom = measure_power_headroom(samples.filter(pl.col("gpu_key").is_in(held.gpu_keys)))
    ratio: float | None = headroom.select(pl.col("draw_to_limit_ratio").median()).item()
    at_limit, below = threshold("power_cap_draw_ratio"), threshold("cap_below_limit_draw_ratio")
    if ratio is None or below.value <= ratio < at_limit.value:
        return _cap_undecided(scene, samples, held, headroom)
    lowered = _lowered(scene, samples, headroom) if ratio >= at_limit.value else {}
    if lowered:
        return _lowered_limit(scene, samples, held, headroom, lowered)
    values: dict[str, object] = {
        "gpus": scene.gpus_phrase(list(held.gpu_keys)),
        "share": _share_of(scene.lang, held),
        "draw": _percent(ratio),
    }
    if ratio < below.value:
        kind: Kind = ("cap_below_limit", "power.cap_below_limit", "undecided")
    else:
        kind = ("power_cap_normal", "power.software_cap", "benign")
    names = ("power_cap_draw_ratio", "cap_below_limit_draw_ratio", "thermal_share_of_loaded")
    return _state(scene, held, kind, values, names)


def _lowered(scene: Scene, samples: pl.DataFrame, headroom: pl.DataFrame) -> dict[str, tuple[str, float]]:
    """GPUs whose limit was clearly lower while they were capped than what it is compared with: that, and its watts.

    A limit that all samples share says nothing about whether it was lowered: then the cap is the ordinary state.
    """
    least = threshold("lowered_limit_ratio").value
    models = dict(scene.tables.gpus.select("gpu_key", "model").iter_rows())
    highest = dict(samples.group_by("gpu_key").agg(pl.col("enforced_power_limit_w").max()).iter_rows())
    found: dict[str, tuple[str, float]] = {}
    for row in headroom.iter_rows(named=True):
        limit: float | None = row["enforced_power_limit_w"]
        alike = [watts for key, watts in highest.items() if watts and models.get(key) == models.get(row["gpu_key"])]
        everywhere = max(alike, default=None)
        others = (("own", row["highest_enforced_w"]), ("default", row["highest_default_w"]), ("sisters", everywhere))
        above = next(((name, watts) for name, watts in others if limit and watts and limit < least * watts), None)
        if above is not None:
            found[row["gpu_key"]] = above
    return found


_COMPARED = ("own", "default", "sisters")


def _lowered_limit(
    scene: Scene, samples: pl.DataFrame, held: Held, headroom: pl.DataFrame, lowered: dict[str, tuple[str, float]]
) -> Finding:
    lang, keys = scene.lang, list(lowered)
    own = replace(held, shares=tuple(row for row in held.shares if row["gpu_key"] in lowered))
    capped = headroom.filter(pl.col("gpu_key").is_in(keys))
    clocks, throughput = _clock_effects(scene, samples, own), _throughput_effect(scene, own)
    worst = min(clocks, key=lambda effect: effect.ratio, default=None)
    compared_with, watts = min(lowered.values(), key=lambda entry: _COMPARED.index(entry[0]))
    # Boards of two models may have two limits by design.
    verdict: Verdict = "consistent" if compared_with == "sisters" else "supported"
    values: dict[str, object] = {
        "gpus": scene.gpus_phrase([*keys]),
        "share": _share_of(lang, own),
        "limit": f"{capped['enforced_power_limit_w'].min():.0f} W",
        "draw": _percent(capped.select(pl.col("draw_to_limit_ratio").median()).item()),
        "compared": say(lang, "power_limit", compared_with, watts=f"{watts:.0f} W"),
        "clock": _clock_text(lang, worst, own),
        "throughput": _throughput_text(samples, throughput, scene, own),
    }
    names = (
        "power_cap_draw_ratio",
        "lowered_limit_ratio",
        "thermal_share_of_loaded",
        "throughput_drop_ratio",
        "lead_in_steps",
    )
    effects = (*([worst] if worst else []), *([throughput] if throughput else []))
    return _state(scene, own, ("power_limit_lowered", "power.software_cap", verdict), values, names, effects=effects)


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
        "share": _share_range(lang, held.shares_of("share")),
        "share_loaded": _share_range(lang, held.shares_of("loaded_share")),
        "draw_w": _watts(lang, headroom),
        "thermal": _thermal_bits(lang, samples),
        "missing": listed(lang, absent),
    }
    names = ("thermal_share_of_loaded", "loaded_utilization_ratio", "power_cap_draw_ratio")
    return _state(scene, held, ("power_cap_consistent", "power.software_cap", "consistent"), values, names)


def _share_range(lang: str, shares: list[float]) -> str:
    """A share over the GPUs as a percentage, or as a range where they differ."""
    if not shares:
        return say(lang, "words", "unknown")
    low, high = f"{100 * min(shares):.1f}", f"{100 * max(shares):.1f}"
    return f"{low} %" if low == high else say(lang, "words", "range", low=low, high=high, unit="%")


def _watts(lang: str, headroom: pl.DataFrame) -> str:
    draws: list[float] = headroom["power_draw_w"].drop_nulls().to_list()
    if not draws:
        return say(lang, "words", "unknown")
    ends = f"{min(draws):.0f}", f"{max(draws):.0f}"
    return f"{ends[0]} W" if ends[0] == ends[1] else say(lang, "words", "range", low=ends[0], high=ends[1], unit="W")


def _thermal_bits(lang: str, samples: pl.DataFrame) -> str:
    rows = measure_reason_shares(samples, loaded_utilization_ratio=0.0).filter(pl.col("reason_class") == "thermal")
    told, seen = int(rows["samples"].sum()), int(rows["set"].sum())
    if not told:
        return say(lang, "thermal_bits", "not_reported")
    return say(lang, "thermal_bits", "some", share=_percent(seen / told)) if seen else say(lang, "thermal_bits", "none")


def _configured(scene: Scene, _samples: pl.DataFrame, held: Held) -> Finding:
    return _setting(scene, held, "user_setting")


def _sync_boost(scene: Scene, _samples: pl.DataFrame, held: Held) -> Finding:
    return _setting(scene, held, "sync_boost")


def _setting(scene: Scene, held: Held, story: str) -> Finding:
    share = _percent(max(held.shares_of("share"), default=None))
    values: dict[str, object] = {"gpus": scene.gpus_phrase(list(held.gpu_keys)), "share": share}
    return _state(scene, held, (story, "clocks.user_setting", "supported"), values, ("thermal_share_of_loaded",))


def _idle(scene: Scene, samples: pl.DataFrame, held: Held) -> Finding | None:
    busy = mark_loaded(samples, loaded_utilization_ratio=threshold("loaded_utilization_ratio").value)["loaded"]
    if busy.any() or min(held.shares_of("share"), default=0.0) < 1.0:
        return None
    values: dict[str, object] = {"gpus": scene.gpus_phrase(list(held.gpu_keys))}
    return _state(scene, held, ("idle", "clocks.idle", "benign"), values, ("loaded_utilization_ratio",))


def _state(
    scene: Scene,
    held: Held,
    kind: Kind,
    values: dict[str, object],
    names: tuple[str, ...],
    *,
    effects: tuple[Effect, ...] = (),
) -> Finding:
    """A finding on a state, which has samples but no first event; `kind` is story, cause and verdict."""
    story, cause, verdict = kind
    return compose(
        scene.lang, story, cause, verdict, values,
        first_event=None,
        evidence=_turn_evidence(scene, held, lead="context"),
        window=_window(held),
        devices=scene.devices(list(held.gpu_keys)),
        effects=effects,
        rule_ids=(_TURN,),
        thresholds=used(*names),
    )  # fmt: skip


_CONCLUDE: tuple[tuple[str, Callable[[Scene, pl.DataFrame, Held], Finding]], ...] = (
    ("power_brake", _brake),
    ("thermal", _thermal),
    ("ambiguous", _ambiguous),
    ("power_cap", _power_cap),
    ("configured", _configured),
    ("sync_boost", _sync_boost),
)


def _clock_effects(scene: Scene, samples: pl.DataFrame, held: Held) -> list[Effect]:
    measured = (_clock_effect(scene, samples, held, key) for key in held.gpu_keys)
    return [effect for effect in measured if effect is not None]


def _clock_effect(scene: Scene, samples: pl.DataFrame, held: Held, gpu_key: str) -> Effect | None:
    loaded = threshold("loaded_utilization_ratio").value
    measured = measure_clock(samples, gpu_key, held, loaded_utilization_ratio=loaded, by=_resampling())
    return None if measured is None else _effect(measured, held, subject=scene.gpus_phrase([gpu_key]))


def _throughput_effect(scene: Scene, held: Held) -> Effect | None:
    measured = measure_throughput(scene.tables.steps, held, by=_resampling())
    return None if measured is None else _effect(measured, held, subject="run")


def _resampling() -> Resampling:
    return Resampling(
        block_s=threshold("bootstrap_block_s").value,
        least_blocks=round(threshold("bootstrap_least_blocks").value),
        resamples=round(threshold("bootstrap_resamples").value),
        seed=SEED,
    )


def _effect(measured: Measured, held: Held, *, subject: str) -> Effect:
    change = measured.change
    spans = (measured.reference_us, held.span_us)
    windows = tuple(Window(from_us(span[0]), from_us(span[1])) for span in spans if span is not None and held.utc)
    return Effect(
        metric=measured.metric, before=change.before, after=change.after, ratio=change.ratio, interval=change.interval,
        windows=(windows[0], windows[1]) if len(windows) == 2 else None, n=change.n, method=change.method,
        seed=change.seed, subject=subject,
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


def _clock_text(lang: str, effect: Effect | None, held: Held) -> str:
    if effect is None:
        return ""
    return say(
        lang,
        "clock_change",
        "text" if len(held.gpu_keys) == 1 else "of_several",
        gpu=effect.subject,
        ratio=f"{effect.ratio:.2f}",
        before=f"{effect.before:.0f}",
        after=f"{effect.after:.0f}",
    )


def _throughput_text(samples: pl.DataFrame, effect: Effect | None, scene: Scene, held: Held) -> str:
    lang = scene.lang
    if effect is None:
        return say(lang, "throughput_change", "no_reference" if held.utc and _steps_within(scene, held) else "none")
    values: dict[str, object] = {
        "metric": effect.metric,
        "ratio": f"{effect.ratio:.2f}",
        "before": f"{effect.before:,.4g}" if effect.before < 100 else f"{effect.before:,.0f}",
        "after": f"{effect.after:,.4g}" if effect.after < 100 else f"{effect.after:,.0f}",
    }
    if effect.ratio > threshold("throughput_drop_ratio").value:
        return say(lang, "throughput_change", "no_drop", **values)
    lead_in = _lead_in(scene, samples, effect, held)
    if effect.interval is None:
        return say(lang, "throughput_change", "no_interval", **values) + lead_in
    low, high = effect.interval
    return say(lang, "throughput_change", "text", **values, low=f"{low:.2f}", high=f"{high:.2f}") + lead_in


def _lead_in(scene: Scene, samples: pl.DataFrame, effect: Effect, held: Held) -> str:
    """That the run was already slow before the reason can have begun, or nothing. Source: decision table T6."""
    if held.span_us is None:
        return ""
    at = samples.filter(pl.col("gpu_key").is_in(held.gpu_keys))["time_utc"].dt.timestamp("us")
    until_us = at.filter(at < held.span_us[0]).max()
    steps = round(threshold("lead_in_steps").value)
    if not isinstance(until_us, int):
        return ""
    ratio = measure_lead_in(scene.tables.steps, held, until_us=until_us, lead_in_steps=steps)
    if ratio is None or ratio > (1 + effect.ratio) / 2:
        return ""
    return say(scene.lang, "throughput_change", "before", steps=steps, ratio=f"{ratio:.2f}")


def _steps_within(scene: Scene, held: Held) -> bool:
    window = _window(held)
    times = scene.tables.steps["time_utc"].drop_nulls()
    return window is not None and bool(times.is_between(window.start, window.end, closed="left").any())


def _share_of(lang: str, held: Held) -> str:
    """The largest share and of what it is one."""
    loaded = bool(held.shares_of("loaded_share"))
    key = "of_loaded" if loaded else ("of_never_loaded" if held.never_loaded else "of_samples")
    return say(lang, "share", key, share=_percent(held.largest_share))


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"
