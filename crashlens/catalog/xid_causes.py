"""Which cause does a GPU record stand for when it is the first of its burst, and which Xid numbers stand for none?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from crashlens.catalog.record_causes import VERDICTS, fits, values_of
from crashlens.catalog.rows import package_rows
from crashlens.findings import Verdict

FILE = "xid_causes.toml"
Reading = Literal["downstream", "open"]


@dataclass(frozen=True, slots=True)
class XidCause:
    """One row: the cause, the story that words it, the verdict, the Xid numbers and the rules that stand for it.

    `where` names captures and the values accepted for each, in lower case; `unless` captures and values of which none
    may stand there: such a record decides nothing.
    """

    cause: str
    story: str
    verdict: Verdict
    xids: frozenset[int]
    rules: frozenset[str]
    where: Mapping[str, frozenset[str]]
    unless: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class XidReading:
    """Numbers that stand for no cause: they only report what came before (`downstream`), or decide nothing (`open`)."""

    reading: Reading
    xids: frozenset[int]
    why: str


@lru_cache(maxsize=1)
def xid_causes() -> tuple[XidCause, ...]:
    """All rows, most severe first.

    Raises:
        DataFileError: The shipped file is wrong; every fault is named.
    """
    file = package_rows(FILE, "xid_cause")
    rows = tuple(
        XidCause(
            row.text("cause"),
            row.text("story"),
            cast("Verdict", row.choice("verdict", VERDICTS)),
            frozenset(row.integers("xids")),
            frozenset(row.texts("rules")),
            values_of(row, "where"),
            values_of(row, "unless"),
        )
        for row in file
    )
    file.check()
    return rows


@lru_cache(maxsize=1)
def xid_readings() -> tuple[XidReading, ...]:
    """The numbers that stand for no cause.

    Raises:
        DataFileError: The shipped file is wrong; every fault is named.
    """
    file = package_rows(FILE, "xid_reading")
    rows = tuple(
        XidReading(
            cast("Reading", row.choice("reading", ("downstream", "open"))),
            frozenset(row.integers("xids")),
            row.text("why"),
        )
        for row in file
    )
    file.check()
    return rows


def cause_of(xid: int | None, rule_id: str, fields: Mapping[str, str]) -> XidCause | None:
    """The first row for a record with this Xid number, rule and captures, or None where it decides nothing alone."""
    return next(
        (row for row in xid_causes() if _stands_for(row, xid, rule_id) and fits(row.where, row.unless, fields)), None
    )


def _stands_for(row: XidCause, xid: int | None, rule_id: str) -> bool:
    return xid in row.xids or (xid is None and rule_id in row.rules)
