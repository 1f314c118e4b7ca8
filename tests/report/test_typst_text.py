import re
import unicodedata
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pypdfium2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashlens.report.blocks import Document, Heading, Meta, Mono, Note
from crashlens.report.fonts import find_fonts
from crashlens.report.typeset import typeset
from crashlens.report.typst_text import TypstText, array, svg_shown


@pytest.fixture(scope="module")
def text() -> TypstText:
    return TypstText(find_fonts())


@pytest.mark.parametrize(
    ("raw", "literal"),
    [
        ('#panic("x") $1$ `r` *b*', r'"#panic(\"x\") $1$ `r` *b*"'),
        ("back\\slash", r'"back\\slash"'),
        ("two\nlines", '"two lines"'),
        ("\x1b[31mred", r'"\\x1b[31mred"'),
        ("a\x00b\x9f", r'"a\\x00b\\x9f"'),
        ("user\u202etxt", r'"user\\u{202E}txt"'),
        ("zero\u200bwidth", r'"zero\\u{200B}width"'),
        ("오류 显卡 サーバ", '"오류 显卡 サーバ"'),
        ("fire 🔥", '"fire [U+1F525]"'),
        ("bad \udcff byte", '"bad [U+DCFF] byte"'),
        ("Z\u0351", '"Z[U+0351]"'),
        ("e\u0301", '"é"'),  # a letter and its mark that Unicode joins into one are shown as that one
        ("\u1112\u1161\u11ab", '"한"'),
        ("خ", '"[U+062E]"'),
        ("\u3164", r'"\\u{3164}"'),  # looks like a blank, is a letter
        ("35 °C ≤ µ → …", '"35 °C ≤ µ → …"'),
    ],
)
def test_text_becomes_an_inert_string_literal(text: TypstText, raw: str, literal: str) -> None:
    assert text.literal(raw) == literal


def test_long_tokens_get_break_points_that_are_not_characters(text: TypstText) -> None:
    path = "/data/checkpoints/run-17/step_000042/model.safetensors"
    code = text.prose(f"see {path} now")
    assert "".join(re.findall(r'box\("(.*?)"\)', code)) == path
    assert max(len(piece) for piece in re.findall(r'box\("(.*?)"\)', code)) <= 10
    assert text.prose("short words only") == '"short words only"'


def test_a_korean_word_stays_whole_where_it_is_short(text: TypstText) -> None:
    assert text.prose("GPU를 다시 시작한다") == '{box("GPU를"); " "; box("다시"); " "; box("시작한다")}'
    assert text.prose("열두글자가넘는아주긴낱말하나") == '"열두글자가넘는아주긴낱말하나"'


def test_mono_lines_never_exceed_their_columns_and_lose_nothing(text: TypstText) -> None:
    line = "rank 3 " + "x" * 50 + " 온도가너무높습니다" * 3 + " end"
    lines, whole = text.lines(line, columns=24, most_lines=100)
    assert whole
    assert all(text.columns(part) <= 24 for part in lines)
    assert all(part.startswith("    ") for part in lines[1:])
    assert lines[0] + "".join(part[4:] for part in lines[1:]) == line


def test_a_five_megabyte_line_is_cut_and_says_so(text: TypstText) -> None:
    lines, whole = text.lines("x" * 5_000_000, columns=96, most_lines=40)
    assert (len(lines), whole) == (40, False)


def test_tabs_are_expanded_and_a_carriage_return_is_seen(text: TypstText) -> None:
    assert text.lines("a\tb\r\nc", columns=40, most_lines=5) == (["a       b\\x0d", "c"], True)


def test_an_array_of_one_item_keeps_its_comma() -> None:
    assert array(['"a"']) == '("a", )'
    assert array([]) == "()"


def test_svg_labels_show_what_the_fonts_lack_and_keep_their_markup(text: TypstText) -> None:
    assert svg_shown("<svg>\n<text>온도 🔥</text></svg>", text) == "<svg>\n<text>온도 [U+1F525]</text></svg>"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(ANY_TEXT, min_size=60, max_size=60))
def test_any_text_compiles(texts: list[str]) -> None:
    meta = Meta(
        texts[0] or "t",
        texts[1],
        "",
        None,
        datetime(2026, 1, 1, tzinfo=UTC),
        ZoneInfo("UTC"),
        "UTC",
        "0",
        "en",
        synthetic=False,
    )
    blocks = [Heading(1, "all"), *(Note("info", item) for item in texts[::2]), *(Mono(item) for item in texts[1::2])]
    assert typeset(Document(meta, tuple(blocks))).startswith(b"%PDF-")


def seen(char: str, page_text: str) -> bool:
    """Whether the page shows `char`, as itself or spelled out; PDF readers may give its compatibility form."""
    code = ord(char)
    spelled = (f"U+{code:04X}", f"\\u{{{code:04X}}}", f"\\x{code:02x}")
    return any(form in page_text for form in (char, unicodedata.normalize("NFKC", char), *spelled))


def test_characters_from_all_over_unicode_are_seen() -> None:
    sample = [chr(code) for code in range(0x21, 0x11000, 31)]
    meta = Meta("t", "", "", None, None, ZoneInfo("UTC"), "UTC", "", "en", synthetic=False)
    pdf = typeset(Document(meta, tuple(Mono(" ".join(sample[at : at + 20])) for at in range(0, len(sample), 20))))
    page_text = "".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(pdf))
    canonical = {part for char in sample for part in unicodedata.normalize("NFC", char) if not part.isspace()}
    assert sorted(char for char in canonical if not seen(char, page_text)) == []
