import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.scan.envelope import peel
from crashlens.scan.stamps import uptime_stamp, wall_stamp

PARTS = re.compile(
    r"(?:(?P<year>\d{4})-)?(?P<month>\d\d|[A-Z][a-z]{2})-(?P<day>\d\d) (?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?(?P<offset>Z|[+-]\d\d:?\d\d)?"
)


def stamp(text: str) -> tuple[str, int, int] | None:
    found = PARTS.fullmatch(text)
    assert found
    got = wall_stamp("x", found)
    return None if got is None else (got.kind, got.clock_us, got.resolution_us)


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # 1970-01-02 is day 1: 86,400 s
        ("1970-01-02 00:00:01Z", ("utc", 86_401_000_000, 1_000_000)),
        ("1970-01-02 00:00:01.5+00:00", ("utc", 86_401_500_000, 100_000)),
        ("1970-01-02 02:00:01+02:00", ("utc", 86_401_000_000, 1_000_000)),
        ("1970-01-01 22:30:01-0130", ("utc", 86_401_000_000, 1_000_000)),
        ("1970-01-02 00:00:01.123456789", ("local", 86_401_123_456, 1)),
        ("1970-01-02 00:01", ("local", 86_460_000_000, 60_000_000)),
        ("Jan-02 00:00:00", ("local_no_year", 2 * 365 * 86_400_000_000 + 86_400_000_000, 1_000_000)),
        ("02-29 00:00:00", ("local_no_year", (2 * 365 + 31 + 28) * 86_400_000_000, 1_000_000)),
    ],
)
def test_a_stamp_says_its_kind_its_clock_and_its_resolution(text: str, expected: tuple[str, int, int]) -> None:
    assert stamp(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-01 00:00:00",
        "2026-02-30 00:00:00",
        "2026-01-01 24:00:00",
        "2026-01-01 00:60:00",
        "2026-01-01 00:00:61",
        "Foo-01 00:00:00",
        "0000-01-01 00:00:00",
        "0001-01-01 00:00:00+10:00",
        "9999-12-31 23:00:00-10:00",
        "2026-01-01 00:00:00+99:99",
    ],
)
def test_what_is_no_time_is_no_stamp(text: str) -> None:
    assert stamp(text) is None


@pytest.mark.parametrize(
    ("seconds", "fraction", "clock_us", "resolution_us"),
    [("0", "000000", 0, 1), ("74785", "660366", 74_785_660_366, 1), ("12", "345", 12_345_000, 1000)],
)
def test_uptime_counts_since_boot(seconds: str, fraction: str, clock_us: int, resolution_us: int) -> None:
    got = uptime_stamp("dmesg", seconds, fraction)
    assert (got.kind, got.clock_us, got.resolution_us) == ("monotonic", clock_us, resolution_us)


@settings(max_examples=100)
@given(st.from_regex(r"\A\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d{1,9})?([+-]\d\d:?\d\d|Z)?\]? x\Z"))
def test_no_digits_make_peeling_raise(line: str) -> None:
    peel(line)
