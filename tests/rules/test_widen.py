import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.rules.widen import widened


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [
        ("CUDA error", r"\x43\x55\x44\x41\x20\x65\x72\x72\x6f\x72"),  # bytes are written as such: nothing is special
        (r"^NVRM: \bXid", r"\x4e\x56\x52\x4d\x3a\x20\x58\x69\x64"),  # places are dropped
        (r"(?<!x)error(?= in)(?! y)", r"\x65\x72\x72\x6f\x72"),
        (r"(?:\[\d\] )?failed(?: here)? *", r"\x66\x61\x69\x6c\x65\x64"),  # what may be absent at an end is cut
        (r"errno.{1,300}", r"\x65\x72\x72\x6e\x6f[\x00-\x09\x0b-\xff]"),  # one report, not 300
        (r"failed: \d{1,9} of (?:a|b) \d+", r"\x66\x61\x69\x6c\x65\x64\x3a\x20"),  # a rare word is enough
        (
            r"x: (?:lost peers|no answer)",
            (r"\x6c\x6f\x73\x74\x20\x70\x65\x65\x72\x73", r"\x6e\x6f\x20\x61\x6e\x73\x77\x65\x72"),
        ),
        (r"error\d{1,300}", r"\x65\x72\x72\x6f\x72[\x30-\x39\x80-\xff]"),
        ("(?i)error", r"[\x45\x65][\x52\x72][\x52\x72][\x4f\x6f][\x52\x72]"),
        ("(?i)k", r"[\x49\x4b\x53\x69\x6b\x73\x80-\xff]"),  # without case, K equals the Kelvin sign
        ("오류 12345", r"\xec\x98\xa4\xeb\xa5\x98\x20\x31\x32\x33\x34\x35"),
        (
            r"from [^\n]* failed : (?:Broken|Reset)",
            r"\x20\x66\x61\x69\x6c\x65\x64\x20\x3a\x20",
        ),
    ],
)
def test_a_pattern_is_widened_to_what_stands_in_every_line(pattern: str, searched: str | tuple[str, ...]) -> None:
    wide = widened(pattern)
    assert wide is not None
    assert (wide.searched or (wide.whole,)) == (searched if isinstance(searched, tuple) else (searched,))


def test_words_around_a_gap_are_searched_together_and_a_short_word_not_at_all() -> None:
    both, short = widened(r"rank(\d+).*pid=(\d+)"), widened(r"[Ss]tep[ :=]{1,3}(\d{1,12})")
    assert both is not None
    assert short is not None
    assert both.searched == (both.whole,)
    assert (short.searched, short.whole) == ((), r"[\x53\x73]\x74\x65\x70[\x20\x3a\x3d]{1,3}[\x30-\x39\x80-\xff]")


def test_a_pattern_that_does_not_parse_has_no_wider_form() -> None:
    assert widened("(") is None


PIECES = st.sampled_from(
    ["a", "B", "7", " ", r"\d", r"\w", r"\s", r"\S", ".", "[^a]", "[a-c]", "[^\\n,]", r"\b", "^", "$", "(?=a)", "(?!b)", "(?<=a)",
     "K", "ſ", "é", "한", r"\\x", "(?P=n)", "\\."]
)  # fmt: skip
GROUP_COUNTS = st.sampled_from(["", "", "?", "{2}", "{0,3}", "{1,2}?"])  # without end inside without end, `re` hangs
COUNTS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{0,3}", "{1,40}?", "{3,}", "*?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    def sequence(depth: int) -> str:
        parts = []
        for _ in range(draw(st.integers(1, 4))):
            if depth and draw(st.integers(0, 4)) == 0:
                inner = "|".join(sequence(depth - 1) for _ in range(draw(st.integers(1, 3))))
                parts.append(f"(?:{inner}){draw(GROUP_COUNTS)}")
            else:
                piece = draw(PIECES.filter(lambda one: "P=n" not in one))
                parts.append(piece + (draw(COUNTS) if not piece.startswith(("(?", "^", "$", r"\b")) else ""))
        return "".join(parts)

    return draw(st.sampled_from(["", "(?i)", "(?a)"])) + sequence(1)


TEXTS = st.text(alphabet="aBbcK\u212asſSéÉ한7٣ ,.x\\\t", max_size=9)


@settings(max_examples=500, deadline=None)
@given(patterns(), st.lists(TEXTS, min_size=1, max_size=6))
def test_where_the_pattern_matches_its_wider_forms_do(pattern: str, texts: list[str]) -> None:
    compiled, wide = re.compile(pattern), widened(pattern)
    assert wide is not None
    forms = [re.compile(one.encode()) for one in ("|".join(wide.searched), wide.whole)]
    for text in texts:
        if compiled.search(text):
            assert [form.search(b"x\n" + text.encode() + b"\ny") is not None for form in forms] == [True] * len(forms)
