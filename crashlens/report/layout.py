"""A document -> Typst source and the picture files it names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import zip_longest

from crashlens.report.blocks import Column, Document, FindingList, Grid, Heading, Meta, Mono, Note, Picture, Prose
from crashlens.report.fields import moment_text
from crashlens.report.finding_words import cut_here, finding_number, finding_title, title_facts
from crashlens.report.fonts import MONO, SANS
from crashlens.report.layout_finding import render_finding
from crashlens.report.typst_markdown import render_markdown
from crashlens.report.typst_text import TypstText, array, svg_shown
from crashlens.report.words import Labels, load_labels, load_look

_Data = str | Sequence["_Data"] | Mapping[str, "_Data"]

_VERDICTS = ("supported", "consistent", "undecided", "benign")
_ROLES = ("first", "downstream", "context", "counter")
_WIDEST_CELL, _NARROWEST_CELL = 38, 4  # columns of text that set the share of a table column


@dataclass(frozen=True, slots=True)
class Laid:
    """Typst source and the pictures it names, by file name."""

    source: str
    pictures: dict[str, bytes]


def lay_out(document: Document, text: TypstText, *, unreadable: frozenset[str] = frozenset()) -> Laid:
    """The whole document as Typst source.

    Args:
        document: What to lay out.
        text: Writes text for the fonts in use.
        unreadable: Names of pictures that Typst could not read; a note stands in for each of them.
    """
    labels = load_labels(document.meta.lang)
    findings = [block for block in document.blocks if isinstance(block, FindingList)]
    template = files("crashlens.report").joinpath("template.typ").read_text(encoding="utf-8")
    parts = [
        _prologue(labels, text),
        template,
        _setup(document.meta, labels, text),
        _title_page(document, labels, text),
    ]
    headings = sum(isinstance(block, Heading) for block in document.blocks) + sum(len(f.findings) for f in findings)
    if headings > 1:
        depth = 3 if headings <= load_look().limits["contents_entries"] else 2
        parts.append(f"#contents({text.literal(labels['contents'])}, {depth})")
        parts.append(_legend(labels, text) if any(block.findings for block in findings) else "")
    pictures: dict[str, bytes] = {}
    number = 0
    for block, after in zip_longest(document.blocks, document.blocks[1:]):
        if isinstance(block, Heading):
            parts.append(f"#heading(level: {block.level}, {text.heading(block.text)})")
        elif isinstance(block, Prose):
            words = render_markdown(block.tokens, text, labels)
            # A picture or table that moves to the next page takes the words above it along, and they their heading.
            parts.append(f"#block(sticky: true, {words})" if isinstance(after, Picture | Grid) else f"#{words}")
        elif isinstance(block, Note):
            parts.append(_note(block, labels, text))
        elif isinstance(block, Mono):
            parts.append(_printed(block, labels, text))
        elif isinstance(block, Grid):
            parts.append(_grid(block, labels, text))
        elif isinstance(block, Picture):
            name = f"picture{len(pictures)}.{block.kind}"
            pictures[name] = svg_shown(block.data.decode(), text).encode() if block.kind == "svg" else block.data
            parts.append(_picture(block, name, labels, text, readable=name not in unreadable))
        elif block is not None:
            for finding in block.findings:
                parts.append(render_finding(finding, block, number, text, labels))
                number += 1
            if not block.findings:
                parts.append(_note(Note("info", labels["findings_none"]), labels, text))
    return Laid("\n\n".join(part for part in parts if part) + "\n", pictures)


def _setup(meta: Meta, labels: Labels, text: TypstText) -> str:
    made = f"{labels['made']} {moment_text(meta.made, meta.zone)}" if meta.made else ""
    version = labels["written_by_value"].replace("{version}", meta.version) if meta.version else ""
    side = labels["synthetic_short"] if meta.synthetic else meta.client
    return (
        f"#show: audit.with(title: {text.literal(meta.title)}, lang: {text.literal(meta.lang)}, "
        f"running: {text.prose(meta.title)}, side: {text.prose(side)}, "
        f"foot: {text.prose(' · '.join(part for part in (version, made) if part))})"
    )


def _prologue(labels: Labels, text: TypstText) -> str:
    look = load_look()
    data: dict[str, _Data] = {
        "sans": SANS,
        "mono": MONO,
        "colour": look.colours,
        "verdict": look.verdicts,
        "role": look.roles,
        "note": look.notes,
        "page_of": [part for part in re.split(r"(\{pages?\})", labels["page_of"]) if part],
    }
    return f"#let look = {_typst(data, text)}"


def _typst(value: _Data, text: TypstText) -> str:
    """A Typst literal for the strings of our own data files."""
    if isinstance(value, str):
        return text.literal(value)
    if isinstance(value, Mapping):
        return array(f"{text.literal(key)}: {_typst(item, text)}" for key, item in value.items())
    return array(_typst(item, text) for item in value)


def _title_page(document: Document, labels: Labels, text: TypstText) -> str:
    meta = document.meta
    facts = array(array(map(text.prose, fact)) for fact in title_facts(meta, labels))
    found = [(f, block) for block in document.blocks if isinstance(block, FindingList) for f in block.findings]
    glance = array(
        array(
            [
                text.prose(finding_number(finding, number)),
                text.prose(finding_title(finding, block)),
                text.literal(finding.text("verdict")),
                text.literal(labels.of("verdict", finding.text("verdict"))),
                f'label("finding-{number}")',
            ]
        )
        for number, (finding, block) in enumerate(found)
    )
    return (
        f"#title-page(shown-title: {text.heading(meta.title)}, kicker: {text.literal(meta.kicker)}, "
        f"client: {text.literal(meta.client)}, client-label: {text.literal(labels['client'])}, facts: {facts}, "
        f"synthetic: {text.prose(labels['synthetic'] if meta.synthetic else '')}, "
        f"promise: {text.prose(labels['promise'] if meta.version else '')}, "
        f"glance-label: {text.literal(labels['findings_at_a_glance'])}, glance: {glance})"
    )


def _legend(labels: Labels, text: TypstText) -> str:
    verdicts, roles = (
        array(
            array(map(text.literal, (member, labels.of(group, member), labels.of(means, member)))) for member in members
        )
        for group, means, members in (("verdict", "verdict_means", _VERDICTS), ("role", "role_means", _ROLES))
    )
    lead = text.prose(labels["order_is_a_lead"])
    return f"#legend({text.literal(labels['how_to_read'])}, {verdicts}, {roles}, {lead})"


def _note(note: Note, labels: Labels, text: TypstText) -> str:
    word = note.title or labels.of("note", note.kind)
    return f"#note({text.literal(note.kind)}, {text.prose(word)}, {text.prose(note.text)})"


def _printed(block: Mono, labels: Labels, text: TypstText) -> str:
    limits = load_look().limits
    body, whole = text.mono(block.text.rstrip(), columns=limits["output_columns"], most_lines=limits["output_lines"])
    return f"#printed({body}, {text.literal('' if whole else cut_here(block.text, labels))})"


def _picture(picture: Picture, name: str, labels: Labels, text: TypstText, *, readable: bool) -> str:
    if not readable:
        return _note(Note("unknown", labels["picture_unreadable"]), labels, text)
    return (
        f"#picture({text.literal(name)}, {text.literal(picture.alt)}, {_content(picture.title, text)}, "
        f"{_content(picture.caption, text)})"
    )


def _grid(grid: Grid, labels: Labels, text: TypstText) -> str:
    shares = array(f"{share:.3f}fr" for share in column_shares(grid, text))
    aligns = array("right" if column.right else "left" for column in grid.columns)
    size = "8.4pt" if len(grid.columns) <= 6 else "7.4pt" if len(grid.columns) <= 10 else "6.2pt"
    header = array(text.prose(column.label) for column in grid.columns)
    rows = array(
        array(_cell(value, column, labels, text) for value, column in zip(row, grid.columns, strict=True))
        for row in grid.rows
    )
    more = labels["rows_left_out"].replace("{rows}", f"{grid.more:,}") if grid.more else ""
    return (
        f"#grid-table({_content(grid.title, text)}, {_content(grid.caption, text)}, {shares}, {aligns}, {size}, "
        f"{header}, {rows}, {text.literal(more)})"
    )


def column_shares(grid: Grid, text: TypstText) -> list[float]:
    """Relative widths: as asked, else by the longest cell between two bounds, so that no column starves."""
    shares: list[float] = []
    asked = sum(column.width for column in grid.columns if column.width)
    for at, column in enumerate(grid.columns):
        longest = max([text.columns(column.label), *(text.columns(row[at] or "") for row in grid.rows)])
        measured = float(min(_WIDEST_CELL, max(_NARROWEST_CELL, longest + 1)))
        shares.append(column.width or measured)
    if asked and any(not column.width for column in grid.columns):
        # Asked and measured widths have different scales; bring the measured ones to the average of the asked.
        given = [column.width for column in grid.columns if column.width]
        measured_sum = [share for share, column in zip(shares, grid.columns, strict=True) if not column.width]
        scale = (asked / len(given)) / (sum(measured_sum) / len(measured_sum))
        shares = [share if column.width else share * scale for share, column in zip(shares, grid.columns, strict=True)]
    return shares


def _cell(value: str | None, column: Column, labels: Labels, text: TypstText) -> str:
    if value is None:
        return f"unknown-cell({text.literal(labels['unknown'])})"
    lines = [text.prose(line) for line in value.split("\n")]
    shown = lines[0] if len(lines) == 1 else "{" + "; linebreak(); ".join(lines) + "}"
    return f"mono({shown})" if column.mono else shown


def _content(words: str, text: TypstText) -> str:
    return text.prose(words) if words else '""'
