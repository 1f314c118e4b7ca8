from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crashlens.analysis.change import clock_series, measure_change, throughput_series
from crashlens.catalog.signals import samples_schema
from crashlens.errors import MissingColumnError
from crashlens.scan.member import Member
from crashlens.schemas import BASE_SCHEMAS, STEPS
from crashlens.sources.parsers import nvidia_smi_csv
from crashlens.sources.writer import ReadOptions, TableWriter

START = datetime(2026, 10, 1, 8, tzinfo=UTC)
SECOND = 1_000_000
SETTINGS = {"block_s": 10.0, "least_blocks": 5, "resamples": 500, "seed": 20261001}


def series(values: list[float], *, first_s: int = 0) -> pl.DataFrame:
    """One value per second on a clock of its own."""
    return pl.DataFrame({"clock_us": [(first_s + n) * SECOND for n in range(len(values))], "value": values})


def windows(a: int, b: int, c: int, d: int) -> dict[str, tuple[int, int]]:
    return {"before": (a * SECOND, b * SECOND), "after": (c * SECOND, d * SECOND)}


def test_a_constant_change_has_a_ratio_without_spread() -> None:
    got = measure_change(
        series([100.0] * 100 + [75.0] * 100), **windows(0, 100, 100, 200), statistic="median", **SETTINGS
    )
    assert got is not None
    assert (got.before, got.after, got.ratio, got.interval) == (100.0, 75.0, 0.75, (0.75, 0.75))
    assert (got.n, got.blocks, got.seed) == ((100, 100), (10, 10), 20261001)
    assert got.method == "median; 95 % interval from 500 block-bootstrap draws, blocks of 10 s"


def test_windows_are_half_open() -> None:
    got = measure_change(series([1.0] * 10 + [9.0] * 10), **windows(0, 10, 10, 20), statistic="mean", **SETTINGS)
    assert got is not None
    assert (got.before, got.after, got.n) == (1.0, 9.0, (10, 10))


def test_too_few_blocks_give_no_interval_and_say_so() -> None:
    got = measure_change(series([1.0, 2.0, 3.0] * 20), **windows(0, 40, 40, 60), statistic="mean", **SETTINGS)
    assert got is not None
    assert (got.interval, got.seed, got.blocks) == (None, None, (4, 2))
    assert "fewer than 5 blocks of 10 s" in got.method


@pytest.mark.parametrize("statistic", ["median", "mean"])
def test_the_same_seed_gives_the_same_interval_in_any_row_order(statistic: str) -> None:
    random = np.random.default_rng(1)
    table = series((100 + random.normal(0, 5, 300)).tolist() + (80 + random.normal(0, 5, 300)).tolist())
    first = measure_change(table, **windows(0, 300, 300, 600), statistic=statistic, **SETTINGS)
    again = measure_change(
        table.sample(fraction=1.0, shuffle=True, seed=3), **windows(0, 300, 300, 600), statistic=statistic, **SETTINGS
    )
    assert first == again
    assert first is not None
    assert first.interval is not None
    low, high = first.interval
    assert low < first.ratio < high
    assert high - low < 0.1


def test_the_interval_covers_the_true_ratio_about_as_often_as_it_says() -> None:
    # 60 draws with a true ratio of 0.8; a 95 % interval missing more than 9 of them has odds below 1 in 1000.
    random = np.random.default_rng(7)
    missed = 0
    for seed in range(60):
        values = (10 + random.normal(0, 1, 200)).tolist() + (8 + random.normal(0, 1, 200)).tolist()
        got = measure_change(
            series(values),
            **windows(0, 200, 200, 400),
            statistic="mean",
            block_s=5.0,
            least_blocks=5,
            resamples=300,
            seed=seed,
        )
        assert got is not None
        assert got.interval is not None
        missed += not got.interval[0] <= 0.8 <= got.interval[1]
    assert missed <= 9


def test_slow_waves_widen_the_interval_when_blocks_hold_them() -> None:
    wave = (100 + 20 * np.sign(np.sin(np.arange(600) * 2 * np.pi / 60))).tolist()
    sizes = {}
    for block_s in (1.0, 30.0):
        got = measure_change(
            series(wave),
            **windows(0, 300, 300, 600),
            statistic="mean",
            block_s=block_s,
            least_blocks=5,
            resamples=400,
            seed=1,
        )
        assert got is not None
        assert got.interval is not None
        sizes[block_s] = got.interval[1] - got.interval[0]
    assert sizes[30.0] > 2 * sizes[1.0]


def test_nothing_to_compare_is_none() -> None:
    table = series([1.0, 2.0])
    assert measure_change(table, **windows(0, 2, 5, 9), statistic="mean", **SETTINGS) is None
    assert measure_change(series([0.0, 5.0]), **windows(0, 1, 1, 2), statistic="mean", **SETTINGS) is None
    odd = pl.DataFrame({"clock_us": [0, 1, None], "value": [float("nan"), None, 3.0]})
    assert measure_change(odd, **windows(0, 1, 1, 2), statistic="mean", **SETTINGS) is None


def test_utc_counts_where_it_is_there() -> None:
    moments = [START + timedelta(seconds=n) for n in range(4)]
    table = series([1.0, 1.0, 4.0, 4.0]).with_columns(time_utc=pl.Series(moments, dtype=pl.Datetime("us", "UTC")))
    zero = round(START.timestamp()) * SECOND
    utc = {"before": (zero, zero + 2 * SECOND), "after": (zero + 2 * SECOND, zero + 4 * SECOND)}
    got = measure_change(table, **utc, statistic="mean", **SETTINGS)
    assert got is not None
    assert got.ratio == 4.0
    unplaced = table.with_columns(time_utc=pl.lit(None, pl.Datetime("us", "UTC")))
    local = measure_change(unplaced, **windows(0, 2, 2, 4), statistic="mean", **SETTINGS)
    assert local is not None
    assert local.ratio == 4.0


def test_a_series_without_a_time_is_a_wrong_call() -> None:
    with pytest.raises(MissingColumnError, match="neither time_utc nor clock_us"):
        measure_change(pl.DataFrame({"value": [1.0]}), **windows(0, 1, 1, 2), statistic="mean", **SETTINGS)


def steps(*rows: dict[str, object]) -> pl.DataFrame:
    return STEPS.frame(
        [
            {
                "source_id": 1,
                "line": n + 1,
                "clock_id": "1:utc",
                "clock_us": n * SECOND,
                "time_utc": START + timedelta(seconds=n),
                **row,
            }
            for n, row in enumerate(rows)
        ]
    )


def test_tokens_come_before_samples_before_step_times() -> None:
    both = {"step": 1, "tokens_per_s": 900.0, "samples_per_s": 3.0, "step_time_s": 0.5}
    assert throughput_series(steps(both)).select("metric", "value").rows() == [("tokens_per_s", 900.0)]
    del both["tokens_per_s"]
    assert throughput_series(steps(both)).select("metric", "value").rows() == [("samples_per_s", 3.0)]
    del both["samples_per_s"]
    assert throughput_series(steps(both)).select("metric", "value").rows() == [("steps_per_s", 2.0)]


def test_one_value_per_step_is_the_median_over_ranks() -> None:
    got = throughput_series(
        steps(
            {"step": 1, "rank": 0, "step_time_s": 0.5},
            {"step": 1, "rank": 1, "step_time_s": 1.0},
            {"step": 1, "rank": 2, "step_time_s": 0.25},
            {"step": 2, "rank": 0, "step_time_s": 0.0},
            {"step": 3, "rank": 0, "step_time_s": 4.0},
        )
    )
    assert got.select("step", "value", "ranks", "line").rows() == [(1, 2.0, 3, 1), (3, 0.25, 1, 5)]


def test_a_step_trained_again_is_a_row_of_its_own() -> None:
    got = throughput_series(
        steps({"step": 7, "rank": 0, "tokens_per_s": 5.0}, {"step": 7, "rank": 0, "tokens_per_s": 9.0})
    )
    assert got["value"].to_list() == [5.0, 9.0]


def test_steps_without_a_number_stay_apart() -> None:
    got = throughput_series(steps({"tokens_per_s": 5.0}, {"tokens_per_s": 9.0}))
    assert got["value"].to_list() == [5.0, 9.0]
    assert throughput_series(STEPS.empty()).height == 0


def test_the_clock_of_one_gpu_falls_back_to_the_graphics_clock() -> None:
    table = samples_schema().frame(
        [
            {
                "source_id": 1,
                "line": 2,
                "gpu_key": "a",
                "clock_us": 2,
                "sm_clock_mhz": 1980.0,
                "graphics_clock_mhz": 1.0,
            },
            {"source_id": 1, "line": 3, "gpu_key": "a", "clock_us": 1, "sm_clock_mhz": None},
            {"source_id": 1, "line": 4, "gpu_key": "b", "clock_us": 1, "graphics_clock_mhz": 525.0},
        ]
    )
    assert clock_series(table, "a").select("metric", "value", "line").rows() == [("sm_clock_mhz", 1980.0, 2)]
    assert clock_series(table, "b").select("metric", "value", "line").rows() == [("graphics_clock_mhz", 525.0, 4)]
    assert clock_series(table, "c").height == 0


@pytest.mark.shared_data
def test_a_real_locked_clock_is_compared_on_its_own_clock(shared: Path) -> None:
    path = shared / "data/runs/locked_clocks/compute_05_conv3d_forward_clk525_r1_power.csv.gz"
    out = TableWriter(1, ReadOptions(), BASE_SCHEMAS | {"samples": samples_schema()})
    nvidia_smi_csv.parse(Member(path.name, path), out)
    clock = clock_series(pl.concat(out.frames["samples"]), "s1:gpu")
    first, last = clock["clock_us"][0], clock["clock_us"][-1]
    half = (first + last) // 2
    got = measure_change(clock, before=(first, half), after=(half, last + 1), statistic="median", **SETTINGS)
    assert got is not None
    assert (got.before, got.ratio, sum(got.n)) == (525.0, 1.0, clock.height)
