"""What is known about an Xid number: meaning, actions, what usually stands beside it, where the sources disagree.

A number that the catalog does not hold stays unknown. Source of every row: the `sources` cells, spelt out under
`[sources]` of xids.toml.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from crashlens.catalog.rows import Row, RowFile, package_rows

FirstCauseClass = Literal[1, 2, 3, 4, 5, 6, "never_first"]
CLASSES: tuple[FirstCauseClass, ...] = (1, 2, 3, 4, 5, 6, "never_first")


@dataclass(frozen=True, slots=True)
class Xid:
    """One Xid number.

    Attributes:
        number: The number.
        mnemonic: Name in the driver header.
        meaning: One clause, with marks such as [inference] kept.
        category: hardware_bus, hardware_memory, firmware_gsp, user_app, ...
        status: documented (in the vendor's catalog), unused (for Ampere and newer), name_only (driver header only).
        immediate_action: Vendor bucket for getting back into service; empty: unknown, which is not "ignore".
        investigatory_action: Vendor bucket for finding out why; empty: unknown.
        advice: The actions in words.
        ends_process: yes | usually | depends | no | unknown.
        ends_process_note: Which process, or the mark of the statement; may be empty.
        first_cause_class: Rank inside one burst of one node when a job ended: 1 is named first, 6 last, `never_first`
            not while a ranked one stands in the same burst.
        first_cause_basis: Where that rank comes from.
        parents: Numbers that usually stand before it.
        parents_note: When or on which device; may be empty.
        children: Numbers that usually follow.
        children_note: As `parents_note`.
        applies_to: Of A100, H100, B100, GB200 those the catalog names.
        sources_disagree: Where public sources differ; empty: no difference known.
        sources: Keys of `source_text`.
    """

    number: int
    mnemonic: str
    meaning: str
    category: str
    status: str
    immediate_action: str
    investigatory_action: str
    advice: str
    ends_process: str
    ends_process_note: str
    first_cause_class: FirstCauseClass
    first_cause_basis: str
    parents: tuple[int, ...]
    parents_note: str
    children: tuple[int, ...]
    children_note: str
    applies_to: tuple[str, ...]
    sources_disagree: str
    sources: tuple[str, ...]


def xid(number: int) -> Xid | None:
    """The facts of Xid `number`, or None: not in this catalog, which says nothing about what it means."""
    return _catalog()[0].get(number)


def xids() -> tuple[Xid, ...]:
    """All known numbers in ascending order."""
    return tuple(_catalog()[0].values())


def source_text(key: str) -> str:
    """The publication behind a source key such as `S1`; the key itself where it is not known."""
    return _catalog()[1].get(key, key)


def parse_xids(file: RowFile) -> tuple[dict[int, Xid], dict[str, str]]:
    """The numbers and the source texts of `file`.

    Raises:
        DataFileError: Every fault of the file: types, unknown keys, numbers twice or out of order, unknown sources.
    """
    texts = file.named_texts("sources")
    found: dict[int, Xid] = {}
    for row in file:
        one = _xid(row)
        if found and one.number <= max(found):
            row.fault(f"xid {one.number} stands twice or out of order")
        for key in one.sources:
            if key not in texts:
                row.fault(f"source {key} is not in [sources]")
        found[one.number] = one
    file.check()
    return found, texts


@cache
def _catalog() -> tuple[dict[int, Xid], dict[str, str]]:
    return parse_xids(package_rows("xids.toml", "xid"))


def _xid(row: Row) -> Xid:
    return Xid(
        number=row.integer("xid"),
        mnemonic=row.text("mnemonic"),
        meaning=row.text("meaning"),
        category=row.text("category"),
        status=row.choice("status", ("documented", "unused", "name_only")),
        immediate_action=row.text("immediate_action"),
        investigatory_action=row.text("investigatory_action"),
        advice=row.text("advice"),
        ends_process=row.choice("ends_process", ("yes", "usually", "depends", "no", "unknown")),
        ends_process_note=row.text("ends_process_note", otherwise=""),
        first_cause_class=_first_cause_class(row),
        first_cause_basis=row.text("first_cause_basis"),
        parents=row.integers("parents"),
        parents_note=row.text("parents_note", otherwise=""),
        children=row.integers("children"),
        children_note=row.text("children_note", otherwise=""),
        applies_to=row.texts("applies_to"),
        sources_disagree=row.text("sources_disagree", otherwise=""),
        sources=row.texts("sources"),
    )


def _first_cause_class(row: Row) -> FirstCauseClass:
    value = row.cell("first_cause_class")
    for known in CLASSES:
        if value == known and not isinstance(value, bool):
            return known
    row.fault(f"first_cause_class = {value!r} is neither 1 to 6 nor never_first")
    return "never_first"
