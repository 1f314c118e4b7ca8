"""Which words stand around the facts? Labels per language, and the English sentences of tables and charts."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from crashlens.errors import CrashlensError

LANGUAGES = ("en", "ko")


@cache
def labels(lang: str) -> dict[str, str]:
    """Words around a finding, by key, in `lang` ("en" or "ko").

    Raises:
        CrashlensError: No labels in that language.
    """
    if lang not in LANGUAGES:
        raise CrashlensError(
            f'There are no labels in the language "{lang}"; nothing was shown.',
            facts=[("known", ", ".join(LANGUAGES))],
            way_out='Use lang="en".',
        )
    return _load(f"labels.{lang}.toml")


@cache
def sentences(part: str) -> dict[str, str]:
    """English sentences and column labels of one part of `sentences.toml`, by key."""
    return _load("sentences.toml")[part]


def word_for(part: str, key: str | None) -> str:
    """The printed form of a stored word such as `partly_read`; a word that is not listed is printed as it is."""
    return sentences("word")["unknown"] if key is None else sentences(part).get(key, key)


def counted(part: str, one: str, many: str, count: int) -> str:
    """The sentence `one` or `many` of `part`, with `count` filled in."""
    return sentences(part)[one] if count == 1 else sentences(part)[many].format(count=f"{count:,}")


def counted_label(lang: str, count: int) -> str:
    """How many findings there are, in words of `lang`."""
    words = labels(lang)
    return words["count_one"] if count == 1 else words["count_many"].format(count=count)


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads(files("crashlens.views").joinpath(name).read_text("utf-8"))
