"""Typst source -> PDF bytes, archival (PDF/A-2a) and accessible (PDF/UA-1), the same bytes on every run.

Those two standards make Typst refuse any text it has no glyph for and any picture without a description, so a
document that compiles shows everything. What the font tables promised and Typst still refused is spelled out, and the
document is set again.
"""

import re
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import typst

from crashlens.errors import ReportError
from crashlens.report.blocks import Document, Meta
from crashlens.report.fonts import find_fonts
from crashlens.report.layout import Laid, lay_out
from crashlens.report.typst_text import TypstText

UNDATED = datetime(1970, 1, 1, tzinfo=UTC)  # PDF/A-2a asks for a date; a notebook without one gets the epoch
_ATTEMPTS = 12
_REFUSED = re.compile(r'the text `"(.*?)"` could not be displayed', re.DOTALL)
_CODE = re.compile(r"\\u\{([0-9a-fA-F]+)\}")


def typeset(document: Document) -> bytes:
    """The document as PDF.

    Raises:
        MissingExtraError: A font package is not installed.
        ReportError: Typst refused the document; the message holds Typst's own words.
    """
    text = TypstText(find_fonts())
    unreadable: frozenset[str] = frozenset()
    refusal = ""
    for _ in range(_ATTEMPTS):
        laid = lay_out(document, text, unreadable=unreadable)
        try:
            return _compiled(laid, _timestamp(document.meta))
        except typst.TypstError as error:
            refusal = error.message
        refused = _refused_characters(refusal) - text.refused
        broken: frozenset[str] = frozenset() if refused else _broken_pictures(laid) - unreadable
        if not refused and not broken:
            break
        text = replace(text, refused=text.refused | refused)
        unreadable |= broken
    raise ReportError(
        "The document could not be typeset; no PDF was written.",
        facts=[("Typst", refusal.splitlines()[0] if refusal else "")],
        way_out="Keep the notebook with --keep-notebook and send it with this message: this is a fault of crashlens.",
    )


def _timestamp(meta: Meta) -> datetime:
    return meta.made or (meta.window[1] if meta.window else UNDATED)


@lru_cache(maxsize=1)
def _fonts() -> typst.Fonts:
    return typst.Fonts(False, True, [str(folder) for folder in find_fonts().folders])  # noqa: FBT003 Typst's own signature


def _compiled(laid: Laid, timestamp: datetime) -> bytes:
    with tempfile.TemporaryDirectory(prefix="crashlens-") as folder:
        for name, data in laid.pictures.items():
            (Path(folder) / name).write_bytes(data)
        main = Path(folder) / "main.typ"
        main.write_text(laid.source, encoding="utf-8", newline="\n")
        pdf, warnings = typst.compile_with_warnings(
            str(main),
            root=folder,
            font_paths=_fonts(),
            ignore_system_fonts=True,
            pdf_standards=["a-2a", "ua-1"],
            timestamp=timestamp,
        )
    if missing := [warning.message for warning in warnings if "font" in warning.message]:
        raise ReportError(
            "The typesetter did not find a font of the document; no PDF was written.",
            facts=[("Typst", message) for message in missing[:3]],
            way_out="pip install --upgrade 'crashlens-gpu[pdf]'",
        )
    return pdf


def _refused_characters(message: str) -> frozenset[str]:
    """The characters beyond ASCII of the text that Typst says it has no glyph for."""
    found = _REFUSED.search(message)
    if found is None:
        return frozenset()
    shown = _CODE.sub(lambda code: chr(int(code[1], 16)), found[1])
    return frozenset(char for char in shown if not char.isascii())


def _broken_pictures(laid: Laid) -> frozenset[str]:
    """Names of the pictures that cannot be set even alone on a page."""
    broken: set[str] = set()
    for name, data in laid.pictures.items():
        try:
            _compiled(Laid(f'#set document(title: "x")\n#image("{name}", alt: "x")', {name: data}), UNDATED)
        except typst.TypstError:
            broken.add(name)
    return frozenset(broken)
