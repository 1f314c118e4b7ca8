"""The numbers that findings are judged by, each with its unit and its source or the word "uncalibrated"."""

from difflib import get_close_matches
from functools import cache

from crashlens.catalog.rows import RowFile, package_rows
from crashlens.errors import DataFileError
from crashlens.findings import Threshold


def threshold(name: str) -> Threshold:
    """The threshold called `name`, as a finding lists it.

    Raises:
        DataFileError: There is none; the message names close ones.
    """
    return _known(name)[0]


def threshold_meaning(name: str) -> str:
    """What the number called `name` decides, in one sentence.

    Raises:
        DataFileError: There is none of that name.
    """
    return _known(name)[1]


def thresholds() -> tuple[Threshold, ...]:
    """All thresholds in the order of the file."""
    return tuple(entry for entry, _ in _catalog().values())


def parse_thresholds(file: RowFile) -> dict[str, tuple[Threshold, str]]:
    """Name to threshold and meaning, of `file`.

    Raises:
        DataFileError: Every fault of the file: types, unknown keys, a name twice, an empty source.
    """
    found: dict[str, tuple[Threshold, str]] = {}
    for row in file:
        one = Threshold(row.text("name"), row.number("value"), row.text("unit"), row.text("source"))
        if one.name in found:
            row.fault(f"{one.name} stands twice")
        if not one.source:
            row.fault(f'{one.name} has no source; write "uncalibrated" and why this value')
        found[one.name] = (one, row.text("meaning"))
    file.check()
    return found


def _known(name: str) -> tuple[Threshold, str]:
    known = _catalog()
    if name not in known:
        closest = ", ".join(get_close_matches(name, known, n=3)) or "none is close"
        raise DataFileError("A use of catalog/thresholds.toml", [f'no threshold is called "{name}" ({closest})'])
    return known[name]


@cache
def _catalog() -> dict[str, tuple[Threshold, str]]:
    return parse_thresholds(package_rows("thresholds.toml", "threshold"))
