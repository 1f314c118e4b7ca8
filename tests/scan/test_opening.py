import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.rules.load import shipped_rules
from crashlens.scan.envelope import OPENING
from crashlens.scan.layers import LAYERS
from crashlens.scan.opening import can_open


@pytest.mark.parametrize(
    ("pattern", "opening"),
    [
        (r"\[rank(\d+)\]", "[r"),
        (r" ?(?:Jan|Feb) ", "Fe"),
        (r" ?(?:Jan|Feb) ", " J"),
        (r" ?(?:Jan|Feb) ", "Ja"),
        (r"a{2,3}b", "aa"),
        (r"a{0,1}b", "ab"),
        (r"(?=x)[^a]\w", "x1"),  # what must stand ahead is taken as met
        (r"ab?", "ac"),  # it ends before the opening does
        (r"(a)\1", "a?"),  # a reference may be anything
        (r"(?:a?){2,}b", "bc"),
        (r"(?:a?)*b", "c"),  # a repeat of what may be nothing is not followed
    ],
)
def test_a_pattern_can_begin_with_this(pattern: str, opening: str) -> None:
    assert can_open(re.compile(pattern), opening)


@pytest.mark.parametrize(
    ("pattern", "opening"),
    [
        (r"\[rank(\d+)\]", "[R"),
        (r"\[rank(\d+)\]", "(r"),
        (r" ?(?:Jan|Feb) ", "Jb"),
        (r"a{2,3}b", "ab"),
        (r"[^a-c]", "b"),
    ],
)
def test_a_pattern_cannot_begin_with_this(pattern: str, opening: str) -> None:
    assert not can_open(re.compile(pattern), opening)


PIECES = st.sampled_from(
    ["a", "B", "7", " ", r"\d", r"\w", r"\S", ".", "[^a]", "[a-c]", r"\b", "(?=a)", "(?!b)", "(a|7)", "(?:Ba)"]
)
COUNTS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{0,3}", "{1,2}?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(PIECES, min_size=1, max_size=4))
    return "".join(one + (draw(COUNTS) if not one.startswith((r"\b", "(?=", "(?!")) else "") for one in pieces)


@settings(max_examples=400)
@given(patterns(), st.text(alphabet="aBbc7 é한", min_size=1, max_size=6))
def test_where_a_pattern_matches_it_can_open(pattern: str, text: str) -> None:
    compiled = re.compile(pattern)
    found = compiled.match(text)
    if found and found.end():
        assert can_open(compiled, text[:OPENING])


def test_no_layer_is_left_out_where_it_matches() -> None:
    lines = [example for rule in shipped_rules().rules for example in (*rule.matches, *rule.rejects)]
    places = [(line, at) for line in lines for at in range(min(len(line), 60))]
    for layer in LAYERS:
        for line, at in places:
            if layer.pattern.match(line, at):
                assert can_open(layer.pattern, line[at : at + OPENING]), (layer.pattern.pattern, line[at:])
