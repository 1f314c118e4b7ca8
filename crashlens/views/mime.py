"""Which MIME types does a crashlens output carry, and how is its bundle built?

The report lays out the JSON and never scrapes HTML; a notebook shows the HTML; a console shows the text.
"""

import math
from collections.abc import Sequence
from typing import Any, cast

from crashlens.views.visible import without_surrogates

FINDINGS = "application/vnd.crashlens.findings+json"
TABLE = "application/vnd.crashlens.table+json"
CHART = "application/vnd.crashlens.chart+json"
NOTE = "application/vnd.crashlens.note+json"
SVG = "image/svg+xml"


def bundle(kind: str, data: dict[str, Any], *, text: str, html: str, svg: str = "") -> dict[str, Any]:
    """The outputs of one object.

    Args:
        kind: One of the MIME types above.
        data: JSON of that type; lone surrogates in it become visible, because no message can carry them.
        text: For consoles.
        html: For notebooks.
        svg: The picture of a chart.
    """
    extra = {SVG: svg} if svg else {}
    return {kind: _carried(data), "text/plain": text, "text/html": html, **extra}


def _carried(value: object) -> object:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value)
        return {without_surrogates(key): _carried(item) for key, item in pairs.items()}
    if isinstance(value, (list, tuple)):
        return [_carried(item) for item in cast("Sequence[object]", value)]
    return value
