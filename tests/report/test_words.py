import re

import pytest

from crashlens.report.words import load_labels, load_look


def braces(words: dict[str, str]) -> dict[str, list[str]]:
    return {key: sorted(re.findall(r"\{\w+\}", value)) for key, value in words.items()}


def test_korean_labels_have_the_keys_and_fillings_of_the_english_ones() -> None:
    english, korean = load_labels("en"), load_labels("ko")
    assert braces(korean.words) == braces(english.words)
    assert {g: set(members) for g, members in korean.groups.items()} == {
        g: set(members) for g, members in english.groups.items()
    }


def test_labels_state_no_cause() -> None:
    text = " ".join(
        [*load_labels("en").words.values(), *(w for g in load_labels("en").groups.values() for w in g.values())]
    )
    assert not re.search(r"\b(because|due to|caus\w*|leads? to)\b", text, re.IGNORECASE)


def test_an_unknown_language_reads_english() -> None:
    assert load_labels("xx").lang == "en"


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("verdict", ["supported", "consistent", "undecided", "benign"])
def test_chips_can_be_read(verdict: str) -> None:
    chip = load_look().verdicts[verdict]
    assert contrast(chip["fill"], chip["text"]) >= 4.5


def test_chips_differ_without_colour() -> None:
    """In grey the fills are dark, light or none; the two without fill differ in their frame."""
    marks = {v: (round(luminance(chip["fill"]), 1), chip["dash"]) for v, chip in load_look().verdicts.items()}
    assert len(set(marks.values())) == 4
    assert marks["supported"][0] < 0.3 < marks["consistent"][0] < 1.0
