import re
import tomllib
from pathlib import Path

import pytest

from crashlens.errors import CrashlensError
from crashlens.views.encoding import panels, reason_classes, run_panels
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


@pytest.mark.parametrize("name", ["sentences.en.toml", "labels.en.toml"])
def test_no_sentence_claims_a_cause(name: str) -> None:
    text = (VIEWS / name).read_text("utf-8").lower()
    assert not re.search(r"\b(causes?|caused by|because|due to|leads? to)\b", text)


@pytest.mark.parametrize("name", ["sentences.ko.toml", "labels.ko.toml"])
def test_no_korean_sentence_claims_a_cause(name: str) -> None:
    assert not re.search(r"때문|원인|야기|초래|로 인해|으로 인한", (VIEWS / name).read_text("utf-8"))


def test_every_language_has_the_same_sentences_and_fields() -> None:
    english, korean = (tomllib.loads((VIEWS / f"sentences.{lang}.toml").read_text("utf-8")) for lang in ("en", "ko"))
    assert [(part, list(words)) for part, words in korean.items()] == [(p, list(words)) for p, words in english.items()]
    fields = {
        (part, key): (sorted(re.findall(r"\{\w+\}", text)), sorted(re.findall(r"\{\w+\}", korean[part][key])))
        for part, words in english.items()
        for key, text in words.items()
    }
    assert {key: pair for key, pair in fields.items() if pair[0] != pair[1]} == {}


def test_every_part_is_read_as_text_in_its_language() -> None:
    assert sentences("timeline")["title"] == "The window on one time axis"
    assert sentences("timeline", "ko")["title"] == "한 시간축에 놓은 구간"
    assert word_for("state", "partly_read", "ko") == "일부 읽음"


def test_a_korean_case_is_korean_but_for_names() -> None:
    kinds = {(one.name, one.label) for one in reason_classes("ko")}
    titles = {title for panel in (*panels("ko"), *run_panels("ko")) for _, title in panel.signals}
    assert [text for text in (*titles, *(label for _, label in kinds)) if not re.search(r"[가-힣]", text)] == []
    assert len(titles) == len({title for panel in (*panels(), *run_panels()) for _, title in panel.signals})
