import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.catalog.aliases import FieldAlias
from crashlens.catalog.signals import signal
from crashlens.sources.cells import (
    ReadColumn,
    join_reasons,
    read_flags,
    read_masks,
    read_numbers,
    read_texts,
    split_cells,
)

POWER = (signal("power_draw_w"), FieldAlias("power_draw_w", "W"))
LOAD = (signal("gpu_utilization_ratio"), FieldAlias("gpu_utilization_ratio", "%", 0.01))
ENERGY = (signal("total_energy_mj"), FieldAlias("total_energy_mj"))
STATES = {None, "not_supported", "not_collected", "unreadable", "error", "reset_required"}


def pairs(column: ReadColumn) -> list[tuple[object, str | None]]:
    return list(zip(column.values.to_list(), column.states.to_list(), strict=True))


def test_a_number_with_or_without_its_unit() -> None:
    cells = pl.Series(["22.89 W", "22.89", "1.5 kW", "12 MHz", "+3", ".5 W", "1e3"])
    assert pairs(read_numbers(cells, *POWER, blanks="none")) == [
        (22.89, None),
        (22.89, None),
        (1500.0, None),
        (None, "unreadable"),
        (3.0, None),
        (0.5, None),
        (1000.0, None),
    ]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("[N/A]", "not_supported"),
        ("[Unknown Error]", "error"),
        ("[GPU requires reset]", "reset_required"),
        ("[A text of tomorrow]", "error"),
        ("", "not_collected"),
        ("6^C", "unreadable"),
        ("nan", "not_collected"),
        ("inf", "unreadable"),
        ("1e999", "unreadable"),
        ("12 34", "unreadable"),
    ],
)
def test_a_missing_number_has_a_reason(text: str, state: str) -> None:
    assert pairs(read_numbers(pl.Series([text, "5"]), *POWER, blanks="none")) == [(None, state), (5.0, None)]


def test_a_ratio_above_one_is_an_error_not_a_load() -> None:
    cells = pl.Series(["97 %", "808334905", "0", "100 %"])
    assert pairs(read_numbers(cells, *LOAD, blanks="none")) == [(0.97, None), (None, "error"), (0.0, None), (1.0, None)]


def test_a_memory_sensor_that_answers_zero_is_not_there() -> None:
    alias = FieldAlias("memory_temperature_c", "C")
    got = read_numbers(pl.Series(["0", "57"]), signal("memory_temperature_c"), alias, blanks="none")
    assert pairs(got) == [(None, "not_supported"), (57.0, None)]


def test_a_counter_keeps_every_digit() -> None:
    cells = pl.Series(["9007199254740993", "9007199254740995", "[N/A]"])
    assert pairs(read_numbers(cells, *ENERGY, blanks="none")) == [
        (9007199254740993, None),
        (9007199254740995, None),
        (None, "not_supported"),
    ]


def test_microseconds_become_nanoseconds() -> None:
    alias = FieldAlias("sw_power_cap_violation_ns", "us", 1000.0)
    got = read_numbers(pl.Series(["200740215 us"]), signal("sw_power_cap_violation_ns"), alias, blanks="none")
    assert pairs(got) == [(200740215000, None)]


def test_blank_numbers_of_dcgm_are_no_values_where_they_may_stand() -> None:
    cells = pl.Series(["2147483632", "140737488355330.0", "71.5"])
    assert pairs(read_numbers(cells, *POWER, blanks="dcgm")) == [
        (None, "not_collected"),
        (None, "not_supported"),
        (71.5, None),
    ]
    assert pairs(read_numbers(cells, *POWER, blanks="none"))[0] == (2147483632.0, None)


def test_words_of_a_state_column() -> None:
    alias = FieldAlias("remapped_rows_pending")
    got = read_numbers(pl.Series(["No", "Yes", "0", "maybe"]), signal("remapped_rows_pending"), alias, blanks="none")
    assert pairs(got) == [(0, None), (1, None), (0, None), (None, "unreadable")]


def test_masks_are_numbers_never_strings() -> None:
    # 15 digits instead of 16, as public scripts copy it: still 4, which is the power cap.
    cells = pl.Series(["0x000000000000004", "0x0000000000000060", "4", "4.0", "18446744073709551615", "-1", "[N/A]"])
    assert pairs(read_masks(cells)) == [
        (4, None),
        (0x60, None),
        (4, None),
        (4, None),
        (2**64 - 1, None),
        (None, "unreadable"),
        (None, "not_supported"),
    ]


def test_texts_keep_the_word_none_and_drop_tokens() -> None:
    assert pairs(read_texts(pl.Series(["None", "P0", "[N/A]", "", "x" * 100]))) == [
        ("None", None),
        ("P0", None),
        (None, "not_supported"),
        (None, "not_collected"),
        ("x" * 64, None),
    ]


def test_single_reasons_become_a_mask_and_say_what_they_cover() -> None:
    bits = [
        (0x4, read_flags(pl.Series(["Active", "Not Active", "[N/A]", "[N/A]"]))),
        (0x20, read_flags(pl.Series(["Active", "[N/A]", "Not Active", "[N/A]"]))),
    ]
    joined, known = join_reasons(None, None, bits, 4)
    assert pairs(joined) == [(0x24, None), (0, None), (0, None), (None, "not_supported")]
    assert known.to_list() == [0x24, 0x4, 0x20, None]


def test_a_whole_mask_covers_all_documented_bits_unless_the_device_says_less() -> None:
    mask = read_masks(pl.Series(["0x4", "0x4", "[N/A]"]))
    supported = read_masks(pl.Series(["0x7", "[N/A]", "0x7"]))
    joined, known = join_reasons(mask, supported, [], 3)
    assert pairs(joined) == [(4, None), (4, None), (None, "not_supported")]
    assert known.to_list() == [0x7, 0x1FF, None]


def test_cells_are_stripped_and_counted() -> None:
    cells, counts = split_cells(pl.Series(["a, b ,c", "a,b", "a,b,c,d", '"a",b,']), ",", 3)
    assert counts.to_list() == [3, 2, 4, 3]
    assert cells.rows()[0] == ("a", "b", "c")
    assert cells.rows()[3] == ("a", "b", "")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=6))
def test_no_text_raises_and_a_value_xor_a_state_is_there(texts: list[str]) -> None:
    cells = pl.Series(texts, dtype=pl.String)
    for column in (
        read_numbers(cells, *POWER, blanks="dcgm"),
        read_numbers(cells, *ENERGY, blanks="none"),
        read_numbers(cells, *LOAD, blanks="none"),
        read_masks(cells),
        read_flags(cells),
        read_texts(cells),
    ):
        assert column.values.is_null().to_list() == column.states.is_not_null().to_list()
        assert set(column.states.to_list()) <= STATES


@settings(max_examples=60, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**63 - 1))
def test_a_printed_number_is_read_as_it_was_printed(number: float, counter: int) -> None:
    assert pairs(read_numbers(pl.Series([repr(number), "x"]), *POWER, blanks="none"))[0] == (number, None)
    assert pairs(read_numbers(pl.Series([str(counter), "x"]), *ENERGY, blanks="none"))[0] == (counter, None)
