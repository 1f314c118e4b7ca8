"""Where does a time axis have its ticks, and what stands there?

Ticks lie on round wall-clock times of the zone shown, so that they agree with what a clock on the wall showed.
"""

from datetime import datetime

from crashlens.timebase import find_zone, from_us, local_to_utc_us
from crashlens.views.labels import sentences
from crashlens.views.scales import Scale

MOST_TICKS = 8
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_STEPS = (
    *(mantissa * 10**power for power in range(6) for mantissa in (1, 2, 5)),
    *(
        count * _SECOND
        for count in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
    ),
    *(count * _DAY for count in (1, 2, 7, 14, 30, 90, 365, 1825)),
)


def ticks(scale: Scale, show_tz: str) -> list[tuple[int, str]]:
    """Ticks of `scale` as `(time on the scale in microseconds, label)`.

    Args:
        scale: The axis.
        show_tz: IANA zone of the labels of the UTC axis; a clock that is not placed keeps its own times.

    Raises:
        UnknownTimeZoneError: No such zone.
    """
    low, high = _wall(scale, scale.start_us, show_tz), _wall(scale, scale.end_us, show_tz)
    step = next((step for step in _STEPS if (high - low) / step <= MOST_TICKS), _STEPS[-1])
    first = -(-low // step) * step
    count = min((high - first) // step + 1, 4 * MOST_TICKS)
    found: dict[int, str] = {}
    for wall in (first + place * step for place in range(count)):
        time_us = local_to_utc_us(wall, find_zone(show_tz, "show_tz"))[0] if scale.key == "utc" else wall
        if scale.start_us <= time_us < scale.end_us:
            found.setdefault(time_us, _label(scale, wall, step))
    return sorted(found.items())


def axis_title(scale: Scale, show_tz: str, *, lang: str = "en") -> str:
    """What the times of `scale` are: day and zone, or whose local time it is."""
    words = sentences("timeline", lang)
    if scale.kind == "monotonic":
        return words["axis_monotonic"].format(path=scale.path)
    first, last = (_date(_wall(scale, time_us, show_tz), scale) for time_us in (scale.start_us, scale.end_us - 1))
    day = first if first == last else words["several_days"].format(first=first, last=last)
    if scale.kind == "utc":
        return words["axis_zone"].format(day=day, zone=show_tz)
    key = "axis_local_no_year" if scale.kind == "local_no_year" else "axis_local"
    return f"{day}, {words[key].format(path=scale.path)}"


def when(scale: Scale, time_us: int, show_tz: str) -> str:
    """One time of `scale` in words, to the second."""
    wall = _wall(scale, time_us, show_tz)
    return f"{wall / 1e6:,.0f} s" if scale.kind == "monotonic" else f"{_date(wall, scale)} {_at(wall):%H:%M:%S}"


def _wall(scale: Scale, time_us: int, show_tz: str) -> int:
    """Microseconds of the wall clock shown, read as if it were UTC."""
    if scale.key != "utc":
        return time_us
    offset = from_us(time_us).astimezone(find_zone(show_tz, "show_tz")).utcoffset()
    return time_us + (round(offset.total_seconds() * 1e6) if offset else 0)


def _at(wall: int) -> datetime:
    return from_us(wall)


def _date(wall: int, scale: Scale) -> str:
    return f"{_at(wall):%m-%d}" if scale.kind == "local_no_year" else f"{_at(wall):%Y-%m-%d}"


def _label(scale: Scale, wall: int, step: int) -> str:
    if scale.kind == "monotonic":
        return f"{wall / 1e6:,.6f}".rstrip("0").rstrip(".")
    if step >= _DAY:
        return f"{_at(wall):%m-%d}"
    if wall % _DAY == 0:
        return f"{_at(wall):%m-%d %H:%M}"
    if step >= 60 * _SECOND:
        return f"{_at(wall):%H:%M}"
    if step >= _SECOND:
        return f"{_at(wall):%H:%M:%S}"
    return f"{_at(wall):%H:%M:%S.%f}"[:-3] if step >= 1000 else f"{_at(wall):%H:%M:%S.%f}"
