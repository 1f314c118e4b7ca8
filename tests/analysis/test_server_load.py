"""Shares of the load lines of a server: what requests waited for. How much of their time was queue."""

from functools import partial

import polars as pl
import pytest

from crashlens.analysis.server_load import QueueShare, measure_queue
from crashlens.analysis.server_load import measure_load as measured

measure_load = partial(measured, full_ratio=0.9, starved_token_s=0.2)


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


def test_who_is_held_and_does_not_run_waits() -> None:
    got = measure_load(
        metrics({"requests_active": 9.0, "requests_running": 6.0}, {"requests_active": 6.0, "requests_running": 6.0})
    )
    assert got is not None
    assert (got.lines, got.waiting, got.most_waiting) == (2, 0.5, 3)


def test_blocks_in_use_are_a_share_of_all_blocks() -> None:
    got = measure_load(metrics({"requests_waiting": 1.0, "kv_cache_blocks_used": 95.0, "kv_cache_blocks_max": 100.0}))
    assert got is not None
    assert (got.full, got.highest_kv) == (1.0, 0.95)


@pytest.mark.parametrize(("limit", "share"), [(None, 0.0), (10, 0.5), (11, 0.0)])
def test_the_limit_of_running_requests_is_reached_in_a_share_of_the_lines(limit: int | None, share: float) -> None:
    got = measure_load(metrics(load(5, 0.2, 0, 900), load(5, 0.2, 0, 900, running=9)), request_limit=limit)
    assert got is not None
    assert got.at_limit == share


def test_lines_without_prompts_are_compared_while_no_more_requests_run() -> None:
    starved, calm, crowded = load(5, 0.2, 9000, 20), load(5, 0.2, 0, 500), load(5, 0.2, 0, 900, running=30)
    got = measure_load(metrics(starved, calm, crowded, starved))
    assert got is not None
    assert (got.starved_per_s, got.calm_per_s) == (20, 500)


def test_a_prompt_in_a_line_of_its_own_counts_for_the_next_line_of_generation() -> None:
    def decode(per_s: float) -> dict[str, float]:
        return {"requests_waiting": 4.0, "requests_running": 10.0, "generation_tokens_per_s": per_s}

    prompt = {"requests_waiting": 4.0, "requests_running": 10.0, "prompt_tokens": 8192.0}
    got = measure_load(metrics(decode(600), prompt, prompt, decode(30), decode(590)))
    assert got is not None
    assert (got.prefill, got.starved_per_s, got.calm_per_s) == (1 / 3, 30, 595)


def test_the_queue_is_a_share_of_all_time() -> None:
    assert measure_queue([(3.0, 4.0), (1.0, 4.0)]) == QueueShare(records=2, share=0.5, queue_s=2.0, total_s=4.0)


@pytest.mark.parametrize("times", [[], [(0.0, 0.0)]])
def test_without_any_time_no_share_is_measured(times: list[tuple[float, float]]) -> None:
    assert measure_queue(times) is None
