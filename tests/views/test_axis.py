from datetime import UTC, datetime

import pytest

from crashlens.timebase import to_us
from crashlens.views.axis import axis_title, ticks, when
from crashlens.views.scales import Scale


def utc(start: datetime, end: datetime) -> Scale:
    return Scale("utc", "utc", "", to_us(start), to_us(end))


HOUR = utc(datetime(2026, 10, 1, 7, 55, tzinfo=UTC), datetime(2026, 10, 1, 8, 55, tzinfo=UTC))


@pytest.mark.parametrize(
    ("zone", "labels"),
    [
        ("UTC", ["08:00", "08:10", "08:20", "08:30", "08:40", "08:50"]),
        ("Asia/Seoul", ["17:00", "17:10", "17:20", "17:30", "17:40", "17:50"]),
        ("Asia/Kathmandu", ["13:40", "13:50", "14:00", "14:10", "14:20", "14:30"]),
    ],
)
def test_ticks_lie_on_round_times_of_the_wall_clock(zone: str, labels: list[str]) -> None:
    assert [label for _, label in ticks(HOUR, zone)] == labels


def test_a_tick_stands_at_its_time() -> None:
    assert ticks(HOUR, "Asia/Seoul")[0] == (to_us(datetime(2026, 10, 1, 8, tzinfo=UTC)), "17:00")


def test_midnight_says_the_day() -> None:
    night = utc(datetime(2026, 10, 1, 20, tzinfo=UTC), datetime(2026, 10, 2, 4, tzinfo=UTC))
    assert "10-02 00:00" in [label for _, label in ticks(night, "UTC")]
    assert axis_title(night, "UTC") == "2026-10-01 to 2026-10-02, UTC"


def test_an_autumn_change_shows_each_wall_time_where_it_belongs() -> None:
    change = utc(datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 5, tzinfo=UTC))
    got = {label: at for at, label in ticks(change, "Europe/Berlin")}
    assert got["01:00"] == to_us(datetime(2026, 10, 24, 23, tzinfo=UTC))
    assert got["05:00"] == to_us(datetime(2026, 10, 25, 4, tzinfo=UTC))


@pytest.mark.parametrize("seconds", [0.00001, 0.004, 2, 60, 3600, 86_400, 40 * 86_400, 9e8])
def test_any_length_has_a_few_ticks_inside(seconds: float) -> None:
    start = to_us(datetime(2026, 10, 1, 8, 0, 0, 1, tzinfo=UTC))
    scale = Scale("utc", "utc", "", start, start + int(seconds * 1e6))
    got = ticks(scale, "UTC")
    assert 1 <= len(got) <= 8
    assert all(scale.start_us <= at < scale.end_us for at, _ in got)
    assert len({label for _, label in got}) == len(got)


def test_a_clock_that_is_not_placed_says_whose_it_is() -> None:
    local = Scale("0:local", "local", "node7/smi.csv", HOUR.start_us, HOUR.end_us)
    assert axis_title(local, "Asia/Seoul") == "2026-10-01, local time of node7/smi.csv, zone unknown"
    assert ticks(local, "Asia/Seoul")[0][1] == "08:00"


def test_a_clock_without_a_year_or_an_epoch_claims_none() -> None:
    no_year = Scale("2:syslog", "local_no_year", "messages", HOUR.start_us, HOUR.end_us)
    assert axis_title(no_year, "UTC") == "10-01, local time of messages, year and zone unknown"
    boot = Scale("2:boot", "monotonic", "dmesg.txt", 4_000_000, 9_000_000)
    assert axis_title(boot, "UTC") == "seconds on the clock of dmesg.txt"
    assert [label for _, label in ticks(boot, "UTC")] == ["4", "5", "6", "7", "8"]
    assert when(boot, 4_000_000, "UTC") == "4 s"
