from hypothesis import given
from hypothesis import strategies as st

from crashlens.views.terminal import printable_lines, width_of


def test_controls_do_not_reach_the_terminal() -> None:
    assert printable_lines("\x1b]0;title\x07 x\r", width=40) == ["␛]0;title␇ x␍"]


def test_a_long_line_is_wrapped_at_spaces_with_its_indent() -> None:
    got = printable_lines("one two three four five six", width=20, first="  - ")
    assert got == ["  - one two three", "    four five six"]


def test_a_long_word_is_wrapped_where_the_line_is_full() -> None:
    assert printable_lines("x" * 45, width=20) == ["x" * 20, "x" * 20, "x" * 5]


def test_wide_characters_take_two_columns() -> None:
    assert width_of("온도 a") == 6
    assert printable_lines("온" * 15, width=20) == ["온" * 10, "온" * 5]


def test_line_feeds_of_the_text_start_new_lines() -> None:
    assert printable_lines("a\nb", width=40, first="| ", rest="| ") == ["| a", "| b"]


@given(st.text(max_size=200), st.integers(20, 60))
def test_no_line_is_wider_than_asked_and_nothing_is_lost(text: str, width: int) -> None:
    lines = printable_lines(text, width=width)
    assert all(width_of(line) <= width for line in lines)
    kept = "".join(lines).replace(" ", "")
    whole = "".join(printable_lines(text, width=10_000)).replace(" ", "")
    assert kept == whole
