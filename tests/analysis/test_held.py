"""Which GPUs count as held back, and was the run slow before?"""

from datetime import UTC, datetime, timedelta

import polars as pl

from crashlens.analysis.held import Held, find_held, measure_lead_in
from crashlens.catalog.signals import samples_schema
from crashlens.schemas import STEPS

START = datetime(2026, 10, 1, 9, 0, tzinfo=UTC)
SECOND = 1_000_000
START_US = int(START.timestamp()) * SECOND
THERMAL = 0x20


def samples(loads: dict[str, float | None]) -> pl.DataFrame:
    """Twelve samples per GPU, the thermal bit set in all of them."""
    return samples_schema().frame(
        [
            {
                "gpu_key": gpu, "source_id": 0, "line": 2 + n, "clock_id": "c", "clock_us": START_US + n * SECOND,
                "time_utc": START + timedelta(seconds=n), "gpu_utilization_ratio": load,
                "clocks_event_reasons": THERMAL, "clocks_event_reasons_known": 0xFF,
            }
            for gpu, load in loads.items()
            for n in range(12)
        ]
    )  # fmt: skip


def thermal(loads: dict[str, float | None]) -> Held:
    (held,) = find_held(samples(loads), loaded_utilization_ratio=0.5, least_share=0.1, longest_gap_cadences=3)
    return held


def test_a_gpu_that_was_never_loaded_is_named_only_alone() -> None:
    assert thermal({"busy": 0.9, "idle": 0.0}).gpu_keys == ["busy"]
    assert thermal({"idle": 0.0}).gpu_keys == ["idle"]


def test_never_loaded_is_claimed_only_where_load_is_told() -> None:
    assert thermal({"idle": 0.0}).never_loaded
    assert not thermal({"busy": 0.9}).never_loaded
    assert not thermal({"unknown": None}).never_loaded


def steps(*values: float) -> pl.DataFrame:
    return STEPS.frame(
        [
            {
                "source_id": 1, "line": n + 1, "clock_id": "c", "clock_us": START_US + n * SECOND,
                "time_utc": START + timedelta(seconds=n), "attempt": 0, "step": n, "tokens_per_s": value,
            }
            for n, value in enumerate(values)
        ]
    )  # fmt: skip


def test_the_last_steps_before_the_reason_are_compared_with_those_before_them() -> None:
    held = thermal({"busy": 0.9})
    run = steps(100, 100, 100, 100, 60, 60, 60, 10)
    assert measure_lead_in(run, held, until_us=START_US + 6 * SECOND, lead_in_steps=3) == 0.6
    assert measure_lead_in(run, held, until_us=START_US + 4 * SECOND, lead_in_steps=3) is None  # five, six are needed
    assert measure_lead_in(steps(), held, until_us=START_US, lead_in_steps=3) is None
