import polars as pl
import pytest

from crashlens.catalog.signals import samples_schema, signal, signals
from crashlens.errors import DataFileError
from crashlens.schemas import SAMPLES

KINDS = {"gauge", "counter", "mask", "setting", "state"}


def test_every_signal_says_what_it_is_and_where_that_is_written() -> None:
    for item in signals():
        assert item.meaning, item.name
        assert item.source, item.name
        assert item.kind in KINDS, item.name


@pytest.mark.parametrize(
    ("ending", "unit"),
    [
        ("_w", "W"),
        ("_c", "C"),
        ("_mhz", "MHz"),
        ("_mib", "MiB"),
        ("_ns", "ns"),
        ("_mj", "mJ"),
        ("_ratio", "1"),
        ("_bytes_per_s", "B/s"),
    ],
)
def test_the_unit_in_the_name_is_the_unit(ending: str, unit: str) -> None:
    named = [item for item in signals() if item.name.endswith(ending)]
    assert named
    assert {item.unit for item in named} == {unit}


def test_the_schema_is_the_key_then_every_signal() -> None:
    names = [column.name for column in samples_schema().columns]
    own = [column.name for column in SAMPLES.columns]
    assert names == [*own, *(item.name for item in signals())]
    assert len(set(names)) == len(names)
    assert samples_schema().polars()["clocks_event_reasons"] == pl.UInt64


def test_words_of_the_word_list_are_there() -> None:
    names = {item.name for item in signals()}
    assert {
        "power_draw_w",
        "enforced_power_limit_w",
        "requested_power_limit_w",
        "default_power_limit_w",
        "total_energy_mj",
        "gpu_temperature_c",
        "memory_temperature_c",
        "temperature_margin_c",
        "sm_clock_mhz",
        "graphics_clock_mhz",
        "memory_clock_mhz",
        "max_sm_clock_mhz",
        "gpu_utilization_ratio",
        "memory_utilization_ratio",
        "sm_active_ratio",
        "tensor_active_ratio",
        "dram_active_ratio",
        "fp16_active_ratio",
        "memory_used_mib",
        "memory_total_mib",
        "clocks_event_reasons",
        "clocks_event_reasons_known",
        "thermal_violation_ns",
        "power_violation_ns",
        "pcie_tx_bytes_per_s",
        "nvlink_rx_bytes_per_s",
        "last_xid",
        "pstate",
    } <= names


def test_an_unknown_signal_is_named() -> None:
    with pytest.raises(DataFileError, match="power_w"):
        signal("power_w")
