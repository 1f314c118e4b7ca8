import re
from pathlib import Path

import pytest

from crashlens.errors import CrashlensError
from crashlens.views.labels import LANGUAGES, labels, sentences, word_for

VIEWS = Path(__file__).parents[2] / "crashlens" / "views"


def test_every_language_has_the_same_labels_and_fields() -> None:
    english = labels("en")
    for lang in LANGUAGES:
        other = labels(lang)
        assert set(other) == set(english)
        fields = {key: re.findall(r"\{\w+\}", text) for key, text in other.items()}
        assert fields == {key: re.findall(r"\{\w+\}", text) for key, text in english.items()}


def test_a_language_without_labels_is_refused_with_a_way_out() -> None:
    with pytest.raises(CrashlensError, match='no labels in the language "fr"'):
        labels("fr")


def test_a_word_that_is_not_listed_is_shown_as_it_is() -> None:
    assert word_for("state", "partly_read") == "read in part"
    assert word_for("state", "brand_new") == "brand_new"
    assert word_for("state", None) == "unknown"


@pytest.mark.parametrize("name", ["sentences.toml", "labels.en.toml"])
def test_no_sentence_claims_a_cause(name: str) -> None:
    text = (VIEWS / name).read_text("utf-8").lower()
    assert not re.search(r"\b(causes?|caused by|because|due to|leads? to)\b", text)


def test_every_part_is_read_as_text() -> None:
    assert sentences("timeline")["title"] == "The window on one time axis"
