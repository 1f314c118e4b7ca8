"""Do most GPUs of one source say that they are busy at hardly more power than one that says it is idle?

A kernel that waits for another rank counts as running: utilization 100 %, little power. The GPU whose process did not
come shows no utilization and holds as much memory as the others.
"""

from dataclasses import dataclass

import polars as pl

from crashlens.schemas import need

LEAST_BUSY = 3  # fewer GPUs show no pattern
LEAST_POLLS = 3
_SIGNALS = ("gpu_utilization_ratio", "power_draw_w", "memory_used_mib")


@dataclass(frozen=True, slots=True)
class Spinning:
    """GPUs that are busy throughout at low power, and those beside them that are idle throughout.

    Attributes:
        busy: Their `gpu_key`.
        idle: Those of the idle ones.
        busy_power_w: Median power of the busy ones over all samples.
        idle_power_w: That of the idle ones.
        polls: Samples of the GPU that has the fewest.
    """

    busy: tuple[str, ...]
    idle: tuple[str, ...]
    busy_power_w: float
    idle_power_w: float
    polls: int


def find_spinning(
    samples: pl.DataFrame, *, busy_ratio: float, idle_ratio: float, most_power_ratio: float, least_memory_ratio: float
) -> Spinning | None:
    """The pattern in the samples of one source, or None.

    Args:
        samples: Columns `gpu_key`, `gpu_utilization_ratio`, `power_draw_w`, `memory_used_mib`, any row order.
        busy_ratio: Utilization that every sample of a busy GPU reaches, 0 to 1.
        idle_ratio: Utilization that no sample of an idle GPU exceeds, 0 to 1.
        most_power_ratio: Power of the busy GPUs over that of the idle ones, at most.
        least_memory_ratio: Memory in use on the idle GPUs over that of the busy ones, at least: of the same job.

    Returns:
        The pattern; None where it does not hold, or a signal has no value.

    Raises:
        MissingColumnError: A column is absent.
    """
    need(samples, "gpu_key", *_SIGNALS)
    usage = pl.col("gpu_utilization_ratio")
    per_gpu = (
        samples.drop_nulls(_SIGNALS)
        .group_by("gpu_key", maintain_order=True)
        .agg(
            polls=pl.len(),
            lowest=usage.min(),
            highest=usage.max(),
            power=pl.col("power_draw_w").median(),
            memory=pl.col("memory_used_mib").median(),
        )
        .filter(pl.col("polls") >= LEAST_POLLS)
    )
    busy = per_gpu.filter(pl.col("lowest") >= busy_ratio)
    idle = per_gpu.filter(pl.col("highest") <= idle_ratio)
    if busy.height < LEAST_BUSY or not 0 < idle.height < busy.height or busy.height + idle.height < per_gpu.height:
        return None
    busy_w, idle_w = _median(busy, "power"), _median(idle, "power")
    alike = _median(idle, "memory") >= least_memory_ratio * _median(busy, "memory") > 0
    if not alike or idle_w <= 0 or busy_w > most_power_ratio * idle_w:
        return None
    return Spinning(
        tuple(busy["gpu_key"].to_list()), tuple(idle["gpu_key"].to_list()), busy_w, idle_w,
        int(per_gpu.select(pl.col("polls").min()).item()),
    )  # fmt: skip


def _median(frame: pl.DataFrame, column: str) -> float:
    value: float = frame.select(pl.col(column).median()).item()
    return value
