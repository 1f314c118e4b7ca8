"""Builds the .ipynb twins of the py:percent notebooks beside it: `python notebooks/build.py`.

The .py files are what people edit and review; the twins are what JupyterLab opens. No outputs are stored. A test
compares the twins with what this script makes.
"""

import hashlib
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ("audit.py", "audit_ko.py", "quickstart.py")
MARK = re.compile(r"# %%(?: (?P<title>[^\[\]=]*?))?(?: ?\[(?P<kind>markdown)\])?(?: ?tags=(?P<tags>\[[^\]]*\]))?")


def notebook(percent: str) -> dict[str, object]:
    """The notebook (nbformat 4.5) of a py:percent text."""
    cells: list[dict[str, object]] = []
    for chunk in re.split(r"^(?=# %%)", percent, flags=re.MULTILINE):
        if chunk.strip():
            cells.append(cell(chunk, len(cells)))
    about = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def cell(chunk: str, place: int) -> dict[str, object]:
    """One cell: the marker line, then its source; a title or tags on the marker become metadata."""
    head, _, body = chunk.partition("\n")
    mark = MARK.fullmatch(head.rstrip())
    if mark is None:
        raise SystemExit(f"Not a cell marker: {head}")
    source = body.strip("\n")
    metadata: dict[str, object] = {}
    if mark["title"]:
        metadata["title"] = mark["title"]
    if mark["tags"]:
        metadata["tags"] = json.loads(mark["tags"])
    if mark["kind"]:
        source = "\n".join(line.removeprefix("#").removeprefix(" ") for line in source.split("\n"))
    name = hashlib.sha256(f"{place}\n{source}".encode()).hexdigest()[:8]
    lines = source.splitlines(keepends=True)
    if mark["kind"]:
        return {"cell_type": "markdown", "id": name, "metadata": metadata, "source": lines}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": metadata,
        "outputs": [],
        "source": lines,
    }


def text(percent: str) -> str:
    """The .ipynb text of a py:percent text."""
    return json.dumps(notebook(percent), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in SOURCES:
        twin = HERE / Path(name).with_suffix(".ipynb")
        twin.write_text(text((HERE / name).read_text("utf-8")), "utf-8")
        print(f"wrote {twin.name}")  # noqa: T201
