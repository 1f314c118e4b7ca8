"""How are numbers and times written for a person?"""

import math
from datetime import datetime

from crashlens.timebase import find_zone, from_us
from crashlens.views.encoding import unit_of

_STEPS_S = ((1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))


def number(value: float, column: str = "") -> str:
    """`value` with thousands separators and, where the name of `column` ends in a unit, that unit."""
    if not math.isfinite(value):
        return str(value)
    unit = unit_of(column)
    if unit is None:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"
    shown = f"{value * unit.factor:,.{unit.decimals}f}"
    if "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return f"{shown} {unit.label}"


def moment(when: datetime, show_tz: str) -> str:
    """`when` in the zone `show_tz`, to the millisecond where it has them: `2026-10-01 09:08:22.120 UTC`.

    Raises:
        UnknownTimeZoneError: No such zone.
    """
    local = when.astimezone(find_zone(show_tz, "show_tz"))
    fraction = f".{local.microsecond // 1000:03d}" if local.microsecond else ""
    return f"{local:%Y-%m-%d %H:%M:%S}{fraction} {zone_mark(local, show_tz)}"


def moment_us(utc_us: int, show_tz: str) -> str:
    """Microseconds since 1970 UTC as `moment` writes them."""
    return moment(from_us(utc_us), show_tz)


def zone_mark(local: datetime, show_tz: str) -> str:
    """What stands behind a local time so that nobody misreads it: `UTC`, else its offset such as `+09:00`."""
    return "UTC" if show_tz == "UTC" else local.isoformat(timespec="microseconds")[26:32]


def duration(seconds: float) -> str:
    """A length of time in the unit that a person would use: `40 s`, `12.5 min`, `3.2 h`."""
    factor, label = next((step for step in reversed(_STEPS_S) if seconds >= 2 * step[0]), _STEPS_S[0])
    shown = f"{seconds / factor:.3g}"
    return f"{shown} {label}"


def span(start: datetime, end: datetime, show_tz: str) -> str:
    """A half-open window: both ends and its length."""
    return f"{moment(start, show_tz)} / {moment(end, show_tz)} ({duration((end - start).total_seconds())})"
