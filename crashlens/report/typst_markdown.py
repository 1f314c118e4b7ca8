"""Markdown syntax trees -> Typst code. Every piece of text goes through `TypstText`; markup is written here only."""

from collections.abc import Iterable, Sequence

from crashlens.report.blocks import Token
from crashlens.report.document import plain_text
from crashlens.report.typst_text import TypstText, array
from crashlens.report.words import Labels

_FOLLOWED = ("https://", "http://", "mailto:")
_WRAPS = {"strong": "strong", "emphasis": "emph", "strikethrough": "strike"}
_CODE_COLUMNS = 98


def render_markdown(tokens: Iterable[Token], text: TypstText, labels: Labels) -> str:
    """Typst code (an expression, without `#`) for block-level `tokens` without headings."""
    return _joined([_block(token, text, labels) for token in tokens if token["type"] != "blank_line"])


def _block(token: Token, text: TypstText, labels: Labels) -> str:
    kind = token["type"]
    children: Sequence[Token] = token.get("children", [])
    if kind in ("paragraph", "block_text"):
        inline = _inline(children, text, labels)
        return f"par({inline})" if kind == "paragraph" else inline
    if kind == "block_code":
        body, _ = text.mono(
            str(token["raw"]).rstrip("\n"), columns=_CODE_COLUMNS, most_lines=len(str(token["raw"])) + 1
        )
        return f'printed({body}, "")'
    if kind == "list":
        maker = "enum" if token["attrs"].get("ordered") else "list"
        start = f"start: {int(token['attrs'].get('start', 1))}, " if maker == "enum" else ""
        items = ", ".join(
            f"{maker}.item({render_markdown(item.get('children', []), text, labels)})" for item in children
        )
        return f"{maker}({start}{items})"
    if kind == "block_quote":
        return f"quoted({render_markdown(children, text, labels)})"
    if kind == "thematic_break":
        return 'line(length: 100%, stroke: 0.4pt + hue("rule"))'
    if kind == "table":
        return _table(children, text, labels)
    if kind == "heading":  # inside a quotation or a list: a section cannot start there
        return f"par(strong({_inline(children, text, labels)}))"
    return f"par(mono({text.prose(str(token.get('raw', '')) or plain_text(list(children)))}))"


def _inline(tokens: Iterable[Token], text: TypstText, labels: Labels) -> str:
    parts: list[str] = []
    for token in tokens:
        kind = token["type"]
        children: Sequence[Token] = token.get("children", [])
        if kind == "text":
            parts.append(_spaced(str(token["raw"]), text))
        elif kind in _WRAPS:
            parts.append(f"{_WRAPS[kind]}({_inline(children, text, labels)})")
        elif kind == "codespan":
            parts.append(f"mono({_spaced(str(token['raw']), text)})")
        elif kind == "softbreak":
            parts.append('" "')
        elif kind == "linebreak":
            parts.append("linebreak()")
        elif kind == "link":
            parts.append(_link(token, text, labels))
        elif kind == "image":
            parts.append(f"mono({text.prose(plain_text(list(children)) or labels['picture_without_description'])})")
        else:
            parts.append(f"mono({_spaced(str(token.get('raw', '')) or plain_text(list(children)), text)})")
    return _joined(parts)


def _link(token: Token, text: TypstText, labels: Labels) -> str:
    url = str(token["attrs"].get("url", ""))
    body = _inline(token.get("children", []), text, labels)
    return f"link({text.literal(url)}, {body})" if url.lower().startswith(_FOLLOWED) and url.isascii() else body


def _table(children: Sequence[Token], text: TypstText, labels: Labels) -> str:
    head = next((part for part in children if part["type"] == "table_head"), None)
    cells: Sequence[Token] = head.get("children", []) if head else []
    rows = [row.get("children", []) for part in children if part["type"] == "table_body" for row in part["children"]]
    aligns = [str(cell.get("attrs", {}).get("align") or "left") for cell in cells]
    weights = [
        max(
            4,
            min(
                44,
                *(text.columns(plain_text(row[at]["children"])) for row in [list(cells), *rows] if at < len(row)),
                44,
            ),
        )
        for at in range(len(cells))
    ]
    body = array(array(_inline(cell["children"], text, labels) for cell in row) for row in rows)
    header = array(_inline(cell["children"], text, labels) for cell in cells)
    shares = array(f"{weight}fr" for weight in weights)
    return f'grid-table("", "", {shares}, {array(aligns)}, 8.6pt, {header}, {body}, "")'


def _spaced(raw: str, text: TypstText) -> str:
    """Prose that keeps the blank at its ends, which separates it from the markup beside it."""
    body = text.prose(raw)
    before = '" "; ' if raw[:1].isspace() else ""
    after = '; " "' if raw[-1:].isspace() and raw.strip() else ""
    return f"{{{before}{body}{after}}}" if before or after else body


def _joined(parts: Sequence[str]) -> str:
    if not parts:
        return '""'
    return parts[0] if len(parts) == 1 else "{" + "; ".join(parts) + "}"
