"""The audit templates: py:percent files in `notebooks/`, inside an installed package or at the root of a checkout."""

from pathlib import Path

from crashlens.catalog.shipped import shipped_folder
from crashlens.errors import ReportError


def templates() -> list[Path]:
    """All templates, sorted by name; `build.py` and other files without a `parameters` cell are none.

    Raises:
        NoSuchInputError: The folder of templates is missing.
    """
    return [path for path in sorted(shipped_folder("notebooks").glob("*.py")) if _takes_parameters(path)]


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
