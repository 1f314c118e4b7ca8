"""Parameters of a template: read from its cell tagged `parameters`, set by a cell tagged `injected-parameters`.

The tags are those of papermill, so its users can run the templates too; unlike there, an unknown name is an error.
"""

import ast
import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from nbformat import NotebookNode

from crashlens.errors import ReportError
from crashlens.report.percent import as_node, code_cell


def inject_parameters(notebook: NotebookNode, parameters: Mapping[str, object]) -> None:
    """Put a cell that sets `parameters` behind the one tagged `parameters`; nothing is put in for none.

    Args:
        notebook: Changed in place.
        parameters: Values by name: None, bool, int, finite float, str, and lists, tuples and dicts of these.

    Raises:
        ReportError: The notebook has no cell tagged `parameters`, that cell does not assign one of the names, or a
            value is of another type.
    """
    if not parameters:
        return
    at, known = _declared(notebook)
    for name in parameters:
        if name not in known:
            close = get_close_matches(name, sorted(known), n=1)
            raise ReportError(
                f'The template has no parameter "{name}"; nothing was run.',
                facts=[("known", ", ".join(sorted(known)))],
                way_out=f'Use "{close[0]}", or leave it out.' if close else "Leave it out.",
            )
    lines = [f"{name} = {_literal(name, value)}" for name, value in parameters.items()]
    cell = code_cell("\n".join(lines), {"tags": ["injected-parameters"]})
    notebook["cells"].insert(at + 1, as_node(cell | {"id": "injected-parameters"}))


def _declared(notebook: NotebookNode) -> tuple[int, frozenset[str]]:
    """Place of the parameters cell and the names that it assigns."""
    cells = cast("list[dict[str, Any]]", notebook["cells"])
    for at, cell in enumerate(cells):
        if "parameters" in cell["metadata"].get("tags", []):
            return at, frozenset(_assigned(_parsed(cell["source"])))
    raise ReportError(
        "The template takes no parameters: it has no cell tagged `parameters`; nothing was run.",
        way_out='Start one cell of it with: # %% tags=["parameters"]',
    )


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise ReportError(
            "The cell of the template tagged `parameters` is not Python; nothing was run.",
            facts=[("error", f"line {error.lineno} of the cell: {error.msg}")],
            way_out="Write one assignment per line there.",
        ) from error


def _assigned(module: ast.Module) -> list[str]:
    names: list[str] = []
    for statement in module.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def _literal(name: str, value: object) -> str:
    if not _plain(value):
        raise ReportError(
            f'The value of parameter "{name}" cannot be written into a notebook; nothing was run.',
            facts=[("value", repr(value)[:200])],
            way_out="Give text, numbers, true or false, or lists and dictionaries of these.",
        )
    return repr(value)


def _plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(_plain(item) for item in cast("list[object]", value))
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return all(_plain(key) and _plain(item) for key, item in pairs)
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int, str)
