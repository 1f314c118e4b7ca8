from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.errors import UnknownTimeZoneError
from crashlens.schemas import BASE_SCHEMAS
from crashlens.sources.clocks import ClockReader
from crashlens.sources.writer import ReadOptions, TableWriter

SECOND = 1_000_000


def place(kind: str, *stamps: str, tz: str | None = None) -> tuple[pl.DataFrame, TableWriter]:
    out = TableWriter(7, ReadOptions(tz=tz), BASE_SCHEMAS)
    clock = ClockReader(out, kind)  # pyright: ignore[reportArgumentType]
    placed = clock.place(
        pl.Series(stamps, dtype=pl.String), pl.Series(range(2, 2 + len(stamps)), dtype=pl.UInt32), None
    )
    clock.close()
    return placed, out


def us(*fields: int) -> int:
    return round(datetime(*fields, tzinfo=UTC).timestamp()) * SECOND  # pyright: ignore[reportArgumentType]


def test_epoch_seconds_are_utc_to_the_last_digit() -> None:
    placed, out = place("epoch_s", "1775016266.006", "1777516751", "1777516751.614256663")
    assert placed["clock_us"].to_list() == [1775016266006000, 1777516751000000, 1777516751614256]
    assert placed["time_utc"][1] == datetime(2026, 4, 30, 2, 39, 11, tzinfo=UTC)
    assert placed["uncertainty_us"].to_list() == [1000, SECOND, 1]
    row = out.frames["clocks"][0].row(0, named=True)
    assert (row["clock_id"], row["kind"], row["method"], row["stamps"]) == ("7:utc", "utc", "offset in file", 3)
    assert (row["first_line"], row["last_line"], row["uncertainty_us"]) == (2, 4, SECOND)


@pytest.mark.parametrize(
    ("kind", "stamp", "resolution"),
    [("epoch_ms", "1775016266006", 1000), ("epoch_us", "1775016266006000", 1), ("epoch_ns", "1775016266006000123", 1)],
)
def test_other_epochs(kind: str, stamp: str, resolution: int) -> None:
    placed, _ = place(kind, stamp)
    assert placed.select("clock_us", "uncertainty_us").row(0) == (1775016266006000, resolution)


def test_a_local_time_keeps_its_own_clock() -> None:
    placed, out = place("local", "2026/04/19 17:05:55.470", "2026-04-19T17:05:56")
    assert placed["clock_us"].to_list() == [us(2026, 4, 19, 17, 5, 55) + 470_000, us(2026, 4, 19, 17, 5, 56)]
    assert placed["time_utc"].null_count() == 2
    assert placed["clock_id"].unique().to_list() == ["7:local"]
    row = out.frames["clocks"][0].row(0, named=True)
    assert (row["kind"], row["method"], row["zone"], row["uncertainty_us"]) == ("local", "none", None, SECOND)
    assert "without a zone" in out.notices[0]


def test_a_given_zone_places_it_and_an_hour_shown_twice_widens_it() -> None:
    # Berlin leaves summer time on 2026-10-25 at 03:00 CEST: 02:30 is shown twice, 04:30 once (UTC+1).
    placed, out = place("local", "2026/10/25 02:30:00.000", "2026/10/25 04:30:00.000", tz="Europe/Berlin")
    assert placed["time_utc"].to_list() == [
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 3, 30, tzinfo=UTC),
    ]
    assert placed["uncertainty_us"].to_list() == [1000 + 3600 * SECOND, 1000]
    assert placed["clock_us"][0] == us(2026, 10, 25, 2, 30)
    row = out.frames["clocks"][0].row(0, named=True)
    assert (row["method"], row["zone"], row["uncertainty_us"]) == ("given zone", "Europe/Berlin", 1000 + 3600 * SECOND)


def test_an_offset_in_the_stamp_beats_a_given_zone() -> None:
    placed, out = place("iso", "2025-09-08T17:26:50+08:00", "2025-09-08T09:26:51Z", "2025-09-08 09:26:52", tz="UTC")
    assert placed["time_utc"].to_list() == [datetime(2025, 9, 8, 9, 26, 50 + n, tzinfo=UTC) for n in range(3)]
    assert placed["clock_id"].to_list() == ["7:utc", "7:utc", "7:local"]
    assert {row["clock_id"]: row["method"] for row in out.frames["clocks"][0].to_dicts()} == {
        "7:utc": "offset in file",
        "7:local": "given zone",
    }


def test_seconds_since_a_start_are_never_utc() -> None:
    placed, out = place("elapsed_s", "0.157", "5.0")
    assert placed["clock_us"].to_list() == [157_000, 5_000_000]
    assert placed["time_utc"].null_count() == 2
    assert out.frames["clocks"][0].row(0, named=True)["kind"] == "monotonic"


@pytest.mark.parametrize("stamp", ["", "[N/A]", "2026/13/01 00:00:00.000", "2026/02/30 00:00:00", "99999-01-01", "-1"])
@pytest.mark.parametrize("kind", ["local", "epoch_s", "elapsed_s"])
def test_a_stamp_that_cannot_be_read_is_null_and_counted(kind: str, stamp: str) -> None:
    placed, out = place(kind, stamp)
    assert placed.row(0) == (None, None, None, None)
    assert out.notices == ["1 rows have no time that can be read; they keep their line numbers only."]


def test_a_clock_that_was_set_back_is_said() -> None:
    _, out = place("local", "2026/04/19 17:05:55.470", "2026/04/19 16:05:55.470", "2026/04/19 16:05:56.470")
    assert out.notices[0] == (
        "Line 3: the clock runs backwards there (1 times in all); order holds between two such lines only."
    )


def test_an_unknown_zone_is_a_wrong_call() -> None:
    with pytest.raises(UnknownTimeZoneError):
        place("local", "2026/04/19 17:05:55.470", tz="Europe/Atlantis")


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.one_of(st.text(max_size=30), st.from_regex(r"[0-9]{1,25}(\.[0-9]{0,15})?")), max_size=5),
    st.sampled_from(["local", "epoch_s", "epoch_ns", "elapsed_s", "iso"]),
)
def test_no_stamp_raises(stamps: list[str], kind: str) -> None:
    placed, _ = place(kind, *stamps, tz="America/New_York")
    assert placed.height == len(stamps)


@settings(max_examples=60, deadline=None)
@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1)))  # noqa: DTZ001
def test_a_printed_local_time_is_read_back(moment: datetime) -> None:
    placed, _ = place("local", moment.strftime("%Y/%m/%d %H:%M:%S.%f"), tz="UTC")
    assert placed["time_utc"][0] == moment.replace(tzinfo=UTC)
