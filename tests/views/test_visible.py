import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashlens.views.visible import visible, without_surrogates


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\x00b\x7f\r", "a␀b␡␍"),
        ("\x9b2J", "\\u{009B}2J"),
        ("abc\u202edcba\u2066", "abc\\u{202E}dcba\\u{2066}"),
        ("zero\u200bwidth\ufeff", "zero\\u{200B}width\\u{FEFF}"),
        ("lone \udc80", "lone \\u{DC80}"),
        ("blank\u3164letter", "blank\\u{3164}letter"),
        ("line\u2028end", "line\\u{2028}end"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize(
    "text", ["온도 상승", "温度", "🔥 hot", "👩\u200d💻", "a\tb\nc", "<b>&'\"", "naïve ü", "#panic $x$ `y`"]
)
def test_what_can_be_seen_stays(text: str) -> None:
    assert visible(text) == text


@given(st.text())
def test_any_text_can_be_printed_and_shown_twice(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert visible(shown) == shown


def test_json_keeps_all_but_lone_surrogates() -> None:
    assert without_surrogates("\x1b raw \ud800") == "\x1b raw \\u{D800}"
    assert without_surrogates("\u202e stays") == "\u202e stays"
