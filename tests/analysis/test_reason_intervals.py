from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.analysis.reason_intervals import class_intervals, reason_intervals
from crashlens.catalog.signals import samples_schema
from crashlens.errors import MissingColumnError

START = datetime(2026, 10, 1, 8, tzinfo=UTC)
SECOND = 1_000_000


def samples(*rows: tuple[str, float, int | None]) -> pl.DataFrame:
    """GPU, second and mask, placed in UTC; lines count from 2."""
    return samples_schema().frame(
        [
            {
                "source_id": 1,
                "line": line,
                "clock_id": "1:utc",
                "clock_us": round(second * SECOND),
                "time_utc": START + timedelta(seconds=second),
                "gpu_key": gpu,
                "clocks_event_reasons": mask,
            }
            for line, (gpu, second, mask) in enumerate(rows, start=2)
        ]
    )


def short(intervals: pl.DataFrame) -> list[tuple[object, ...]]:
    return intervals.select(
        "gpu_key",
        "clocks_event_reasons",
        (pl.col("start_us") // SECOND),
        (pl.col("end_us") // SECOND),
        "samples",
        "first_line",
        "last_line",
    ).rows()


def test_neighbours_with_one_mask_are_one_half_open_interval() -> None:
    got = reason_intervals(
        samples(("a", 0, 0), ("a", 1, 0x40), ("a", 2, 0x40), ("a", 3, 0), ("b", 0, 4)), longest_gap_s=5
    )
    assert short(got) == [
        ("a", 0x0, 0, 1, 1, 2, 2),
        ("a", 0x40, 1, 3, 2, 3, 4),
        ("a", 0x0, 3, 3, 1, 5, 5),
        ("b", 0x4, 0, 0, 1, 6, 6),
    ]
    assert got["start_utc"].to_list()[1] == START + timedelta(seconds=1)
    assert got["end_utc"].to_list()[1] == START + timedelta(seconds=3)
    assert got["source_id"].to_list() == [1, 1, 1, 1]


def test_a_gap_ends_the_interval() -> None:
    got = reason_intervals(samples(("a", 0, 0x40), ("a", 1, 0x40), ("a", 60, 0x40)), longest_gap_s=5)
    assert short(got) == [("a", 0x40, 0, 1, 2, 2, 3), ("a", 0x40, 60, 60, 1, 4, 4)]


def test_an_unknown_mask_is_an_interval_of_its_own() -> None:
    got = reason_intervals(samples(("a", 0, 0), ("a", 1, None), ("a", 2, None), ("a", 3, 0)), longest_gap_s=5)
    assert [row[1:4] for row in short(got)] == [(0, 0, 1), (None, 1, 3), (0, 3, 3)]


def test_a_clock_that_was_not_placed_keeps_its_order() -> None:
    local = samples(("a", 0, 4), ("a", 1, 4), ("a", 2, 0)).with_columns(
        time_utc=pl.lit(None, pl.Datetime("us", "UTC")), clock_id=pl.lit("1:local")
    )
    got = reason_intervals(local, longest_gap_s=5)
    assert short(got) == [("a", 4, 0, 2, 2, 2, 3), ("a", 0, 2, 2, 1, 4, 4)]
    assert got["start_utc"].null_count() == got["end_utc"].null_count() == 2


def test_two_clocks_are_never_joined() -> None:
    rows = samples(("a", 0, 4), ("a", 1, 4)).with_columns(clock_id=pl.Series(["1:utc", "1:local"]))
    assert len(short(reason_intervals(rows, longest_gap_s=5))) == 2


def test_samples_without_a_time_have_no_length() -> None:
    rows = samples(("a", 0, 4)).with_columns(clock_us=pl.lit(None, pl.Int64), clock_id=pl.lit(None, pl.String))
    assert reason_intervals(rows, longest_gap_s=5).height == 0


def test_no_samples_give_no_intervals_with_the_same_columns() -> None:
    empty = reason_intervals(samples_schema().empty(), longest_gap_s=5)
    assert empty.height == 0
    assert empty.schema == reason_intervals(samples(("a", 0, 4)), longest_gap_s=5).schema
    assert class_intervals(empty).height == 0


def test_a_missing_column_is_named() -> None:
    with pytest.raises(MissingColumnError, match="clocks_event_reasons"):
        reason_intervals(samples(("a", 0, 4)).drop("clocks_event_reasons"), longest_gap_s=5)


def test_classes_join_over_masks_and_keep_every_bit() -> None:
    masks = samples(
        ("a", 0, 0x20), ("a", 1, 0x60), ("a", 2, 0x44), ("a", 3, 0x4), ("a", 4, 0x8), ("a", 5, 0), ("a", 6, 0x4)
    )
    got = class_intervals(reason_intervals(masks, longest_gap_s=5))
    rows = got.select(
        "reason_class",
        "clocks_event_reasons",
        pl.col("start_us") // SECOND,
        pl.col("end_us") // SECOND,
        "samples",
        "first_line",
        "last_line",
    ).rows()
    assert rows == [
        ("ambiguous", 0x8, 4, 5, 1, 6, 6),
        ("power_cap", 0x44 | 0x4, 2, 4, 2, 4, 5),
        ("power_cap", 0x4, 6, 6, 1, 8, 8),
        ("thermal", 0x20 | 0x60 | 0x44, 0, 3, 3, 2, 4),
    ]


def test_classes_do_not_join_across_a_gap() -> None:
    got = class_intervals(reason_intervals(samples(("a", 0, 4), ("a", 1, 4), ("a", 60, 4)), longest_gap_s=5))
    assert got["samples"].to_list() == [2, 1]


ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.sampled_from([None, 0, 4, 0x40, 0x24])), max_size=25
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.randoms(use_true_random=False), st.sampled_from([1.0, 2.5, 40.0]))
def test_row_order_changes_nothing(rows: list[tuple[str, float, int | None]], random: object, gap: float) -> None:
    table = samples(*rows)
    places = list(range(table.height))
    random.shuffle(places)  # pyright: ignore[reportAttributeAccessIssue]
    shuffled = table[places] if places else table
    assert reason_intervals(shuffled, longest_gap_s=gap).equals(reason_intervals(table, longest_gap_s=gap))


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_every_sample_is_in_exactly_one_interval(rows: list[tuple[str, float, int | None]]) -> None:
    got = reason_intervals(samples(*rows), longest_gap_s=3)
    assert got["samples"].sum() == len(rows)
    assert (got["end_us"] >= got["start_us"]).all()
