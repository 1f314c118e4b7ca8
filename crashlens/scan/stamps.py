"""Time stamps of log envelopes: text to a clock kind and microseconds on that clock.

Kinds: `utc` (the stamp carries an offset), `local` (wall clock, zone not in the stamp), `local_no_year` (the year is
missing too), `monotonic` (since boot). Nothing is guessed: what a stamp does not say stays open.
"""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from importlib import resources
from typing import Literal

from crashlens.timebase import to_us

StampKind = Literal["utc", "local", "local_no_year", "monotonic"]

# A year-less stamp is kept on a scale of its own: the wall clock of this leap year, so that 29 February exists.
NO_YEAR = 1972
_LATEST_US = 253_000_000_000 * 1_000_000  # year 9987
YEARS = range(2, 9999)  # a zone moves a time by up to a day, and the next year must exist too


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one stamp says.

    Attributes:
        layer: Envelope that carried it.
        kind: What its clock is.
        clock_us: Microseconds on that clock; wall clocks count as if they were UTC.
        resolution_us: Step of the last digit printed.
        part: Which of several clocks of this kind it is: clocks since boot start anew with each boot.
    """

    layer: str
    kind: StampKind
    clock_us: int
    resolution_us: int
    part: str = ""


def wall_stamp(layer: str, parts: re.Match[str]) -> Stamp | None:
    """A stamp from named groups `year month day hour minute second fraction offset`, or None where it is no time.

    `yy` may stand for a year of this century with two digits.
    """
    found = parts.groupdict()
    second, fraction, offset = found.get("second"), found.get("fraction") or "", found.get("offset")
    year = f"20{found['yy']}" if found.get("yy") else found.get("year")
    try:
        clock_us = _midnight_us(int(year or NO_YEAR), found["month"], int(found["day"]))
        clock_us += _time_us(int(found["hour"]), int(found["minute"]), int(second or 0))
        clock_us += int(fraction[:6].ljust(6, "0") or 0) - (_offset_us(offset) if offset else 0)
    except (ValueError, KeyError):
        return None
    resolution_us = 60_000_000 if second is None else max(1, 10 ** (6 - min(6, len(fraction))))
    kind: StampKind = "utc" if offset else "local" if year else "local_no_year"
    return Stamp(layer, kind, clock_us, resolution_us)


@lru_cache(maxsize=1024)
def _midnight_us(year: int, month: str, day: int) -> int:
    """When a day begins. ValueError, KeyError: there is no such day, or no clock should show it."""
    if year not in YEARS:
        raise ValueError(year)
    return to_us(datetime(year, int(month) if month.isdecimal() else month_number(month), day, tzinfo=UTC))


def _time_us(hour: int, minute: int, second: int) -> int:
    """Microseconds since midnight. ValueError: there is no such time."""
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        raise ValueError(hour, minute, second)
    return ((hour * 60 + minute) * 60 + second) * 1_000_000


@lru_cache(maxsize=1)
def _months() -> dict[str, int]:
    text = (resources.files("crashlens.scan") / "months.toml").read_text(encoding="utf-8")
    return {name: number for locale in tomllib.loads(text)["locale"] for number, name in enumerate(locale["months"], 1)}


def month_number(name: str) -> int:
    """The month with this short name in any of the locales of months.toml.

    Raises:
        KeyError: No month is called so.
    """
    return _months()[unicodedata.normalize("NFC", name).lower().removesuffix(".")]


def epoch_stamp(layer: str, microseconds: int) -> Stamp | None:
    """A stamp of microseconds since 1970 in UTC, or None where no clock shows that."""
    return Stamp(layer, "utc", microseconds, 1) if 0 <= microseconds < _LATEST_US else None


def uptime_stamp(layer: str, seconds: str, fraction: str, part: str = "") -> Stamp:
    """A stamp of seconds since boot."""
    digits = fraction[:6]
    clock_us = int(seconds) * 1_000_000 + int(digits.ljust(6, "0") or 0)
    return Stamp(layer, "monotonic", clock_us, max(1, 10 ** (6 - len(digits))), part)


@lru_cache(maxsize=256)
def _offset_us(text: str) -> int:
    """How far a zone is ahead of UTC. ValueError: a day or more."""
    if text in {"Z", "z", "UTC", "GMT"}:
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:4])
    ahead = timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))  # it refuses what is none
    return ahead.utcoffset(None) // timedelta(microseconds=1)
