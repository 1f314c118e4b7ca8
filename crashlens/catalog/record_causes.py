"""Which finding does a log record stand for, where the record alone says it?

Rules whose reading needs more than the record (arithmetic, other records, order) are concluded in code and have no row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from crashlens.catalog.rows import Row, package_rows
from crashlens.findings import Verdict

VERDICTS: tuple[Verdict, ...] = ("supported", "consistent", "undecided", "benign")


@dataclass(frozen=True, slots=True)
class RecordCause:
    """One row: the rule, what its captures must hold, and the story, cause and verdict that it stands for.

    `where` names captures and the values accepted for each, in lower case; an absent capture fits the value "".
    `unless` names captures and values of which none may stand there.
    """

    rule: str
    where: Mapping[str, frozenset[str]]
    unless: Mapping[str, frozenset[str]]
    story: str
    cause: str
    verdict: Verdict


@lru_cache(maxsize=1)
def record_causes() -> Mapping[str, tuple[RecordCause, ...]]:
    """All rows by rule id, in the order of the file.

    Raises:
        DataFileError: The shipped file is wrong; every fault is named.
    """
    file = package_rows("record_causes.toml", "record_cause")
    rows: dict[str, list[RecordCause]] = {}
    for row in file:
        found = RecordCause(
            row.text("rule"), values_of(row, "where"), values_of(row, "unless"), row.text("story"), row.text("cause"),
            cast("Verdict", row.choice("verdict", VERDICTS)),
        )  # fmt: skip
        rows.setdefault(found.rule, []).append(found)
    file.check()
    return {rule: tuple(found) for rule, found in rows.items()}


def record_cause(rule_id: str, fields: Mapping[str, str]) -> RecordCause | None:
    """The first row that fits a record of this rule with these captures, or None where it decides nothing alone."""
    return next((row for row in record_causes().get(rule_id, ()) if fits(row.where, row.unless, fields)), None)


def fits(where: Mapping[str, frozenset[str]], unless: Mapping[str, frozenset[str]], fields: Mapping[str, str]) -> bool:
    """Whether each capture of `where` has one of its values in `fields`, and none of `unless` has; in any case."""

    def holds(key: str, values: frozenset[str]) -> bool:
        return fields.get(key, "").strip().lower() in values

    return all(holds(*item) for item in where.items()) and not any(holds(*item) for item in unless.items())


def values_of(row: Row, name: str) -> dict[str, frozenset[str]]:
    """The cell `name`, a table of captures and the values accepted for each in lower case; empty where it is absent."""
    cells = row.cell(name)
    if cells is None:
        return {}
    if not isinstance(cells, dict):
        row.fault(f"{name} must be a table of lists")
        return {}
    found: dict[str, frozenset[str]] = {}
    for key, values in cast("dict[str, object]", cells).items():
        items = cast("list[object]", values) if isinstance(values, list) else []
        if not items or not all(isinstance(item, str) and item == item.lower() for item in items):
            row.fault(f"{name}.{key} must be a list of texts in lower case")
            continue
        found[key] = frozenset(cast("list[str]", items))
    return found
