"""Shares of the load lines of a server: what requests waited for."""

import polars as pl
import pytest

from crashlens.conclude.serving import measure_load


def metrics(*lines: dict[str, float]) -> pl.DataFrame:
    rows = [
        {"line": number, "time_utc": None, "name": name, "value": value}
        for number, line in enumerate(lines, 1)
        for name, value in line.items()
    ]
    return pl.DataFrame(
        rows, schema={"line": pl.UInt32, "time_utc": pl.Datetime, "name": pl.String, "value": pl.Float64}
    )


def load(waiting: float, kv: float, prompt: float, generation: float, running: float = 10) -> dict[str, float]:
    return {
        "requests_waiting": waiting,
        "requests_running": running,
        "kv_cache_usage_ratio": kv,
        "prompt_tokens_per_s": prompt,
        "generation_tokens_per_s": generation,
    }


def test_a_full_cache_with_requests_waiting_is_a_share_of_the_lines() -> None:
    got = measure_load(
        metrics(load(5, 0.95, 0, 900), load(5, 0.80, 0, 900), load(0, 0.99, 0, 900), load(2, 0.90, 0, 900))
    )
    assert got is not None
    assert (got.lines, got.waiting, got.full, got.highest_kv, got.most_waiting) == (4, 0.75, 0.5, 0.99, 5)


def test_requests_starve_only_while_prompts_are_processed() -> None:
    starved, idle, alone = load(5, 0.2, 9000, 20), load(5, 0.2, 0, 20), load(5, 0.2, 9000, 4, running=1)
    got = measure_load(metrics(starved, idle, alone, starved))
    assert got is not None
    assert got.prefill == 0.5


@pytest.mark.parametrize("lines", [(), ({"kv_cache_usage_ratio": 0.99},)])
def test_without_a_count_of_waiting_requests_nothing_is_measured(lines: tuple[dict[str, float], ...]) -> None:
    assert measure_load(metrics(*lines)) is None


def test_a_series_that_is_absent_counts_for_nothing() -> None:
    got = measure_load(metrics({"requests_waiting": 3.0}))
    assert got is not None
    assert (got.waiting, got.full, got.prefill, got.highest_kv) == (1.0, 0.0, 0.0, 0.0)
