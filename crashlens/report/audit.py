"""Template and parameters -> PDF, and on request HTML and the executed notebook."""

import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crashlens.errors import MissingExtraError, NoSuchInputError, ReportError
from crashlens.report.files import check_outputs, write_outputs

_NEEDED = ("ipykernel", "mistune", "nbclient", "nbconvert", "nbformat", "typst")


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What one audit wrote.

    Attributes:
        pdf: The document.
        html: The same as one HTML page, or None where none was asked for.
        notebook: The executed notebook, or None where none was asked for.
        bytes_written: Size of all of them together.
    """

    pdf: Path
    html: Path | None
    notebook: Path | None
    bytes_written: int


def run_audit(
    template: Path,
    parameters: Mapping[str, object],
    *,
    out: Path,
    meta: Mapping[str, Any],
    html: Path | None,
    keep_notebook: Path | None,
    overwrite: bool,
    progress: Callable[[str], None],
) -> AuditResult:
    """Execute `template` with `parameters` and write it as a finished document.

    The cells run in this interpreter, in the current folder. Nothing is written unless everything worked.

    Args:
        template: A py:percent file, see `templates`.
        parameters: Values for the names that its cell tagged `parameters` assigns.
        out: The PDF to write.
        meta: What the title page shows, stored as `metadata["crashlens"]` of the notebook: `title`, `client`, `window`
            (two ISO 8601 times or None), `made` (ISO 8601; also the date inside the PDF), `show_tz`, `version`,
            `lang`, `synthetic`.
        html: Where to write the HTML page, if at all.
        keep_notebook: Where to write the executed notebook (.ipynb), if at all.
        overwrite: Replace outputs that are there already.
        progress: Called with one line per step.

    Raises:
        OutputExistsError: An output is there already and `overwrite` is false.
        MissingExtraError: The packages of the `pdf` extra are not installed.
        NoSuchInputError: There is no such template.
        ReportError: A parameter is unknown, a cell failed, or the document could not be set or written.
    """
    outputs = [path for path in (out, html, keep_notebook) if path is not None]
    check_outputs(outputs, overwrite=overwrite)
    _check_extra()
    # These need the optional packages that were just looked for.
    from crashlens.report.document import read_document  # noqa: PLC0415
    from crashlens.report.execute import execute_notebook  # noqa: PLC0415
    from crashlens.report.html_page import html_page  # noqa: PLC0415
    from crashlens.report.parameters import inject_parameters  # noqa: PLC0415
    from crashlens.report.percent import parse_template  # noqa: PLC0415
    from crashlens.report.typeset import typeset  # noqa: PLC0415

    try:
        notebook = parse_template(_source(template))
    except ValueError as error:
        raise _unreadable(template, error) from error
    inject_parameters(notebook, parameters)
    notebook["metadata"]["crashlens"] = dict(meta)
    execute_notebook(notebook, folder=Path.cwd(), progress=progress)
    document = read_document(notebook, name=template.stem)
    contents = {out: typeset(document)}
    if html is not None:
        contents[html] = html_page(document).encode("utf-8")
    if keep_notebook is not None:
        contents[keep_notebook] = _written(notebook)
    write_outputs(contents)
    return AuditResult(out, html, keep_notebook, sum(map(len, contents.values())))


def _written(notebook: dict[str, Any]) -> bytes:
    """The notebook as a file. A lone surrogate becomes its JSON escape, which reads back as the same character."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    return (text + "\n").encode("utf-8", "backslashreplace")


def _check_extra() -> None:
    missing = [name for name in _NEEDED if not _is_there(name)]
    if missing:
        raise MissingExtraError(
            "The audit needs packages that are not installed; nothing was run.",
            facts=[("missing", ", ".join(missing))],
            way_out="pip install 'crashlens-gpu[pdf]'",
        )


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # an import hook may refuse a package instead of not finding it
        return False


def _source(template: Path) -> str:
    try:
        return template.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NoSuchInputError(
            f'There is no template "{template}"; nothing was run.', way_out="Name a py:percent file that is there."
        ) from None
    except OSError as error:
        raise _unreadable(template, error) from error


def _unreadable(template: Path, error: Exception) -> ReportError:
    return ReportError(
        f'The template "{template}" cannot be read; nothing was run.',
        facts=[("error", str(error))],
        way_out="Name a py:percent file in UTF-8 that you may read.",
    )
