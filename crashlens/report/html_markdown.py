"""Markdown syntax trees -> HTML. Raw HTML in a notebook is shown as text, never passed on."""

from collections.abc import Iterable, Sequence

from crashlens.report.blocks import Token
from crashlens.report.document import plain_text
from crashlens.report.html_text import escaped, escaped_lines

_FOLLOWED = ("https://", "http://", "mailto:")
_WRAPS = {"strong": "strong", "emphasis": "em", "strikethrough": "del"}


def markdown_html(tokens: Iterable[Token]) -> str:
    """HTML for block-level `tokens` without headings."""
    return "\n".join(_block(token) for token in tokens if token["type"] != "blank_line")


def _block(token: Token) -> str:
    kind = token["type"]
    children: Sequence[Token] = token.get("children", [])
    if kind == "paragraph":
        return f"<p>{_inline(children)}</p>"
    if kind == "block_text":
        return _inline(children)
    if kind == "block_code":
        return f"<pre>{escaped_lines(str(token['raw']).rstrip())}</pre>"
    if kind == "list":
        tag = "ol" if token["attrs"].get("ordered") else "ul"
        start = f' start="{int(token["attrs"].get("start", 1))}"' if tag == "ol" else ""
        items = "".join(f"<li>{markdown_html(item.get('children', []))}</li>" for item in children)
        return f"<{tag}{start}>{items}</{tag}>"
    if kind == "block_quote":
        return f"<blockquote>{markdown_html(children)}</blockquote>"
    if kind == "thematic_break":
        return "<hr>"
    if kind == "table":
        return _table(children)
    if kind == "heading":  # inside a quotation or a list: a section cannot start there
        return f"<p><strong>{_inline(children)}</strong></p>"
    return f"<p><code>{escaped(str(token.get('raw', '')) or plain_text(list(children)))}</code></p>"


def _inline(tokens: Iterable[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        kind = token["type"]
        children: Sequence[Token] = token.get("children", [])
        if kind == "text":
            parts.append(escaped(str(token["raw"])))
        elif kind in _WRAPS:
            parts.append(f"<{_WRAPS[kind]}>{_inline(children)}</{_WRAPS[kind]}>")
        elif kind == "softbreak":
            parts.append(" ")
        elif kind == "linebreak":
            parts.append("<br>")
        elif kind == "link" and str(token["attrs"].get("url", "")).lower().startswith(_FOLLOWED):
            url = escaped(str(token["attrs"]["url"]))
            parts.append(f'<a href="{url}" rel="noreferrer">{_inline(children)}</a>')
        elif kind == "link":
            parts.append(_inline(children))
        else:
            parts.append(f"<code>{escaped(str(token.get('raw', '')) or plain_text(list(children)))}</code>")
    return "".join(parts)


def _table(children: Sequence[Token]) -> str:
    rows: list[str] = []
    for part in children:
        if part["type"] == "table_head":
            rows.append(f"<thead><tr>{_cells(part['children'], 'th')}</tr></thead>")
        else:
            rows += [f"<tr>{_cells(row['children'], 'td')}</tr>" for row in part["children"]]
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _cells(cells: Sequence[Token], tag: str) -> str:
    written = ""
    for cell in cells:
        mark = " class=right" if cell.get("attrs", {}).get("align") == "right" else ""
        written += f"<{tag}{mark}>{_inline(cell['children'])}</{tag}>"
    return written
