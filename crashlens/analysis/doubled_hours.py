"""Which times without a zone stand in an hour that their clock showed twice?

In the night of the autumn change a wall clock goes back by an hour. Where a file shows that (a later line carries an
earlier time of such an hour), a time of that hour may have been the first or the second one: the order of the stamps is
no longer that of the moments, and the order of the lines is no proof either.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from crashlens.timebase import from_us, local_to_utc_us, to_us

HOUR_US = 3_600_000_000
LAST_HOUR = 4  # wall clocks are set back between midnight and four in the morning
LEAST_BACK_US = 60_000_000  # lines of several writers stand out of order by less
YEARS = range(2010, 2040)  # tried where a stamp has no year


def doubled_hours(rows: Iterable[dict[str, Any]]) -> set[tuple[str, int]]:
    """The hours that a clock showed twice, as clock and number of the hour since 1970 on that clock.

    Args:
        rows: Rows of `events` in the order of source and line: `clock_id`, `clock_us`, `time_utc`.
    """
    highest: dict[tuple[str, int], int] = {}
    found: set[tuple[str, int]] = set()
    for row in rows:
        clock_id, clock_us = row["clock_id"], row["clock_us"]
        if clock_us is None or row["time_utc"] is not None or ":local" not in clock_id:
            continue
        hour = clock_us // HOUR_US
        if hour % 24 >= LAST_HOUR:
            continue
        key = (clock_id, hour)
        before = highest.get(key, int(clock_us))
        if clock_us <= before - LEAST_BACK_US and _is_doubled(hour, _years_of(clock_id)):
            found.add(key)
        highest[key] = max(clock_us, before)
    return found


def hour_of(row: dict[str, Any]) -> tuple[str, int] | None:
    """Clock and hour of a row, as `doubled_hours` names them."""
    return None if row["clock_us"] is None else (row["clock_id"], row["clock_us"] // HOUR_US)


def _years_of(clock_id: str) -> range | None:
    """The years that are tried for stamps of this clock, or None where they have a year themselves."""
    return YEARS if ":local_no_year" in clock_id else None


@lru_cache(maxsize=256)
def _is_doubled(hour: int, years: range | None) -> bool:
    """Whether the wall clock of some zone shows this hour twice: in its year, or in one of `years`."""
    moment = from_us(hour * HOUR_US)
    zones = [ZoneInfo(name) for name in sorted(available_timezones())]
    for year in (moment.year,) if years is None else years:
        try:
            in_year = to_us(moment.replace(year=year))
        except ValueError:
            continue  # 29 February
        if any(local_to_utc_us(in_year, zone)[1] for zone in zones):
            return True
    return False
