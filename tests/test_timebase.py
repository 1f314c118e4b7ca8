from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.errors import UnknownTimeZoneError, WindowError
from crashlens.timebase import EPOCH, Instant, Window, distance_us, find_zone, from_us, local_to_utc_us, order, to_us

S = 1_000_000
H = 3600 * S
FLIPPED = {"before": "after", "after": "before", "unordered": "unordered"}


def at(
    clock: str | None, clock_us: int | None, utc_us: int | None = None, plus_us: int = 0, host: str | None = None
) -> Instant:
    return Instant(clock, clock_us, utc_us, plus_us, host)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # one clock
        (at("a", 1), at("a", 2), "before"),
        (at("a", 2), at("a", 2), "unordered"),
        (at("a", 10 * S, plus_us=S), at("a", 11 * S, plus_us=S), "before"),
        (at("a", 60 * S, plus_us=60 * S), at("a", 90 * S, plus_us=S), "unordered"),  # 00:01 and 00:01:30
        (at("a", 60 * S, plus_us=60 * S), at("a", 120 * S, plus_us=S), "before"),
        # different clocks without UTC
        (at("a", 1), at("b", 2), "unordered"),
        (at("a", 1, 5), at("b", 2), "unordered"),
        (at(None, None), at(None, None), "unordered"),
        (at(None, None), at("a", 1, 1), "unordered"),
        # different clocks in UTC: between machines the skew counts, and an unknown machine is another one
        (at("a", 1, 10 * S, 0, "n1"), at("b", 1, 10 * S + 1, 0, "n1"), "before"),
        (at("a", 1, 10 * S, S, "n1"), at("b", 1, 11 * S, 0, "n1"), "unordered"),
        (at("a", 1, 10 * S, S, "n1"), at("b", 1, 11 * S + 1, 0, "n1"), "before"),
        (at("a", 1, 10 * S, 0, "n1"), at("b", 1, 12 * S, 0, "n2"), "unordered"),
        (at("a", 1, 10 * S, 0, "n1"), at("b", 1, 12 * S + 1, 0, "n2"), "before"),
        (at("a", 1, 10 * S), at("b", 1, 12 * S), "unordered"),
        (at("a", 1, 10 * S, 0, "n1"), at("b", 1, 12 * S), "unordered"),
        # the hour that a wall clock shows twice: 02:50, and 02:10 that may be twenty minutes later
        (at("a", 2 * H + 3000 * S, H, H), at("a", 2 * H + 600 * S, H - 2400 * S, H), "unordered"),
        # 02:50 of either pass, and 03:10 which comes once
        (at("a", 2 * H + 3000 * S, 3000 * S, H), at("a", 3 * H + 600 * S, 2 * H + 600 * S), "before"),
    ],
)
def test_order(first: Instant, second: Instant, expected: str) -> None:
    assert order(first, second, skew_us=2 * S) == expected
    assert order(second, first, skew_us=2 * S) == FLIPPED[expected]


INSTANTS = st.builds(
    Instant,
    st.sampled_from([None, "a", "b"]),
    st.none() | st.integers(-100, 100),
    st.none() | st.integers(-100, 100),
    st.integers(0, 50),
    st.sampled_from([None, "n1", "n2"]),
)


@settings(max_examples=200)
@given(INSTANTS, INSTANTS, st.integers(0, 20))
def test_swapping_two_instants_flips_their_order(first: Instant, second: Instant, skew_us: int) -> None:
    assert order(first, second, skew_us=skew_us) == FLIPPED[order(second, first, skew_us=skew_us)]
    assert order(first, first, skew_us=skew_us) == "unordered"


@settings(max_examples=200)
@given(INSTANTS, INSTANTS, st.integers(0, 20), st.integers(0, 50))
def test_more_uncertainty_never_creates_an_order(first: Instant, second: Instant, skew_us: int, more: int) -> None:
    vague = Instant(first.clock_id, first.clock_us, first.utc_us, first.uncertainty_us + more, first.host)
    if order(first, second, skew_us=skew_us) == "unordered":
        assert order(vague, second, skew_us=skew_us) == "unordered"


def test_distance_needs_a_scale_that_both_share() -> None:
    assert distance_us(at("a", 1), at("a", 4)) == 3
    assert distance_us(at("a", 1, 10), at("b", 1, 30)) == 20
    assert distance_us(at("a", 1), at("b", 4)) is None
    assert distance_us(at(None, None), at(None, None)) is None


def test_an_instant_can_be_shifted_on_its_clock() -> None:
    assert at("a", 10, 20, 3, "n1").shifted(-4) == at("a", 6, 16, 3, "n1")
    assert at(None, None).shifted(5) == at(None, None)


@pytest.mark.parametrize(
    ("zone", "wall", "utc", "fold_s"),
    [
        # Europe/Berlin: 29 March 2026 02:00 -> 03:00, 25 October 2026 03:00 -> 02:00
        ("Europe/Berlin", (2026, 1, 15, 12, 0), (2026, 1, 15, 11, 0), 0),
        ("Europe/Berlin", (2026, 7, 15, 12, 0), (2026, 7, 15, 10, 0), 0),
        ("Europe/Berlin", (2026, 3, 29, 1, 59), (2026, 3, 29, 0, 59), 0),
        ("Europe/Berlin", (2026, 3, 29, 3, 0), (2026, 3, 29, 1, 0), 0),
        ("Europe/Berlin", (2026, 3, 29, 2, 30), (2026, 3, 29, 1, 30), 0),  # a time no clock showed: read as winter time
        ("Europe/Berlin", (2026, 10, 25, 1, 59), (2026, 10, 24, 23, 59), 0),
        ("Europe/Berlin", (2026, 10, 25, 2, 0), (2026, 10, 25, 0, 0), 3600),
        ("Europe/Berlin", (2026, 10, 25, 2, 59), (2026, 10, 25, 0, 59), 3600),
        ("Europe/Berlin", (2026, 10, 25, 3, 0), (2026, 10, 25, 2, 0), 0),
        # America/New_York: 8 March 2026 02:00 -> 03:00, 1 November 2026 02:00 -> 01:00
        ("America/New_York", (2026, 3, 8, 1, 59), (2026, 3, 8, 6, 59), 0),
        ("America/New_York", (2026, 3, 8, 3, 0), (2026, 3, 8, 7, 0), 0),
        ("America/New_York", (2026, 11, 1, 0, 59), (2026, 11, 1, 4, 59), 0),
        ("America/New_York", (2026, 11, 1, 1, 30), (2026, 11, 1, 5, 30), 3600),
        ("America/New_York", (2026, 11, 1, 2, 0), (2026, 11, 1, 7, 0), 0),
        # half an hour, and none
        ("Australia/Lord_Howe", (2026, 4, 5, 1, 45), (2026, 4, 4, 14, 45), 1800),
        ("Asia/Seoul", (2026, 10, 25, 2, 30), (2026, 10, 24, 17, 30), 0),
        ("UTC", (2026, 10, 25, 2, 30), (2026, 10, 25, 2, 30), 0),
    ],
)
def test_local_times_in_utc(zone: str, wall: tuple[int, ...], utc: tuple[int, ...], fold_s: int) -> None:
    naive_us = to_us(datetime(*wall, tzinfo=UTC))  # type: ignore[misc, arg-type]
    expected = to_us(datetime(*utc, tzinfo=UTC))  # type: ignore[misc, arg-type]
    assert local_to_utc_us(naive_us, ZoneInfo(zone)) == (expected, fold_s * S)


@settings(max_examples=100)
@given(st.integers(-(10**15), 4 * 10**15))
def test_microseconds_and_datetimes_are_the_same(utc_us: int) -> None:
    assert to_us(from_us(utc_us)) == utc_us
    assert from_us(utc_us) - EPOCH == timedelta(microseconds=utc_us)


def test_a_window_is_half_open_and_in_utc() -> None:
    window = Window.parse("2026-10-01T10:00:00+02:00/2026-10-01T08:30:00Z")
    assert window.start == datetime(2026, 10, 1, 8, 0, tzinfo=UTC)
    assert (window.seconds, window.end_us - window.start_us) == (1800.0, 1800 * S)
    assert str(window) == "2026-10-01T08:00:00+00:00/2026-10-01T08:30:00+00:00"
    assert Window.parse(str(window)) == window


def test_text_without_an_offset_is_read_in_the_given_zone() -> None:
    window = Window.of("2026-10-01 10:00", "2026-10-01T11:00", tz="Asia/Seoul")
    assert window.start == datetime(2026, 10, 1, 1, 0, tzinfo=UTC)
    naive, aware = datetime(2026, 10, 1, 10, 0), datetime(2026, 10, 1, 11, 0, tzinfo=timezone(timedelta(hours=9)))  # noqa: DTZ001
    assert Window.of(naive, aware, tz="Asia/Seoul") == window


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "2026-10-01T10:00:00Z",
            (
                "A window is START/END; nothing was cut.\n"
                "  given  2026-10-01T10:00:00Z\n"
                "For example --window 2026-10-01T10:00:00Z/2026-10-01T11:00:00Z"
            ),
        ),
        (
            "10 o'clock/11",
            (
                "A time of the window cannot be read; nothing was cut.\n"
                "  given  10 o'clock\n"
                "Write ISO 8601, for example 2026-10-01T10:00:00Z"
            ),
        ),
        (
            "2026-10-01T10:00:00/2026-10-01T11:00:00",
            (
                "A time of the window has no zone; nothing was cut.\n"
                "  given  2026-10-01T10:00:00\n"
                "Write 2026-10-01T10:00:00Z for UTC, or say which zone it is in (tz=, --tz)."
            ),
        ),
        (
            "2026-10-01T11:00:00Z/2026-10-01T10:00:00Z",
            (
                "A window must end after it starts; nothing was cut.\n"
                "  start  2026-10-01 11:00:00+00:00\n"
                "  end    2026-10-01 10:00:00+00:00\n"
                "Swap the two times, or make the end later."
            ),
        ),
        (
            "0001-01-01T00:00:00+10:00/2026-10-01T10:00:00Z",
            (
                "A time of the window is outside the calendar; nothing was cut.\n"
                "  given  0001-01-01T00:00:00+10:00\n"
                "Write ISO 8601, for example 2026-10-01T10:00:00Z"
            ),
        ),
    ],
)
def test_a_wrong_window_is_an_error_that_reads_well(text: str, message: str) -> None:
    with pytest.raises(WindowError) as caught:
        Window.parse(text)
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError)


def test_an_empty_window_and_a_window_without_zone_are_refused() -> None:
    moment = datetime(2026, 10, 1, tzinfo=UTC)
    with pytest.raises(WindowError, match="must end after it starts"):
        Window(moment, moment)
    with pytest.raises(WindowError, match="needs times with a zone"):
        Window(moment.replace(tzinfo=None), moment)


def test_a_zone_that_is_not_known_names_close_ones() -> None:
    with pytest.raises(UnknownTimeZoneError) as caught:
        find_zone("Asia/Soul", "tz")
    lines = str(caught.value).split("\n")
    assert lines[0] == '"Asia/Soul" is not a time zone known here; nothing was read.'
    assert lines[1] == "  given by  tz"
    assert lines[2].startswith("  known     Asia/Seoul")
    assert lines[3].startswith('Use tz="Asia/Seoul", or leave it out')
    assert "Europe/Berlin" in caught.value.known


@pytest.mark.parametrize(
    "name", ["", "../etc/passwd", "/etc/localtime", "America", "no\x00name", "Ümlaut/Stadt", "x" * 5000]
)
def test_no_zone_name_raises_anything_else(name: str) -> None:
    with pytest.raises(UnknownTimeZoneError):
        find_zone(name, "tz")


def test_the_zone_of_a_window_must_be_known() -> None:
    with pytest.raises(UnknownTimeZoneError, match="given by  tz of the window"):
        Window.of("2026-10-01T10:00", "2026-10-01T11:00", tz="Berlin")
