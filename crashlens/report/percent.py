"""py:percent text -> notebook: the form in which audit templates are kept, because it reads well as a diff.

`# %%` starts a code cell, `# %% [markdown]` a Markdown cell; a title and `tags=["..."]` may follow. A commented YAML
header between two `# ---` lines is skipped, magics stay comments. Source: jupytext, "The percent format".
"""

import json
import re
import textwrap
from itertools import pairwise
from typing import Any, cast

from nbformat import NotebookNode, from_dict  # pyright: ignore[reportUnknownVariableType]

_MARKER = re.compile(r"^# %%+(?P<rest>.*)$")
_KIND = re.compile(r"\[(markdown|md|raw)\]")
_TAGS = re.compile(r"tags=(\[[^\]]*\])")
_OPTION = re.compile(r"\b\w+=(\[[^\]]*\]|\"[^\"]*\"|\S+)")


def parse_template(text: str) -> NotebookNode:
    """The notebook that py:percent `text` stands for, without outputs.

    A cell has the id `cell-<n>`, `metadata.tags` as written, and `metadata.title` where the marker names one. Raw
    cells are left out.

    Raises:
        ValueError: A `tags=` option is not a JSON list of strings.
    """
    lines = _without_header(text.replace("\r\n", "\n").split("\n"))
    starts = [at for at, line in enumerate(lines) if _MARKER.match(line)]
    cells: list[dict[str, Any]] = []
    leading = "\n".join(lines[: starts[0]] if starts else lines).strip()
    if leading:
        cells.append(_cell("code", leading, [], ""))
    for start, end in pairwise([*starts, len(lines)]):
        marker = _MARKER.match(lines[start])
        rest = marker["rest"] if marker else ""
        kind = found[1] if (found := _KIND.search(rest)) else "code"
        body = "\n".join(lines[start + 1 : end]).strip("\n")
        if kind != "raw":
            cells.append(_cell(kind, body, _tags(rest), _title(rest)))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same on every run; nbformat would draw a random one
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return as_node({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def as_node(value: dict[str, Any]) -> NotebookNode:
    """`value`, and everything in it, as the attribute dictionaries that nbclient works on."""
    return cast("NotebookNode", from_dict(value))


def code_cell(source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """A code cell that has not run, in the form of nbformat 4; the caller gives it an id."""
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


def _without_header(lines: list[str]) -> list[str]:
    if lines and lines[0].strip() == "# ---":
        for at, line in enumerate(lines[1:], start=1):
            if line.strip() == "# ---":
                return lines[at + 1 :]
    return lines


def _cell(kind: str, body: str, tags: list[str], title: str) -> dict[str, Any]:
    metadata = {key: value for key, value in (("tags", tags), ("title", title)) if value}
    if kind == "code":
        return code_cell(body, metadata)
    return {"cell_type": "markdown", "metadata": metadata, "source": _markdown(body)}


def _markdown(body: str) -> str:
    """Markdown is written as comments, or as one triple-quoted string."""
    stripped = body.strip()
    for quote in ('"""', "'''"):
        if stripped.startswith(quote) and stripped.endswith(quote) and len(stripped) >= 2 * len(quote):
            return textwrap.dedent(stripped[len(quote) : -len(quote)]).strip()
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.split("\n")).strip()


def _tags(rest: str) -> list[str]:
    found = _TAGS.search(rest)
    if found is None:
        return []
    tags = json.loads(found[1])
    if not all(isinstance(tag, str) for tag in tags):
        raise ValueError(f"tags are strings: {found[1]}")
    return tags


def _title(rest: str) -> str:
    return _OPTION.sub("", _KIND.sub("", rest)).strip()
