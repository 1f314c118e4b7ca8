"""Which cause does a GPU record stand for when it is the first of its burst?"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class XidCause:
    """One row: the cause, the story that words it, the Xid numbers and the rules that stand for it."""

    cause: str
    story: str
    xids: frozenset[int]
    rules: frozenset[str]


@lru_cache(maxsize=1)
def xid_causes() -> tuple[XidCause, ...]:
    """All rows, most severe first."""
    text = (resources.files("crashlens.catalog") / "xid_causes.toml").read_text(encoding="utf-8")
    return tuple(
        XidCause(row["cause"], row["story"], frozenset(row["xids"]), frozenset(row["rules"]))
        for row in tomllib.loads(text)["xid_cause"]
    )


def cause_of(xid: int | None, rule_id: str) -> XidCause | None:
    """The row for a record with this Xid number and rule, or None where the record decides nothing alone."""
    return next((row for row in xid_causes() if xid in row.xids or (xid is None and rule_id in row.rules)), None)
