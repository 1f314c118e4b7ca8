"""The audit templates: py:percent files in `notebooks/`, inside an installed package or at the root of a checkout."""

from importlib.resources import files
from pathlib import Path

from crashlens.errors import ReportError


def templates() -> list[Path]:
    """All templates, sorted by name; `build.py` and other files without a `parameters` cell are none.

    Raises:
        ReportError: The folder of templates is missing.
    """
    return [path for path in sorted(_folder().glob("*.py")) if _takes_parameters(path)]


def template(name: str) -> Path:
    """The template called `name`, without its ending.

    Raises:
        ReportError: There is none of that name; the message lists those there are.
    """
    known = {path.stem: path for path in templates()}
    if name not in known:
        raise ReportError(
            f'There is no audit template "{name}"; nothing was run.',
            facts=[("known", ", ".join(known) or "none")],
            way_out=f'Use "{next(iter(known), "audit")}".',
        )
    return known[name]


def _takes_parameters(path: Path) -> bool:
    return any(line.startswith("# %%") and '"parameters"' in line for line in path.read_text("utf-8").split("\n"))


def _folder() -> Path:
    package = Path(str(files("crashlens")))
    for folder in (package / "_data" / "notebooks", package.parent / "notebooks"):
        if folder.is_dir():
            return folder
    raise ReportError(
        "The audit templates are not part of this installation; nothing was run.",
        facts=[("looked in", str(package / "_data" / "notebooks"))],
        way_out="pip install --force-reinstall crashlens-gpu",
    )
