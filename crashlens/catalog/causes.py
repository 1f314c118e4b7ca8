"""The causes that a finding may name: what each claims, how far it may go, what it is mistaken for.

Source: the cause vocabulary of the case bank; the file says which words are crashlens's own.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from crashlens.catalog.rows import RowFile, package_rows
from crashlens.errors import DataFileError


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause id.

    Attributes:
        id: `family.specific`.
        family: The part before the dot.
        title: English noun phrase for a heading.
        title_ko: The same in Korean.
        definition: What the id claims.
        state: The id names an observed state whose origin stays open.
        ceiling: Highest verdict without extra proof: supported | consistent.
        confused_with: What it is most often mistaken for: cause ids, or words.
    """

    id: str
    family: str
    title: str
    title_ko: str
    definition: str
    state: bool
    ceiling: str
    confused_with: tuple[str, ...]


def cause(cause_id: str) -> Cause:
    """The cause called `cause_id`.

    Raises:
        DataFileError: There is none; the message names close ones.
    """
    known = _catalog()[0]
    if cause_id not in known:
        closest = ", ".join(get_close_matches(cause_id, known, n=3)) or "none is close"
        raise DataFileError("A use of catalog/causes.toml", [f'no cause is called "{cause_id}" ({closest})'])
    return known[cause_id]


def causes() -> tuple[Cause, ...]:
    """All causes in the order of the file, family by family."""
    return tuple(_catalog()[0].values())


def family_text(family: str) -> str:
    """What the causes of `family` have in common; the name itself where it is not known."""
    return _catalog()[1].get(family, family)


def parse_causes(file: RowFile) -> tuple[dict[str, Cause], dict[str, str]]:
    """The causes and the family texts of `file`.

    Raises:
        DataFileError: Every fault of the file: types, unknown keys, an id twice or outside the families.
    """
    families = file.named_texts("families")
    found: dict[str, Cause] = {}
    for row in file:
        cause_id = row.text("id")
        family, _, specific = cause_id.partition(".")
        if family not in families or not specific:
            row.fault(f'"{cause_id}" is not family.specific with a family of [families]')
        if cause_id in found:
            row.fault(f"{cause_id} stands twice")
        found[cause_id] = Cause(
            id=cause_id,
            family=family,
            title=row.text("title"),
            title_ko=row.text("title_ko"),
            definition=row.text("definition"),
            state=row.flag("state"),
            ceiling=row.choice("ceiling", ("supported", "consistent")),
            confused_with=row.texts("confused_with"),
        )
    file.check()
    return found, families


@cache
def _catalog() -> tuple[dict[str, Cause], dict[str, str]]:
    return parse_causes(package_rows("causes.toml", "cause"))
