"""Hours that a wall clock without a zone showed twice: told from the file and the calendar, not from either alone."""

from datetime import UTC, datetime

import pytest

from crashlens.analysis.doubled_hours import doubled_hours, hour_of
from crashlens.timebase import to_us


def row(text: str, clock: str = "s0:local", **more: object) -> dict[str, object]:
    clock_us = to_us(datetime.fromisoformat(text).replace(tzinfo=UTC))
    return {"clock_id": clock, "clock_us": clock_us, "time_utc": None, **more}


@pytest.mark.parametrize(
    "stamps",
    [
        ["2026-10-25 02:58:07", "2026-10-25 02:08:08"],  # Europe
        ["2025-11-02 01:59:00", "2025-11-02 01:57:59"],  # North America
        ["2026-04-05 02:30:00", "2026-04-05 02:00:00"],  # Australia
    ],
)
def test_a_later_line_with_an_earlier_time_of_such_an_hour_shows_it(stamps: list[str]) -> None:
    rows = [row(stamp) for stamp in stamps]
    assert doubled_hours(rows) == {hour_of(rows[0])}


@pytest.mark.parametrize(
    "stamps",
    [
        ["2026-10-25 02:08:08", "2026-10-25 02:58:07"],  # it never went back
        ["2026-10-25 02:08:08", "2026-10-25 02:07:30"],  # less than writers stand out of order
        ["2026-10-26 02:58:07", "2026-10-26 02:08:08"],  # another day
        ["2026-10-25 12:58:07", "2026-10-25 12:08:08"],  # another hour
        ["2026-10-25 03:10:00", "2026-10-25 02:08:08"],  # not within one hour
    ],
)
def test_without_both_nothing_is_doubled(stamps: list[str]) -> None:
    assert doubled_hours([row(stamp) for stamp in stamps]) == set()


def test_a_time_that_is_placed_is_left_alone() -> None:
    at = datetime(2026, 10, 25, tzinfo=UTC)
    assert doubled_hours([row("2026-10-25 02:58:07", time_utc=at), row("2026-10-25 02:08:08", time_utc=at)]) == set()
    clock = "s0:monotonic"
    assert doubled_hours([row("2026-10-25 02:58:07", clock), row("2026-10-25 02:08:08", clock)]) == set()


def test_a_stamp_without_a_year_is_of_such_an_hour_where_some_year_has_it() -> None:
    clock = "s0:local_no_year"
    assert doubled_hours([row("1972-10-25 02:58:07", clock), row("1972-10-25 02:08:08", clock)]) != set()
    assert doubled_hours([row("1972-07-25 02:58:07", clock), row("1972-07-25 02:08:08", clock)]) == set()


def test_clocks_of_two_files_say_nothing_of_each_other() -> None:
    assert doubled_hours([row("2026-10-25 02:58:07", "s0:local"), row("2026-10-25 02:08:08", "s1:local")]) == set()
    assert hour_of({"clock_id": None, "clock_us": None}) is None
