"""Windows, instants and the only place that decides whether one event came before another.

Times are integers in microseconds. A clock is known by its id: two stamps of one clock can always be ordered, two of
different clocks only when both map to UTC and their intervals do not touch.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from crashlens.errors import UnknownTimeZoneError, WindowError

Order = Literal["before", "after", "unordered"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_us(moment: datetime) -> int:
    """Microseconds since 1970-01-01 UTC of an aware `moment`."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_us(utc_us: int) -> datetime:
    """The aware UTC datetime of `utc_us` microseconds since 1970."""
    return EPOCH + timedelta(microseconds=utc_us)


@lru_cache(maxsize=64)
def find_zone(name: str, given_by: str) -> ZoneInfo:
    """The zone called `name`.

    Raises:
        UnknownTimeZoneError: No such zone in the IANA database here; the message names the closest three.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnknownTimeZoneError(name, given_by=given_by, known=available_timezones()) from None


def local_to_utc_us(naive_us: int, zone: ZoneInfo) -> tuple[int, int]:
    """Place a wall-clock time of `zone` in UTC.

    Args:
        naive_us: Microseconds since 1970 of the wall clock read as if it were UTC.
        zone: The zone of that wall clock.

    Returns:
        UTC microseconds and the uncertainty in microseconds: 0, or the length of the fold when the wall clock shows
        this time twice (autumn change), because nothing in one stamp says which of the two it was.
    """
    naive = from_us(naive_us).replace(tzinfo=None)
    first = naive.replace(tzinfo=zone, fold=0)
    second = naive.replace(tzinfo=zone, fold=1)
    utc_us = naive_us - (first.utcoffset() or timedelta()) // timedelta(microseconds=1)
    other_us = naive_us - (second.utcoffset() or timedelta()) // timedelta(microseconds=1)
    return utc_us, max(0, other_us - utc_us)


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment as a record states it.

    Attributes:
        clock_id: The clock that was read; None when the record has no stamp.
        clock_us: What that clock showed, in microseconds on its own scale.
        utc_us: The same moment in UTC, or None where the clock could not be placed.
        uncertainty_us: How much later than `utc_us` it may have been: the resolution of the stamp, plus a fold.
        host: The machine whose clock it is, where known.
    """

    clock_id: str | None
    clock_us: int | None
    utc_us: int | None
    uncertainty_us: int = 0
    host: str | None = None

    def shifted(self, by_us: int) -> "Instant":
        """The same clock, `by_us` microseconds later (negative: earlier)."""
        return Instant(
            self.clock_id,
            None if self.clock_us is None else self.clock_us + by_us,
            None if self.utc_us is None else self.utc_us + by_us,
            self.uncertainty_us,
            self.host,
        )


def order(first: Instant, second: Instant, *, skew_us: int) -> Order:
    """Whether `first` happened before or after `second`, or cannot be ordered.

    One clock orders its own stamps, except where its uncertainty covers both: in the hour that a wall clock shows
    twice, and between a stamp of a minute and one of a second inside it. Stamps of different clocks are ordered in UTC
    when their uncertainty intervals do not touch; between machines (unknown counts as another machine) `skew_us` is
    added to both.
    """
    if _share_clock(first, second):
        apart_us = distance_us(first, second) or 0
        if apart_us > 0 and apart_us >= first.uncertainty_us:
            return "before"
        return "after" if apart_us < 0 and -apart_us >= second.uncertainty_us else "unordered"
    if first.utc_us is None or second.utc_us is None:
        return "unordered"
    same_machine = first.host is not None and first.host == second.host
    slack_us = 0 if same_machine else skew_us
    if first.utc_us + first.uncertainty_us + slack_us < second.utc_us:
        return "before"
    if second.utc_us + second.uncertainty_us + slack_us < first.utc_us:
        return "after"
    return "unordered"


def _share_clock(first: Instant, second: Instant) -> bool:
    stamped = first.clock_us is not None and second.clock_us is not None
    return stamped and first.clock_id is not None and first.clock_id == second.clock_id


def distance_us(first: Instant, second: Instant) -> int | None:
    """Microseconds from `first` to `second` on a scale both share, or None when they share none."""
    if first.utc_us is not None and second.utc_us is not None:
        return second.utc_us - first.utc_us
    if first.clock_us is not None and second.clock_us is not None and first.clock_id == second.clock_id:
        return second.clock_us - first.clock_us
    return None


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open stretch of time in UTC: `start` belongs to it, `end` does not."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise WindowError(
                "A window needs times with a zone; nothing was cut.",
                facts=[("start", str(self.start)), ("end", str(self.end))],
                way_out='Write "2026-10-01T10:00:00Z", or give tz="Europe/Berlin" for local times.',
            )
        if self.end <= self.start:
            raise WindowError(
                "A window must end after it starts; nothing was cut.",
                facts=[("start", str(self.start)), ("end", str(self.end))],
                way_out="Swap the two times, or make the end later.",
            )

    @classmethod
    def of(cls, start: datetime | str, end: datetime | str, *, tz: str | None = None) -> Self:
        """A window from datetimes or ISO 8601 text; text without an offset is read in `tz`.

        Raises:
            WindowError: A time cannot be read, has no zone and no `tz` was given, or the window is empty.
        """
        return cls(_moment(start, tz), _moment(end, tz))

    @classmethod
    def parse(cls, text: str, *, tz: str | None = None) -> Self:
        """A window from `START/END`, both ISO 8601.

        Raises:
            WindowError: As `of`, or there is no `/`.
        """
        start, slash, end = text.partition("/")
        if not slash:
            raise WindowError(
                "A window is START/END; nothing was cut.",
                facts=[("given", text)],
                way_out="For example --window 2026-10-01T10:00:00Z/2026-10-01T11:00:00Z",
            )
        return cls.of(start, end, tz=tz)

    @property
    def start_us(self) -> int:
        """Start in microseconds since 1970 UTC."""
        return to_us(self.start)

    @property
    def end_us(self) -> int:
        """End in microseconds since 1970 UTC."""
        return to_us(self.end)

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end - self.start).total_seconds()

    def __str__(self) -> str:
        return f"{self.start.isoformat()}/{self.end.isoformat()}"


def _moment(given: datetime | str, tz: str | None) -> datetime:
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given.strip())
        except ValueError:
            raise WindowError(
                "A time of the window cannot be read; nothing was cut.",
                facts=[("given", given)],
                way_out="Write ISO 8601, for example 2026-10-01T10:00:00Z",
            ) from None
    else:
        moment = given
    if moment.tzinfo is None and tz is not None:
        moment = moment.replace(tzinfo=find_zone(tz, "tz of the window"))
    if moment.tzinfo is None:
        raise WindowError(
            "A time of the window has no zone; nothing was cut.",
            facts=[("given", str(given))],
            way_out=f"Write {moment.isoformat()}Z for UTC, or say which zone it is in (tz=, --tz).",
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise WindowError(
            "A time of the window is outside the calendar; nothing was cut.",
            facts=[("given", str(given))],
            way_out="Write ISO 8601, for example 2026-10-01T10:00:00Z",
        ) from None
