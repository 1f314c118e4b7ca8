"""Which cause does a GPU record stand for when it is the first of its burst?"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from crashlens.catalog.toml_text import toml_document


@dataclass(frozen=True, slots=True)
class XidCause:
    """One row: the cause, the story that words it, the Xid numbers and the rules that stand for it.

    A record with one of the captures in `unless` takes it back and decides nothing.
    """

    cause: str
    story: str
    xids: frozenset[int]
    rules: frozenset[str]
    unless: Mapping[str, str]


@lru_cache(maxsize=1)
def xid_causes() -> tuple[XidCause, ...]:
    """All rows, most severe first."""
    text = (resources.files("crashlens.catalog") / "xid_causes.toml").read_text(encoding="utf-8")
    return tuple(
        XidCause(row["cause"], row["story"], frozenset(row["xids"]), frozenset(row["rules"]), row.get("unless", {}))
        for row in toml_document(text)["xid_cause"]
    )


def cause_of(xid: int | None, rule_id: str, fields: Mapping[str, str]) -> XidCause | None:
    """The row for a record with this Xid number, rule and captures, or None where it decides nothing alone."""
    found = next((row for row in xid_causes() if xid in row.xids or (xid is None and rule_id in row.rules)), None)
    if found is not None and any(fields.get(key) == value for key, value in found.unless.items()):
        return None
    return found
