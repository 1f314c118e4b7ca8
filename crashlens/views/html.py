"""How does text become HTML that shows it and nothing more? The one place that escapes for HTML."""

from html import escape

from crashlens.views.encoding import style_sheet
from crashlens.views.visible import visible


def text(value: str) -> str:
    """`value` as HTML text or a quoted attribute: markup inert, unseen characters visible."""
    return escape(visible(value), quote=True)


def element(tag: str, inner: str, kind: str = "") -> str:
    """`<tag class="cl-kind">inner</tag>`; `inner` is HTML already."""
    return f'<{tag} class="cl-{text(kind)}">{inner}</{tag}>' if kind else f"<{tag}>{inner}</{tag}>"


def page_part(inner: str) -> str:
    """`inner` HTML as one output of a notebook, with the style sheet that all crashlens outputs share.

    The style is scoped to `.crashlens`, works without network and follows the light or dark theme of the page.
    """
    return f'<div class="crashlens"><style>{style_sheet()}</style>{inner}</div>'
