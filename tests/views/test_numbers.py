from datetime import UTC, datetime

import pytest

from crashlens.errors import UnknownTimeZoneError
from crashlens.views.numbers import duration, moment, number, span


@pytest.mark.parametrize(
    ("value", "column", "shown"),
    [
        (1980.0, "sm_clock_mhz", "1,980 MHz"),
        (0.8954, "gpu_utilization_ratio", "89.5 %"),
        (699.25, "power_draw_w", "699.2 W"),
        (1_500, "uncertainty_us", "0.0015 s"),
        (0, "xid", "0"),
        (0.12345, "", "0.1235"),
        (float("nan"), "power_draw_w", "nan"),
    ],
)
def test_numbers_carry_their_unit(value: float, column: str, shown: str) -> None:
    assert number(value, column) == shown


def test_a_time_says_its_zone() -> None:
    when = datetime(2026, 10, 1, 8, 30, 5, 120_000, tzinfo=UTC)
    assert moment(when, "UTC") == "2026-10-01 08:30:05.120 UTC"
    assert moment(when, "Asia/Seoul") == "2026-10-01 17:30:05.120 +09:00"


def test_both_sides_of_an_autumn_change_can_be_told_apart() -> None:
    before, later = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert moment(before, "Europe/Berlin") == "2026-10-25 02:30:00 +02:00"
    assert moment(later, "Europe/Berlin") == "2026-10-25 02:30:00 +01:00"


def test_a_zone_that_is_not_known_raises() -> None:
    with pytest.raises(UnknownTimeZoneError):
        moment(datetime(2026, 10, 1, tzinfo=UTC), "Asia/Soul")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.1, "0.1 s"), (40, "40 s"), (600, "10 min"), (5400, "90 min"), (259_200, "3 d")]
)
def test_lengths_are_in_the_unit_a_person_would_use(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_window_shows_both_ends_and_its_length() -> None:
    start, end = datetime(2026, 10, 1, 8, tzinfo=UTC), datetime(2026, 10, 1, 8, 10, tzinfo=UTC)
    assert span(start, end, "UTC") == "2026-10-01 08:00:00 UTC / 2026-10-01 08:10:00 UTC (10 min)"
