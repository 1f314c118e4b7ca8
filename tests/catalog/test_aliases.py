import pytest

from crashlens.catalog.aliases import (
    ReasonColumn,
    field_alias,
    field_role,
    number_words,
    parse_sampler,
    reason_column,
    samplers,
    unit_scale,
)
from crashlens.errors import DataFileError

QUERY = "nvidia_smi_query"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("clocks.sm", "clocks.current.sm"),
        ("clocks.gr", "clocks.current.graphics"),
        ("clocks.mem", "clocks.current.memory"),
        ("gpu.power.current_limit", "enforced.power.limit"),
        ("remapped_rows.sbe", "remapped_rows.correctable"),
    ],
)
def test_old_and_new_names_mean_the_same(old: str, new: str) -> None:
    assert field_alias(QUERY, old) == field_alias(QUERY, new) is not None


def test_what_power_averages_over_is_kept() -> None:
    kinds = {name: field_alias(QUERY, name) for name in ("power.draw", "power.draw.average", "power.draw.instant")}
    assert {name: alias.power_draw_kind for name, alias in kinds.items() if alias} == {
        "power.draw": "unspecified",
        "power.draw.average": "average_1s",
        "power.draw.instant": "instant",
    }


@pytest.mark.parametrize("prefix", ["clocks_event_reasons.", "clocks_throttle_reasons."])
def test_reason_columns_are_known_under_both_prefixes(prefix: str) -> None:
    assert reason_column(QUERY, prefix + "active") == ReasonColumn("mask")
    assert reason_column(QUERY, prefix + "supported") == ReasonColumn("known")
    assert reason_column(QUERY, prefix + "hw_power_brake_slowdown") == ReasonColumn("bit", 0x80)
    assert reason_column(QUERY, prefix + "something_new") is None


def test_names_compare_without_case_and_by_family() -> None:
    assert field_role(QUERY, "UUID") == "gpu_uuid"
    assert field_alias("another_tool", "power.draw") is None


@pytest.mark.parametrize(
    ("printed", "expected", "factor"),
    [
        ("", "W", 1.0),
        ("W", "W", 1.0),
        ("mW", "W", 0.001),
        ("GiB", "MiB", 1024.0),
        ("ms", "us", 1000.0),
        ("MHz", "W", None),
        ("?", "W", None),
    ],
)
def test_units_convert_only_within_what_they_measure(printed: str, expected: str, factor: float | None) -> None:
    assert unit_scale(printed, expected) == (factor if factor is None else pytest.approx(factor))


def test_words_that_are_numbers() -> None:
    assert number_words()["not active"] == 0
    assert number_words()["enabled"] == 1


MAPPING = {
    "name": "ours",
    "requires": ["ts", "watts"],
    "time": {"column": "ts", "kind": "epoch_ms"},
    "gpu": {"column": "dev", "identity": "gpu_uuid"},
    "signals": {"Watts": {"signal": "power_draw_w", "factor": 0.001}},
}


def test_a_mapping_of_a_site_is_read() -> None:
    sampler = parse_sampler(MAPPING)
    assert sampler.fits(frozenset({"ts", "dev", "watts"}))
    assert not sampler.fits(frozenset({"ts", "dev"}))
    assert (sampler.time_kind, sampler.identity) == ("epoch_ms", "gpu_uuid")
    assert (sampler.signals["watts"].signal, sampler.signals["watts"].factor) == ("power_draw_w", 0.001)


def test_all_faults_of_a_mapping_come_at_once() -> None:
    wrong = {
        "name": "ours",
        "time": {"kind": "moon"},
        "gpu": {"column": "dev", "identity": "nickname"},
        "sentinels": "zero",
        "signals": {"watts": {"signal": "power_w"}, "temp": {"signal": "gpu_temperature_c", "factor": "ten"}},
    }
    with pytest.raises(DataFileError) as raised:
        parse_sampler(wrong)
    said = " ".join(raised.value.faults)
    for part in ("power_w", "factor 'ten'", "requires", "column is missing", "kind is one of", "identity", "sentinels"):
        assert part in said


def test_a_mapping_without_signals_is_refused() -> None:
    with pytest.raises(DataFileError, match="no column is mapped"):
        parse_sampler({"name": "empty", "requires": ["a"], "time": {"column": "a", "kind": "iso"}})


def test_the_mappings_that_come_along_are_sound() -> None:
    assert [sampler.name for sampler in samplers()] == ["dcgm_sampler", "dcgm_columns", "elapsed_sampler"]
