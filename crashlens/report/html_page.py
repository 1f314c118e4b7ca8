"""A document -> one HTML file that needs nothing else: no script, no network, no font file."""

import base64
from importlib.resources import files

from crashlens.report.blocks import Block, Document, FindingList, Grid, Heading, Mono, Note, Picture, Prose
from crashlens.report.finding_words import finding_number, finding_title, title_facts
from crashlens.report.html_finding import chip_html, finding_html
from crashlens.report.html_markdown import markdown_html
from crashlens.report.html_text import escaped, escaped_lines
from crashlens.report.words import Labels, load_labels, load_look

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_TYPES = {"svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "gif": "image/gif"}


def html_page(document: Document) -> str:
    """The whole document as one page, light or dark as the reader's system asks, with rules for printing."""
    labels = load_labels(document.meta.lang)
    body: list[str] = []
    contents: list[str] = []
    number = 0
    for block in document.blocks:
        if isinstance(block, Heading):
            level = min(6, block.level + 1)
            anchor = f"section-{len(contents)}"
            contents.append(f'<li class="level{level}"><a href="#{anchor}">{escaped(block.text)}</a></li>')
            body.append(f'<h{level} id="{anchor}">{escaped(block.text)}</h{level}>')
        elif isinstance(block, FindingList):
            for finding in block.findings:
                body.append(finding_html(finding, block, number, labels))
                number += 1
            if not block.findings:
                body.append(_part(Note("info", labels["findings_none"]), labels))
        else:
            body.append(_part(block, labels))
    nav = f"<nav><b>{escaped(labels['contents'])}</b><ul>{''.join(contents)}</ul></nav>" if len(contents) > 1 else ""
    return (
        f'<!doctype html>\n<html lang="{escaped(document.meta.lang)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="crashlens">\n'
        f"<title>{escaped(document.meta.title)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        f"{_header(document, labels)}\n{nav}\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


def _style() -> str:
    look = load_look()
    rules = [files("crashlens.report").joinpath("page.css").read_text(encoding="utf-8")]
    rules += [
        f".chip.{name} {{ background: {v['fill']}; color: {v['text']}; border: 1.5px {v['dash']} {v['frame']}; }}"
        for name, v in look.verdicts.items()
    ]
    rules += [
        f".evidence.{name} {{ border-left-color: {r['rail']}; border-left-style: {r['dash']}; }}"
        for name, r in look.roles.items()
    ]
    rules += [
        f".note.{name} {{ background: {n['fill']}; border-left-color: {n['rail']}; }}" for name, n in look.notes.items()
    ]
    return "\n".join(rules) + "\n"


def _header(document: Document, labels: Labels) -> str:
    meta = document.meta
    facts = "".join(f"<dt>{escaped(k)}</dt><dd>{escaped(v)}</dd>" for k, v in title_facts(meta, labels))
    client = f"<p>{escaped(labels['client'])} <b>{escaped(meta.client)}</b></p>" if meta.client else ""
    kicker = f'<p class="kicker">{escaped(meta.kicker)}</p>' if meta.kicker else ""
    synthetic = f'<p class="synthetic">{escaped(labels["synthetic"])}</p>' if meta.synthetic else ""
    promise = (
        f'<p class="promise">{escaped(labels["promise"])} {escaped(labels["order_is_a_lead"])}</p>'
        if meta.version
        else ""
    )
    found = [
        (finding, block) for block in document.blocks if isinstance(block, FindingList) for finding in block.findings
    ]
    rows = "".join(
        f"<tr><td><b>{escaped(finding_number(finding, at))}</b></td>"
        f'<td><a href="#finding-{at}">{escaped(finding_title(finding, block))}</a></td>'
        f"<td>{chip_html(finding.text('verdict'), labels)}</td></tr>"
        for at, (finding, block) in enumerate(found)
    )
    glance = f"<p><b>{escaped(labels['findings_at_a_glance'])}</b></p><table>{rows}</table>" if rows else ""
    parts = [
        kicker,
        f"<h1>{escaped(meta.title)}</h1>",
        client,
        f"<dl>{facts}</dl>" if facts else "",
        synthetic,
        glance,
        promise,
    ]
    return "<header>" + "\n".join(part for part in parts if part) + "</header>"


def _part(block: Block, labels: Labels) -> str:
    if isinstance(block, Prose):
        return markdown_html(block.tokens)
    if isinstance(block, Note):
        word = escaped(block.title or labels.of("note", block.kind))
        return f'<div class="note {block.kind}"><b>{word}</b>{escaped(block.text)}</div>'
    if isinstance(block, Mono):
        return f"<pre>{escaped_lines(block.text.rstrip())}</pre>"
    if isinstance(block, Picture):
        title = f'<div class="title">{escaped(block.title)}</div>' if block.title else ""
        caption = f'<figcaption class="caption">{escaped(block.caption)}</figcaption>' if block.caption else ""
        source = f"data:{_TYPES[block.kind]};base64,{base64.b64encode(block.data).decode('ascii')}"
        return f'<figure>{title}<img alt="{escaped(block.alt)}" src="{source}">{caption}</figure>'
    return _grid(block, labels) if isinstance(block, Grid) else ""


def _grid(grid: Grid, labels: Labels) -> str:
    marks = [" class=right" if column.right else "" for column in grid.columns]
    head = "".join(f"<th{mark}>{escaped(c.label)}</th>" for mark, c in zip(marks, grid.columns, strict=True))
    rows: list[str] = []
    for row in grid.rows:
        cells: list[str] = []
        for mark, column, value in zip(marks, grid.columns, row, strict=True):
            known = f"<code>{escaped(value or '')}</code>" if column.mono else escaped(value or "")
            unknown = f'<span class="unknown">{escaped(labels["unknown"])}</span>'
            cells.append(f"<td{mark}>{unknown if value is None else known}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<p><b>{escaped(grid.title)}</b></p>" if grid.title else ""
    more = (
        f'<p class="caption">{escaped(labels["rows_left_out"].replace("{rows}", f"{grid.more:,}"))}</p>'
        if grid.more
        else ""
    )
    caption = f'<p class="caption">{escaped(grid.caption)}</p>' if grid.caption else ""
    table = f'<div class="wide"><table>{_shares(grid)}<thead><tr>{head}</tr></thead>{"".join(rows)}</table></div>'
    return title + caption + table + more


def _shares(grid: Grid) -> str:
    """The share of the width that each column takes, where every column states one."""
    widths = [column.width for column in grid.columns if column.width is not None]
    if len(widths) < len(grid.columns) or not widths:
        return ""
    return "".join(f'<col width="{100 * width / sum(widths):.0f}%">' for width in widths)
