"""An executed notebook -> the document it will become: title page and blocks, code cells left out."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import mistune

from crashlens.report.blocks import Block, Document, FindingList, Grid, Heading, Meta, Picture, Prose, Token
from crashlens.report.fields import Fields, window_of
from crashlens.report.outputs import joined, read_output, zone_or_utc
from crashlens.report.words import Labels, load_labels


def read_document(notebook: dict[str, Any], *, name: str) -> Document:
    """Read an executed notebook for layout.

    Args:
        notebook: A notebook of nbformat 4 (a `NotebookNode` is one).
        name: Title for a notebook that has neither `metadata["crashlens"]["title"]` nor a heading; the file name.

    Raises:
        UnknownTimeZoneError: The notebook asks for times in a zone that is not known here.
    """
    root = Fields.of(notebook)
    meta = root.object("metadata").object("crashlens")
    labels = load_labels(meta.text("lang"))
    blocks = list(_blocks(root, labels))
    lone_title = _lone_title(blocks)
    if lone_title is not None:
        blocks = _raised(blocks[1:])
    title = lone_title or _first_heading(blocks) or name
    return Document(_meta(meta, labels, title, lone_title), tuple(_named_once(blocks)))


def plain_text(tokens: list[Token]) -> str:
    """The text of inline Markdown without its markup."""
    parts: list[str] = []
    for token in tokens:
        if "children" in token:
            parts.append(plain_text(token["children"]))
        elif token["type"] in ("softbreak", "linebreak"):
            parts.append(" ")
        else:
            parts.append(str(token.get("raw", "")))
    return "".join(parts)


class _Levels:
    """Heading levels as written -> levels that start at 1 and never skip, which PDF/UA-1 asks for."""

    def __init__(self) -> None:
        self._open: list[int] = []

    def enter(self, written: int) -> int:
        while self._open and self._open[-1] >= written:
            self._open.pop()
        self._open.append(written)
        return len(self._open)

    @property
    def below(self) -> int:
        return len(self._open) + 1


def _blocks(root: Fields, labels: Labels) -> Iterator[Block]:
    levels = _Levels()
    parse = mistune.create_markdown(renderer=None, plugins=["table", "strikethrough"])
    for cell in root.objects("cells"):
        text = joined(cell.values.get("source"))
        if cell.text("cell_type") == "markdown":
            yield from _markdown(cast("list[Token]", parse(text)), levels)
        elif cell.text("cell_type") == "code":
            for output in _outputs(cell):
                block = read_output(output, level=levels.below, labels=labels)
                if isinstance(block, str):
                    yield from _markdown(cast("list[Token]", parse(block)), levels)
                elif block is not None:
                    yield block


def _outputs(cell: Fields) -> Iterator[Fields]:
    """The outputs of a cell; neighbouring pieces of what it printed, cut at any character, become one."""
    printed: list[str] = []
    for output in cell.objects("outputs"):
        if output.text("output_type") == "stream" and output.text("name") == "stdout":
            printed.append(joined(output.values.get("text")))
            continue
        if printed:
            yield _printed(printed)
            printed = []
        yield output
    if printed:
        yield _printed(printed)


def _printed(pieces: list[str]) -> Fields:
    return Fields({"output_type": "stream", "name": "stdout", "text": "".join(pieces)})


def _markdown(tokens: list[Token], levels: _Levels) -> Iterator[Block]:
    between: list[Token] = []
    for token in tokens:
        if token["type"] == "heading":
            if between:
                yield Prose(tuple(between))
                between = []
            text = plain_text(token["children"]).strip()
            if text:
                yield Heading(levels.enter(int(token["attrs"]["level"])), text)
        elif token["type"] != "blank_line":
            between.append(token)
    if between:
        yield Prose(tuple(between))


def _lone_title(blocks: list[Block]) -> str | None:
    """The text of a first-level heading that opens the notebook and is the only one: a title, not a section."""
    tops = [block for block in blocks if isinstance(block, Heading) and block.level == 1]
    return tops[0].text if len(tops) == 1 and blocks[0] is tops[0] and len(blocks) > 1 else None


def _raised(blocks: list[Block]) -> list[Block]:
    """Blocks whose headings stood below a title that is now gone."""
    raised: list[Block] = []
    for block in blocks:
        if isinstance(block, Heading):
            raised.append(Heading(block.level - 1, block.text))
        elif isinstance(block, FindingList):
            raised.append(replace(block, level=block.level - 1))
        else:
            raised.append(block)
    return raised


def _named_once(blocks: list[Block]) -> Iterator[Block]:
    """Blocks in which a table or picture does not repeat the heading that it stands under."""
    heading = ""
    for block in blocks:
        if isinstance(block, Heading):
            heading = block.text
        if isinstance(block, Grid | Picture) and block.title.strip().casefold() == heading.casefold():
            yield replace(block, title="")
        else:
            yield block


def _first_heading(blocks: list[Block]) -> str:
    return next((block.text for block in blocks if isinstance(block, Heading)), "")


def _meta(meta: Fields, labels: Labels, fallback: str, lone_title: str | None) -> Meta:
    title = meta.text("title") or fallback or labels["untitled"]
    kicker = lone_title if lone_title and lone_title != title else labels["document_kind"] if meta.values else ""
    zone_name, zone = zone_or_utc(meta.text("show_tz"), "the notebook's metadata, show_tz")
    return Meta(
        title=title,
        kicker=kicker or "",
        client=meta.text("client"),
        window=window_of(meta.texts("window")),
        made=meta.moment("made"),
        zone=zone,
        zone_name=zone_name,
        version=meta.text("version"),
        lang=labels.lang,
        synthetic=meta.values.get("synthetic") is True,
    )
