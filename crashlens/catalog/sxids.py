"""What is known about an SXid, an error number of an NVSwitch, and how may a record of it be read on its own?

A number that the catalog does not hold stays unknown. SXids exist up to Hopper; newer GPUs report Xid 144 to 150.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from crashlens.catalog.record_causes import VERDICTS
from crashlens.catalog.rows import RowFile, package_rows
from crashlens.findings import Verdict

READINGS = (
    "always_fatal", "potentially_fatal", "fatal_by_one_source", "disputed", "thermal", "name_only", "non_fatal",
    "corrected", "tolerated",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sxid:
    """One SXid number.

    Attributes:
        number: The number.
        mnemonic: Name in the driver header.
        unit: Part of the switch.
        category: hardware nvlink, hardware nvswitch, thermal, ...
        reading: One of `READINGS`; the file says what each means.
        guide_severity: Severity in the Fabric Manager guide; empty: unknown.
        action: Action in NVSentinel's table; empty: unknown.
        sources_disagree: How public sources differ; empty: no difference known.
        sources: Keys of the `[sources]` of the file.
    """

    number: int
    mnemonic: str
    unit: str
    category: str
    reading: str
    guide_severity: str
    action: str
    sources_disagree: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SxidCause:
    """How a record is concluded: the word it prints, the readings of its number, and what they stand for together."""

    fatality: str
    readings: frozenset[str]
    rank: int
    story: str
    cause: str
    verdict: Verdict


def sxid(number: int) -> Sxid | None:
    """The facts of SXid `number`, or None: not in this catalog, which says nothing about what it means."""
    return _catalog().get(number)


def sxids() -> tuple[Sxid, ...]:
    """All known numbers in ascending order."""
    return tuple(_catalog().values())


def sxid_causes() -> tuple[SxidCause, ...]:
    """All rows of `sxid_causes.toml`; the first that fits is taken."""
    return _causes()


def sxid_cause(fields: Mapping[str, str]) -> SxidCause:
    """The row for a record with these captures (`sxid`, `fatality`); a number not known has the reading "unknown"."""
    number = fields.get("sxid", "")
    about = sxid(int(number)) if number.isdecimal() else None
    word, reading = fields.get("fatality", "").lower(), about.reading if about else "unknown"
    return next(row for row in _causes() if row.fatality == word and reading in row.readings)


def parse_sxids(file: RowFile) -> dict[int, Sxid]:
    """The numbers of `file`.

    Raises:
        DataFileError: Every fault of the file: types, unknown keys, numbers twice or out of order, unknown sources.
    """
    texts = file.named_texts("sources")
    found: dict[int, Sxid] = {}
    for row in file:
        one = Sxid(
            number=row.integer("sxid"),
            mnemonic=row.text("mnemonic"),
            unit=row.text("unit"),
            category=row.text("category"),
            reading=row.choice("reading", READINGS),
            guide_severity=row.text("guide_severity", otherwise=""),
            action=row.text("action", otherwise=""),
            sources_disagree=row.text("sources_disagree", otherwise=""),
            sources=row.texts("sources"),
        )
        if found and one.number <= max(found):
            row.fault(f"sxid {one.number} stands twice or out of order")
        for key in one.sources:
            if key not in texts:
                row.fault(f"source {key} is not in [sources]")
        found[one.number] = one
    file.check()
    return found


@cache
def _catalog() -> dict[int, Sxid]:
    return parse_sxids(package_rows("sxids.toml", "sxid"))


@cache
def _causes() -> tuple[SxidCause, ...]:
    file = package_rows("sxid_causes.toml", "sxid_cause")
    rows = tuple(
        SxidCause(
            row.choice("fatality", ("fatal", "non-fatal", "")),
            frozenset(row.texts("readings")),
            row.integer("rank"),
            row.text("story"),
            row.text("cause"),
            cast("Verdict", row.choice("verdict", VERDICTS)),
        )
        for row in file
    )
    file.check()
    return rows
