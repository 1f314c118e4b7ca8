from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pypdfium2
import pytest

from crashlens.report import typeset as module
from crashlens.report.blocks import Block, Document, Meta, Mono, Note
from crashlens.report.fonts import find_fonts
from crashlens.report.typeset import typeset


def document(*blocks: Block, made: datetime | None = None, window: tuple[datetime, datetime] | None = None) -> Document:
    return Document(Meta("t", "", "", window, made, ZoneInfo("UTC"), "UTC", "", "en", synthetic=False), blocks)


def test_characters_that_the_font_tables_promised_wrongly_are_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fonts = find_fonts()
    monkeypatch.setattr(module, "find_fonts", lambda: replace(fonts, holds=fonts.holds | {0x1F525, 0x1F680}))
    pdf = typeset(document(Mono('"fire" 🔥'), Note("info", "rocket 🚀 ok")))
    text = pypdfium2.PdfDocument(pdf)[0].get_textpage().get_text_range()
    assert '"fire" [U+1F525]' in text
    assert "rocket [U+1F680] ok" in text


@pytest.mark.parametrize(
    ("made", "window", "stamp"),
    [
        (datetime(2026, 12, 1, 10, 5, tzinfo=UTC), None, "D:20261201100500Z"),
        (None, (datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 2, 3, tzinfo=UTC)), "D:20261002030000Z"),
        (None, None, "D:19700101000000Z"),
    ],
)
def test_the_date_inside_comes_from_the_notebook(
    made: datetime | None, window: tuple[datetime, datetime] | None, stamp: str
) -> None:
    pdf = pypdfium2.PdfDocument(typeset(document(Mono("x"), made=made, window=window)))
    assert pdf.get_metadata_value("CreationDate") == stamp


def test_it_says_which_standards_it_was_made_for() -> None:
    pdf = typeset(document(Mono("x")))
    for mark in (
        b"<pdfaid:part>2</pdfaid:part>",
        b"<pdfaid:conformance>A</pdfaid:conformance>",
        b"<pdfuaid:part>1</pdfuaid:part>",
    ):
        assert mark in pdf
