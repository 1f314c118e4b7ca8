import re
import time
import tomllib
from importlib.resources import files

import pytest

from crashlens.catalog.phrases import LONGEST, in_language
from crashlens.catalog.thresholds import thresholds
from crashlens.catalog.xids import xids

ROWS = tomllib.loads(files("crashlens.catalog").joinpath("phrases.ko.toml").read_text("utf-8"))["phrase"]
HANGUL = re.compile(r"[가-힣]")
CAUSAL = re.compile(r"때문|원인|야기|초래|로 인해|으로 인한")


def fields(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w+)\}", text))


def said(korean: str) -> bool:
    return korean == "PDF" or HANGUL.search(korean) is not None


def test_every_phrase_is_korean_fills_in_the_same_and_is_listed_once() -> None:
    assert [row for row in ROWS if fields(row["en"]) != fields(row["ko"]) or not said(row["ko"])] == []
    assert [row for row in ROWS if CAUSAL.search(row["ko"])] == []
    assert len({row["en"] for row in ROWS}) == len(ROWS)


def test_every_xid_meaning_and_every_source_of_a_threshold_is_said_in_korean() -> None:
    assert [one.number for one in xids() if not HANGUL.search(in_language(one.meaning, "ko"))] == []
    assert [one.name for one in thresholds() if not HANGUL.search(in_language(one.source, "ko"))] == []


@pytest.mark.parametrize(
    ("english", "korean"),
    [
        ("Line 12 was not read: 3 cells under 4 column names.", "12번째 줄을 읽지 못했다: 열 이름은 4개인데 칸이 3개."),
        ("1,204 more lines were not read.", "그 밖에 1,204줄을 읽지 못했다."),
        ("Copy engine 14 error", "복사 엔진 14 오류"),
        ("a sentence of nobody", "a sentence of nobody"),
        ("x more lines were not read.", "x more lines were not read."),
    ],
)
def test_sentences_are_looked_up_whole(english: str, korean: str) -> None:
    assert in_language(english, "ko") == korean
    assert in_language(english, "en") == english


def test_braces_of_the_input_are_text() -> None:
    assert in_language("It was left out: {kind} {0}.", "ko") == "제외했다: {kind} {0}."


def test_a_long_sentence_stays_and_takes_no_time() -> None:
    long = "The " + " stream is damaged (" * (LONGEST // 20)
    started = time.perf_counter()
    assert in_language(long, "ko") == long
    assert in_language(long * 50, "ko") == long * 50
    assert time.perf_counter() - started < 1
