import re
from html.parser import HTMLParser

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from sample_notebook import META, code, findings_bundle, make_executed, notebook, shown, svg, thermal

from crashlens.report.document import read_document
from crashlens.report.html_page import html_page

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "nav", "article", "div", "span", "figure", "figcaption", "img"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "b", "strong", "em", "del", "small", "code", "pre", "a", "br", "hr", "blockquote"),
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tr", "th", "td"),
}  # fmt: skip
VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """Text, tags and links of a page; fails on a tag that is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.sources: list[str] = []
        self.ids: set[str] = set()
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        self.ids |= {value or "" for name, value in attrs if name == "id"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def render(nb: NotebookNode) -> Page:
    return Page(html_page(read_document(nb, name="incident")))


@pytest.fixture(scope="module")
def page() -> Page:
    return render(make_executed())


def test_the_page_needs_nothing_else(page: Page) -> None:
    assert page.tags <= ALLOWED
    for source in page.sources:
        assert source.startswith(("#", "data:image/", "https://example.org/x"))
    anchors = {source[1:] for source in page.sources if source.startswith("#")}
    assert anchors <= page.ids
    assert {"finding-0", "finding-1"} <= anchors


def test_it_holds_what_the_paper_holds(page: Page) -> None:
    text = re.sub(r"\s+", " ", page.text)
    for words in (
        META["title"],
        thermal().summary,
        "telemetry/node17.csv:3312",
        "That the fan or the room is at fault.",
        "Memory temperature: not collected in any source.",
        "ipmitool -H node17-bmc sdr type Temperature",
        "No step times were collected.",
        "ValueError: bad #value",
        "4 more rows are not shown.",
        "shape: (3, 2)",
        "Synthetic sample: made-up data",
    ):
        assert words in text, words
    for word in ("SECRET_CODE_CELL", "STACK_TRACE_LINE", "NOISE_ON_STDERR"):
        assert word not in text


def test_unseen_characters_are_spelled_out(page: Page) -> None:
    for words in (
        "user\\u{202E}txt.exe",
        "\u241b[31m[rank3]",
        "a\u2400b\u2407c",
        "bad byte \\u{DCFF}",
        "step 4211 🚀",
        "خطأ error",
    ):
        assert words in page.text


def test_markup_in_evidence_markdown_and_charts_stays_text() -> None:
    attack = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    finding = {
        "cause": attack,
        "summary": attack,
        "verdict": attack,
        "evidence": [{"source": attack, "text": attack, "role": attack}],
    }
    nb = notebook(
        new_markdown_cell(
            f"# {attack}\n\n{attack}\n\n<script>alert(3)</script>\n\n[x](javascript:alert(4)) `{attack}`\n\n## b"
        ),
        code(
            "f",
            shown(findings={"findings": [finding]}),
            shown(chart={"title": attack, "caption": attack, "alt": attack}, svg=svg(attack)),
        ),
        **{**META, "title": attack, "client": attack},
    )
    page = render(nb)
    assert page.tags <= ALLOWED
    assert not [source for source in page.sources if source.startswith(("javascript", "x"))]
    assert page.text.count("<script>alert(1)</script>") >= 9


def test_korean_words() -> None:
    page = render(
        notebook(
            new_markdown_cell("# 요약\n\n글"), code("f", shown(findings=findings_bundle())), **{**META, "lang": "ko"}
        )
    )
    assert "이것이 증명하지 않는 것" in page.text
