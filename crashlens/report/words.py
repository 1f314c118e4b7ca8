"""The fixed words of the document by language, and its colours and limits: loaders of labels.*.toml and layout.toml."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from crashlens.catalog.toml_text import toml_document

LANGUAGES = ("en", "ko")


@dataclass(frozen=True, slots=True)
class Labels:
    """The fixed words in one language.

    Attributes:
        lang: `en` or `ko`.
        words: Single labels by key.
        groups: Labels of a closed set (`verdict`, `role`, `note`, ...) by group and member.
    """

    lang: str
    words: dict[str, str]
    groups: dict[str, dict[str, str]]

    def __getitem__(self, key: str) -> str:
        return self.words[key]

    def of(self, group: str, member: str) -> str:
        """The label of `member` of `group`; the member itself when the group does not have it."""
        return self.groups[group].get(member, member)


@dataclass(frozen=True, slots=True)
class Look:
    """Colours and display limits.

    Attributes:
        colours: `#rrggbb` by name.
        verdicts: `fill`, `text`, `frame` and `dash` by verdict.
        roles: `rail` and `dash` by role of evidence.
        notes: `rail` and `fill` by kind of note.
        limits: Lines, columns and entries.
    """

    colours: dict[str, str]
    verdicts: dict[str, dict[str, str]]
    roles: dict[str, dict[str, str]]
    notes: dict[str, dict[str, str]]
    limits: dict[str, int]


@lru_cache(maxsize=4)
def load_labels(lang: str) -> Labels:
    """The labels in `lang`; English where `lang` is not one of `LANGUAGES`."""
    known = lang if lang in LANGUAGES else "en"
    table = _toml(f"labels.{known}.toml")
    words = {key: value for key, value in table.items() if isinstance(value, str)}
    groups: dict[str, dict[str, str]] = {key: value for key, value in table.items() if key not in words}
    return Labels(known, words, groups)


@lru_cache(maxsize=1)
def load_look() -> Look:
    """The colours and limits of layout.toml."""
    table = _toml("layout.toml")
    return Look(table["colour"], table["verdict"], table["role"], table["note"], table["limit"])


def _toml(name: str) -> dict[str, Any]:
    return toml_document(files("crashlens.report").joinpath(name).read_text(encoding="utf-8"))
