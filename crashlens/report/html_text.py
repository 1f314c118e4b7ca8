"""The one place of the report where text becomes HTML: unseen characters are spelled out, then escaped."""

import html

from crashlens.report.visible import show_always, visible


def escaped(text: str) -> str:
    """`text` on one line, safe between tags and inside double quotes."""
    return html.escape(visible(" ".join(text.split("\n")), holds=show_always))


def escaped_lines(text: str) -> str:
    """`text` for a `pre` element: line breaks stay, tabs become blanks."""
    lines = text.expandtabs(8).split("\n")
    return "\n".join(html.escape(visible(line, holds=show_always)) for line in lines)
