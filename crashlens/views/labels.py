"""Which words stand around the facts? Labels, sentences of tables and charts, per language."""

from functools import cache
from importlib.resources import files
from typing import Any

from crashlens.catalog.toml_text import toml_document
from crashlens.errors import CrashlensError

LANGUAGES = ("en", "ko")


@cache
def labels(lang: str) -> dict[str, str]:
    """Words around a finding, by key, in `lang` ("en" or "ko").

    Raises:
        CrashlensError: No labels in that language.
    """
    return _load("labels", lang)


@cache
def sentences(part: str, lang: str = "en") -> dict[str, str]:
    """Sentences and column labels of one part of `sentences.*.toml`, by key, in `lang` ("en" or "ko").

    Raises:
        CrashlensError: No sentences in that language.
    """
    return _load("sentences", lang)[part]


def word_for(part: str, key: str | None, lang: str = "en") -> str:
    """The printed form of a stored word such as `partly_read`; a word that is not listed is printed as it is."""
    return sentences("word", lang)["unknown"] if key is None else sentences(part, lang).get(key, key)


def counted(part: str, one: str, many: str, count: int, lang: str = "en") -> str:
    """The sentence `one` or `many` of `part`, with `count` filled in."""
    words = sentences(part, lang)
    return words[one] if count == 1 else words[many].format(count=f"{count:,}")


def counted_label(lang: str, count: int) -> str:
    """How many findings there are, in words of `lang`."""
    words = labels(lang)
    return words["count_one"] if count == 1 else words["count_many"].format(count=count)


@cache
def _load(name: str, lang: str) -> dict[str, Any]:
    if lang not in LANGUAGES:
        raise CrashlensError(
            f'There are no labels in the language "{lang}"; nothing was shown.',
            facts=[("known", ", ".join(LANGUAGES))],
            way_out='Use lang="en".',
        )
    return toml_document(files("crashlens.views").joinpath(f"{name}.{lang}.toml").read_text("utf-8"))
