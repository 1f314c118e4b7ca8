"""JSON of unknown origin, read field by field: a value of another type reads as absent, never as an exception."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from crashlens.report.words import Labels


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object. `values` holds it as it was parsed."""

    values: dict[str, Any]

    @classmethod
    def of(cls, value: object) -> "Fields":
        """The object, or an empty one where `value` is something else."""
        if not isinstance(value, dict):
            return cls({})
        return cls({str(key): item for key, item in cast("dict[object, Any]", value).items()})

    def text(self, key: str) -> str:
        """A string, a number as it is written, else the empty string."""
        value = self.values.get(key)
        if isinstance(value, bool):
            return ""
        return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""

    def number(self, key: str) -> float | None:
        """A finite number, else None."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        return float(value)

    def items(self, key: str) -> list[Any]:
        """A list, else an empty one."""
        value = self.values.get(key)
        return cast("list[Any]", value) if isinstance(value, list) else []

    def texts(self, key: str) -> list[str]:
        """The strings and numbers of a list."""
        return [Fields({"": item}).text("") for item in self.items(key) if isinstance(item, str | int | float)]

    def objects(self, key: str) -> Iterator["Fields"]:
        """The objects of a list."""
        return (Fields.of(item) for item in self.items(key) if Fields.of(item).values)

    def object(self, key: str) -> "Fields":
        """An object, else an empty one."""
        return Fields.of(self.values.get(key))

    def moment(self, key: str) -> datetime | None:
        """An aware time from ISO 8601 text, else None."""
        return moment(self.text(key))


def moment(text: str) -> datetime | None:
    """The moment that ISO 8601 `text` states, in UTC.

    None where it states none: a time without an offset is not one moment, and outside of 1971 to 9998 neither a PDF
    nor every time zone can hold it.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo and 1970 < found.year < 9999 else None


def moment_text(when: datetime, zone: ZoneInfo) -> str:
    """`when` as `2026-10-01 10:00:00.25 UTC`, or with the offset of `zone` in place of `UTC`."""
    local = when.astimezone(zone)
    fraction = f".{local.microsecond:06d}".rstrip("0") if local.microsecond else ""
    offset = local.strftime("%z")
    name = "UTC" if offset == "+0000" else f"{offset[:3]}:{offset[3:5]}"
    return f"{local:%Y-%m-%d %H:%M:%S}{fraction} {name}"


def window_of(pair: list[str]) -> tuple[datetime, datetime] | None:
    """Start and end of a window written as two ISO 8601 times with offsets, else None."""
    ends = [moment(text) for text in pair]
    return (ends[0], ends[1]) if len(ends) == 2 and ends[0] and ends[1] else None


def window_text(window: tuple[datetime, datetime], zone: ZoneInfo, labels: Labels) -> str:
    """A half-open window in words; day and offset are written once where both ends share them."""
    start, end = (moment_text(when, zone) for when in window)
    if start[:10] == end[:10] and start.split(" ")[-1] == end.split(" ")[-1]:
        start, end = start.rsplit(" ", 1)[0], end[11:]
    return labels["window_until"].replace("{start}", start).replace("{end}", end)


def number_text(value: float) -> str:
    """`value` with four significant digits, thousands grouped, never in powers of ten where it has a point."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
