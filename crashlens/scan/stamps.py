"""Time stamps of log envelopes: text to a clock kind and microseconds on that clock.

Kinds: `utc` (the stamp carries an offset), `local` (wall clock, zone not in the stamp), `local_no_year` (the year is
missing too), `monotonic` (since boot). Nothing is guessed: what a stamp does not say stays open.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

from crashlens.timebase import to_us

StampKind = Literal["utc", "local", "local_no_year", "monotonic"]

# A year-less stamp is kept on a scale of its own: the wall clock of this leap year, so that 29 February exists.
NO_YEAR = 1972
YEARS = range(2, 9999)  # a zone moves a time by up to a day, and the next year must exist too

MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one stamp says.

    Attributes:
        layer: Envelope that carried it.
        kind: What its clock is.
        clock_us: Microseconds on that clock; wall clocks count as if they were UTC.
        resolution_us: Step of the last digit printed.
    """

    layer: str
    kind: StampKind
    clock_us: int
    resolution_us: int


def wall_stamp(layer: str, parts: re.Match[str]) -> Stamp | None:
    """A stamp from named groups `year month day hour minute second fraction offset`, or None where it is no time."""
    found = parts.groupdict()
    second = found.get("second")
    fraction = found.get("fraction") or ""
    month = found["month"]
    try:
        moment = datetime(
            int(found.get("year") or NO_YEAR),
            MONTHS[month[:3].lower()] if not month.isdigit() else int(month),
            int(found["day"]),
            int(found["hour"]),
            int(found["minute"]),
            int(second or 0),
            int(fraction[:6].ljust(6, "0") or 0),
            tzinfo=UTC,
        )
        offset = found.get("offset")
        placed = moment.replace(tzinfo=_offset(offset)) if offset else moment
    except (ValueError, KeyError):
        return None
    if moment.year not in YEARS:
        return None
    resolution_us = 60_000_000 if second is None else max(1, 10 ** (6 - min(6, len(fraction))))
    kind: StampKind = "utc" if offset else "local" if found.get("year") else "local_no_year"
    return Stamp(layer, kind, to_us(placed), resolution_us)


def uptime_stamp(layer: str, seconds: str, fraction: str) -> Stamp:
    """A stamp of seconds since boot."""
    digits = fraction[:6]
    clock_us = int(seconds) * 1_000_000 + int(digits.ljust(6, "0") or 0)
    return Stamp(layer, "monotonic", clock_us, max(1, 10 ** (6 - len(digits))))


def _offset(text: str) -> timezone:
    if text in {"Z", "z"}:
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:4])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
