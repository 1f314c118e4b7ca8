from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from crashlens.views import html


def test_markup_of_the_input_is_inert() -> None:
    assert html.text("<script>\"x\" & 'y'") == "&lt;script&gt;&quot;x&quot; &amp; &#x27;y&#x27;"


def test_unseen_characters_are_spelled_out() -> None:
    assert html.text("a\u202eb\x1b") == "a\\u{202E}b␛"


@given(st.text())
def test_no_text_opens_a_tag_or_ends_an_attribute(text: str) -> None:
    seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append((tag, attrs))

    Reader().feed(f'<p title="{html.text(text)}">{html.text(text)}</p>')
    assert [tag for tag, _ in seen] == ["p"]
    assert [name for name, _ in seen[0][1]] == ["title"]


def test_an_output_is_self_contained() -> None:
    part = html.page_part("<p>x</p>")
    assert part.startswith('<div class="crashlens"><style>')
    assert "http" not in part
    assert "@import" not in part
    assert "<script" not in part
