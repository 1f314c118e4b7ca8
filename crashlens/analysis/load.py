"""How often was a GPU sampled, when was it loaded, how often was it held back, and how close was it to its limit?"""

import polars as pl

from crashlens.catalog.reasons import bits_of, classes, documented_bits, reasons
from crashlens.schemas import need

_LOADED_BY = ("gpu_utilization_ratio", "sm_active_ratio", "power_draw_w")


def measure_cadence(samples: pl.DataFrame) -> pl.DataFrame:
    """How far apart the samples of each GPU are.

    Args:
        samples: Columns `gpu_key`, `line`, `clock_id`, `clock_us`, `time_utc` of the `samples` table, any row order.

    Returns:
        One row per GPU, sorted by key: `gpu_key` (str), `samples` (uint32), `cadence_s` (float, median distance),
        `longest_gap_s` (float) and `gap_line` (uint32, the sample behind that gap). Distances are null with fewer than
        two samples that share a clock; two samples of one moment do not count as a distance.

    Raises:
        MissingColumnError: A column is absent.
    """
    need(samples, "gpu_key", "line", "clock_id", "clock_us", "time_utc")
    part = ["gpu_key", "clock_id"]
    apart = pl.when(pl.col("apart_us") > 0).then(pl.col("apart_us")) / 1e6
    return (
        samples.select("gpu_key", "line", "clock_id", "clock_us", "time_utc")
        .with_columns(at_us=pl.coalesce(pl.col("time_utc").dt.timestamp("us"), "clock_us"))
        .sort("gpu_key", "clock_id", "at_us", "line")
        .with_columns(apart_us=pl.col("at_us").diff().over(part))
        .group_by("gpu_key", maintain_order=True)
        .agg(
            samples=pl.len(),
            cadence_s=apart.median(),
            longest_gap_s=apart.max(),
            gap_line=pl.col("line").sort_by(apart.fill_null(0.0), descending=True, maintain_order=True).first(),
        )
        .with_columns(gap_line=pl.when(pl.col("longest_gap_s").is_not_null()).then(pl.col("gap_line")))
    )


def mark_loaded(samples: pl.DataFrame, *, loaded_utilization_ratio: float) -> pl.DataFrame:
    """Say of every sample whether its GPU was loaded, and by which signal that was judged.

    Per GPU the first of these that has a value decides: `gpu_utilization_ratio`, `sm_active_ratio`, `power_draw_w` over
    the enforced limit (else the requested, else the default one). High utilization is not proof of work: a kernel that
    only waits counts as running.

    Args:
        samples: Column `gpu_key` and those of the signals above of the `samples` table.
        loaded_utilization_ratio: From this share on, 0 to 1, a sample counts as loaded; applied to all three signals.

    Returns:
        `samples` in its row order with `loaded` (bool, null where the telling signal has no value) and `loaded_by`
        (str, null where the GPU has none of the signals).

    Raises:
        MissingColumnError: A column is absent.
    """
    limits = ("enforced_power_limit_w", "requested_power_limit_w", "default_power_limit_w")
    need(samples, "gpu_key", *_LOADED_BY, *limits)
    limit = pl.coalesce(*limits)
    shares = {
        "gpu_utilization_ratio": pl.col("gpu_utilization_ratio"),
        "sm_active_ratio": pl.col("sm_active_ratio"),
        "power_draw_w": pl.when(limit > 0).then(pl.col("power_draw_w") / limit),
    }
    told = {name: share.is_not_null().any().over("gpu_key") for name, share in shares.items()}
    by = pl.coalesce(*(pl.when(told[name]).then(pl.lit(name)) for name in _LOADED_BY))
    share = pl.coalesce(*(pl.when(pl.col("loaded_by") == name).then(shares[name]) for name in _LOADED_BY))
    return samples.with_columns(loaded_by=by).with_columns(loaded=share >= loaded_utilization_ratio)


def measure_reason_shares(samples: pl.DataFrame, *, loaded_utilization_ratio: float) -> pl.DataFrame:
    """In which share of its samples each class of clocks event reason was set, per GPU.

    Args:
        samples: The `samples` table, any row order.
        loaded_utilization_ratio: See `mark_loaded`.

    Returns:
        One row per GPU and class, sorted so: `gpu_key` (str), `reason_class` (str), `samples` (uint32, samples whose
        source reports on a bit of this class), `set` (uint32, those of them in which it is set), `share` (float, 0 to
        1, null where no sample reports on it: unknown, not zero), `loaded_samples`, `loaded_set`, `loaded_share` (the
        same among loaded samples), `loaded_by` (str, the signal that told load), `bits` (uint64, bits of the class that
        were seen), `source_id`, `first_line` and `last_line` (first and last sample with it set).

    Raises:
        MissingColumnError: A column is absent; see `coverage`.
    """
    need(samples, "gpu_key", "source_id", "line", "clocks_event_reasons", "clocks_event_reasons_known")
    marked = mark_loaded(samples, loaded_utilization_ratio=loaded_utilization_ratio)
    masks = [int(mask) for mask in marked["clocks_event_reasons"].drop_nulls().unique()]
    names = list(dict.fromkeys(reason.reason_class for reason in reasons()))
    if any("unknown" in classes(mask) for mask in masks):
        names.append("unknown")
    mask, known = pl.col("clocks_event_reasons"), pl.col("clocks_event_reasons_known")
    parts: list[pl.DataFrame] = []
    for name in names:
        bits = bits_of(name) if name != "unknown" else ~documented_bits() & (2**64 - 1)
        is_set = mask.replace_strict(
            masks, [name in classes(item) for item in masks], default=None, return_dtype=pl.Boolean
        )
        told = mask.is_not_null() & (is_set | known.and_(pl.lit(bits, pl.UInt64)).ne(0).fill_null(value=False))
        parts.append(
            marked.with_columns(told=told.fill_null(value=False), is_set=is_set.fill_null(value=False))
            .with_columns(in_load=pl.col("told") & pl.col("loaded").fill_null(value=False))
            .group_by("gpu_key", maintain_order=True)
            .agg(
                reason_class=pl.lit(name),
                samples=pl.col("told").sum(),
                set=pl.col("is_set").sum(),
                loaded_samples=pl.col("in_load").sum(),
                loaded_set=(pl.col("in_load") & pl.col("is_set")).sum(),
                loaded_by=pl.first("loaded_by"),
                bits=mask.filter(pl.col("is_set")).and_(pl.lit(bits, pl.UInt64)).bitwise_or(),
                source_id=pl.first("source_id"),
                first_line=pl.col("line").filter(pl.col("is_set")).min(),
                last_line=pl.col("line").filter(pl.col("is_set")).max(),
            )
        )
    return (
        pl.concat(parts)
        .with_columns(
            share=pl.when(pl.col("samples") > 0).then(pl.col("set") / pl.col("samples")),
            loaded_share=pl.when(pl.col("loaded_samples") > 0).then(pl.col("loaded_set") / pl.col("loaded_samples")),
        )
        .sort("gpu_key", "reason_class")
        .select(
            "gpu_key",
            "reason_class",
            "samples",
            "set",
            "share",
            "loaded_samples",
            "loaded_set",
            "loaded_share",
            "loaded_by",
            "bits",
            "source_id",
            "first_line",
            "last_line",
        )
    )


def measure_power_headroom(samples: pl.DataFrame) -> pl.DataFrame:
    """How close the power draw was to the enforced limit while the software power cap was set, per GPU.

    A cap at nearly the whole limit is what boost clocks do at full load; one far below it is odd. Averages hide spikes.

    Args:
        samples: The `samples` table, any row order.

    Returns:
        One row per GPU, sorted by key: `gpu_key` (str), `capped_samples` (uint32, power cap set), `samples` (uint32,
        those with draw and enforced limit), `draw_to_limit_ratio` (float, median over them), `lowest_ratio`,
        `highest_ratio`, `power_draw_w` and `enforced_power_limit_w` (medians over capped samples),
        `enforced_to_default_ratio` (median over all samples; below 1 somebody lowered the limit),
        `highest_enforced_w`, `highest_default_w` (over all samples), `source_id`, `first_line` (first capped sample).
        Ratios are null where a limit was not collected.

    Raises:
        MissingColumnError: A column is absent; see `coverage`.

    Source: power-cap bit 0x4, NVML API reference; judged against the enforced limit, nvidia-smi manual.
    """
    need(samples, "gpu_key", "line", "clocks_event_reasons", "power_draw_w", "enforced_power_limit_w")
    cap = pl.lit(bits_of("power_cap"), pl.UInt64)
    capped = pl.col("clocks_event_reasons").and_(cap).ne(0).fill_null(value=False)
    enforced, default = pl.col("enforced_power_limit_w"), pl.col("default_power_limit_w")
    ratio = pl.when(enforced > 0).then(pl.col("power_draw_w") / enforced).filter(capped).drop_nulls()
    return (
        samples.sort("gpu_key", "line")
        .group_by("gpu_key", maintain_order=True)
        .agg(
            capped_samples=capped.sum(),
            samples=ratio.len(),
            draw_to_limit_ratio=ratio.median(),
            lowest_ratio=ratio.min(),
            highest_ratio=ratio.max(),
            power_draw_w=pl.col("power_draw_w").filter(capped).median(),
            enforced_power_limit_w=enforced.filter(capped).median(),
            enforced_to_default_ratio=pl.when(default > 0).then(enforced / default).median(),
            highest_enforced_w=enforced.max(),
            highest_default_w=default.max(),
            source_id=pl.first("source_id"),
            first_line=pl.col("line").filter(capped).first(),
        )
    )
