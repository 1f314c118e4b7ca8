"""Which fonts do charts use, and where are they?

Text stays text in the SVG, so the same family must be known to whoever lays the chart out. The families come from
packages of the `pdf` extra; without them the renderer's own sans is used and the chart still reads.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import vl_convert

FAMILIES = "IBM Plex Sans, Noto Sans CJK KR, sans-serif"
_PACKAGES = ("fontpkg_ibm_plex_sans", "noto_cjk_sans_otc")


@cache
def register_fonts() -> tuple[Path, ...]:
    """Make the packaged fonts known to the renderer, once per process; returns their folders."""
    found: list[Path] = []
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        folder = folder / "files" if (folder / "files").is_dir() else folder
        vl_convert.register_font_directory(str(folder))
        found.append(folder)
    return tuple(found)
