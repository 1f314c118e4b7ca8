"""Every number a finding is judged by has a unit, a meaning and an honest source."""

import re
from pathlib import Path

import pytest

from crashlens.catalog.rows import RowFile
from crashlens.catalog.thresholds import parse_thresholds, threshold, threshold_meaning, thresholds
from crashlens.errors import DataFileError
from crashlens.findings import Threshold

NEEDED = {
    "burst_silence_s": (180, "s"),
    "cross_host_skew_s": (1.0, "s"),
    "loaded_utilization_ratio": (0.5, "1"),
    "thermal_share_of_loaded": (0.10, "1"),
    "power_cap_draw_ratio": (0.95, "1"),
    "cap_below_limit_draw_ratio": (0.85, "1"),
    "temperature_margin_moderate_c": (3, "C"),
    "clock_drop_ratio": (0.95, "1"),
    "throughput_drop_ratio": (0.97, "1"),
    "bootstrap_resamples": (2000, "1"),
    "bootstrap_block_s": (30, "s"),
    "bootstrap_least_blocks": (5, "1"),
    "longest_gap_cadences": (3, "1"),
    "least_samples": (10, "1"),
    "repeat_xid_window_s": (86400, "s"),
    "oom_other_process_share": (0.5, "1"),
    "oom_fragmentation_share": (1.0, "1"),
    "memcpy_nodes_many": (50, "1"),
    "kv_cache_full_ratio": (0.9, "1"),
    "serving_share_of_lines": (0.5, "1"),
    "prefill_starved_token_s": (0.2, "s"),
    "arena_equal_steps": (8, "1"),
    "prefill_contrast_ratio": (4, "1"),
    "queue_share_of_latency": (0.5, "1"),
    "request_records_least": (5, "1"),
    "session_start_slow_s": (10, "s"),
    "copy_share_of_latency": (0.5, "1"),
    "version_change_ratio": (1.05, "1"),
    "image_waste_bytes": (1_000_000_000, "1"),
    "layer_twin_ratio": (0.05, "1"),
    "first_class_tie_s": (1.0, "s"),
}


@pytest.mark.parametrize("name", NEEDED)
def test_the_agreed_values(name: str) -> None:
    found = threshold(name)
    assert isinstance(found, Threshold)
    assert (found.value, found.unit) == NEEDED[name]


def test_only_published_numbers_go_without_the_word_uncalibrated() -> None:
    published = [entry.name for entry in thresholds() if not entry.source.startswith("uncalibrated: ")]
    assert published == ["burst_silence_s", "repeat_xid_window_s"]


def test_the_unit_in_the_name_is_the_unit() -> None:
    for entry in thresholds():
        suffix = re.search(r"_(s|c)$", entry.name)
        assert entry.unit == (suffix[1].replace("c", "C") if suffix else "1"), entry.name
        assert threshold_meaning(entry.name).endswith(".")


def test_an_unknown_name_is_a_data_error_that_names_the_closest() -> None:
    for ask in (threshold, threshold_meaning):
        with pytest.raises(DataFileError, match=r'no threshold is called "burst_silence" \(burst_silence_s') as caught:
            ask("burst_silence")
        assert not isinstance(caught.value, KeyError)


def test_a_number_without_a_source_or_given_twice_is_refused() -> None:
    row = '[[threshold]]\nname = "a"\nvalue = 1\nunit = "1"\nmeaning = "m"\nsource = ""\n'
    with pytest.raises(DataFileError) as caught:
        parse_thresholds(RowFile("t.toml", row + row, "threshold"))
    assert caught.value.faults == (
        't.toml:1: a has no source; write "uncalibrated" and why this value',
        "t.toml:7: a stands twice",
        't.toml:7: a has no source; write "uncalibrated" and why this value',
    )


@pytest.mark.shared_data
def test_suggested_values_are_those_of_the_decision_tables(shared: Path) -> None:
    tables = (shared / "knowledge" / "decision_tables.md").read_text(encoding="utf-8")
    for name, words in {
        "thermal_share_of_loaded": ">= 10 % of loaded samples (S)",
        "temperature_margin_moderate_c": "margin <= 3 C (S)",
        "power_cap_draw_ratio": "draw >= 95 % of ENFORCED limit (S)",
        "cap_below_limit_draw_ratio": "draw < 85 % of enforced (S)",
        "first_class_tie_s": "within 1 s (S)",
        "burst_silence_s": "3 min silence rule",
    }.items():
        assert words in tables, name
