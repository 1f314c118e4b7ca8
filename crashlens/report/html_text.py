"""Text as the HTML page shows it; the escaping itself is that of `views.html`, the one place for HTML."""

from crashlens.views import html


def escaped(text: str) -> str:
    """`text` on one line, safe between tags and inside double quotes."""
    return html.text(" ".join(text.split("\n")))


def escaped_lines(text: str) -> str:
    """`text` for a `pre` element: line breaks stay, tabs become blanks."""
    return html.text(text.expandtabs(8))
