"""What does a sentence that is fixed in English say in another language? Facts, methods and notices, each looked up."""

import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from crashlens.catalog.toml_text import toml_document

LONGEST = 2000  # characters of a sentence that is looked up: names from the input may stand in it
_FIELD = re.compile(r"\{(\w+)\}")


class _Pattern(NamedTuple):
    head: str
    pattern: re.Pattern[str]
    said: str


def in_language(sentence: str, lang: str) -> str:
    """`sentence` in `lang` ("en" or "ko"), by `phrases.*.toml`; a sentence that is not listed there stays as it is.

    What fills a listed sentence in, such as the reason in a notice, is looked up by itself.

    Args:
        sentence: One whole sentence, as the catalogs and readers of this package write it.
        lang: `en` or `ko`.
    """
    if lang == "en" or len(sentence) > LONGEST:
        return sentence
    whole, patterns = _phrases(lang)
    if sentence in whole:
        return whole[sentence]
    for head, pattern, said in patterns:
        found = pattern.fullmatch(sentence) if sentence.startswith(head) else None
        if found:
            return said.format_map({name: in_language(part, lang) for name, part in found.groupdict().items()})
    return sentence


@lru_cache(maxsize=2)
def _phrases(lang: str) -> tuple[dict[str, str], tuple[_Pattern, ...]]:
    """Sentences by their English words, and patterns for those with something to fill in."""
    text = files("crashlens.catalog").joinpath(f"phrases.{lang}.toml").read_text("utf-8")
    rows: list[dict[str, str]] = toml_document(text)["phrase"]
    whole = {row["en"]: row[lang] for row in rows if not _FIELD.search(row["en"])}
    open_ = [row for row in rows if row["en"] not in whole]
    return whole, tuple(_Pattern(_FIELD.split(row["en"])[0], _pattern(row["en"]), row[lang]) for row in open_)


def _pattern(english: str) -> re.Pattern[str]:
    """The pattern of a template: {n...} takes a number, any other name takes other text."""
    parts = _FIELD.split(english)  # text, name, text, name, ..., text
    shapes = [
        re.escape(part) if place % 2 == 0 else rf"(?P<{part}>{r'[0-9][0-9,.]*' if part.startswith('n_') else '.+'})"
        for place, part in enumerate(parts)
    ]
    return re.compile("".join(shapes), re.DOTALL)
