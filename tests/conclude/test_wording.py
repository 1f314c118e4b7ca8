"""Parity of the languages: what one says with which numbers, the other says with the same."""

import re
import string
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from crashlens.catalog.causes import cause
from crashlens.conclude.wording import LANGUAGES, compose, listed, say, span, story, wording

OTHERS = [lang for lang in LANGUAGES if lang != "en"]
VERBATIM = {"command", "cause"}  # what a person types, and ids
KOREAN_CAUSAL = re.compile(r"때문|원인|야기|초래|탓(?:에|이|으로)|로 인해|으로 인한")
GUESSED_PARTICLE = re.compile(r"\}(?:은|는|이|가|을|를|과|와|으로|로)(?=[\s,.:;)]|$)")
HANGUL = re.compile(r"[가-힣]")


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text with its path; places in a list count as keys, so that lengths are compared too."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, (*path, str(at)))
    else:
        yield path, value


def fields(text: str) -> list[str]:
    return sorted({name for _, name, _, _ in string.Formatter().parse(text) if name is not None})


def texts(lang: str) -> dict[tuple[str, ...], str]:
    return dict(leaves(wording(lang)))


@pytest.mark.parametrize("lang", OTHERS)
def test_the_languages_have_the_same_tables_and_keys_in_the_same_order(lang: str) -> None:
    assert list(texts(lang)) == list(texts("en"))
    assert len(texts(lang)) > 300


@pytest.mark.parametrize("lang", OTHERS)
def test_the_languages_fill_in_the_same_values(lang: str) -> None:
    other, english = texts(lang), texts("en")
    prose = [path for path in english if path[-1] not in VERBATIM]
    differing = {path: (fields(english[path]), fields(other[path])) for path in prose}
    assert {path: pair for path, pair in differing.items() if pair[0] != pair[1]} == {}


@pytest.mark.parametrize("lang", OTHERS)
def test_commands_and_cause_ids_are_the_same_bytes(lang: str) -> None:
    other, english = texts(lang), texts("en")
    verbatim = [path for path in english if path[-1] in VERBATIM]
    assert len(verbatim) > 40
    assert {path: other[path] for path in verbatim if other[path] != english[path]} == {}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", sorted(wording("en")["story"]))
def test_every_story_is_told_in_every_language(lang: str, name: str) -> None:
    found = compose(
        lang,
        name,
        "unknown.insufficient_evidence",
        "undecided",
        defaultdict(lambda: "7"),
        first_event=None,
        evidence=(),
    )
    said = [found.summary, *found.does_not_prove, *found.unknown]
    said += [part for check in found.next_checks for part in (check.question, check.expect, check.otherwise)]
    said += [rival.separated_by for rival in found.alternatives]
    assert all(text.strip() for text in said)
    assert not [text for text in said if "{" in text or "}" in text]
    assert found.does_not_prove
    assert found.next_checks
    assert all(cause(rival.cause) for rival in story(lang, name).alternatives)


def test_every_korean_sentence_is_korean() -> None:
    units = {path for path in texts("ko") if path[0] == "units"}
    kept = {("words", "gpu"), ("words", "at_time"), ("words", "range")}
    bare = [
        path
        for path, text in texts("ko").items()
        if not HANGUL.search(text) and path[-1] not in VERBATIM and path not in units | kept and text != "{missing}"
    ]
    assert bare == []


def test_korean_is_causal_only_where_the_code_has_proof() -> None:
    prose = {path: text for path, text in texts("ko").items() if path[0] != "causal"}
    assert {path: text for path, text in prose.items() if KOREAN_CAUSAL.search(text)} == {}
    assert all(KOREAN_CAUSAL.search(text) for path, text in texts("ko").items() if path[0] == "causal")


def test_no_korean_particle_is_guessed_after_a_placeholder() -> None:
    prose = {path: text for path, text in texts("ko").items() if path[-1] not in VERBATIM}
    assert {path: text for path, text in prose.items() if GUESSED_PARTICLE.search(text)} == {}
    assert GUESSED_PARTICLE.search("{gpus}가 멈췄다")  # the check can fail


def test_korean_phrases_are_joined_and_counted() -> None:
    assert say("ko", "words", "at_time", time="2026-10-01 09:08:25") == "2026-10-01 09:08:25 UTC"
    assert listed("ko", ["GPU a", "GPU b"]) == "GPU a 및 GPU b"
    assert listed("ko", []) == "없음"
    assert [span("ko", seconds) for seconds in (0.5, 2.4, 600, 4 * 3600)] == ["500 ms", "2.4초", "10분", "4.0시간"]
