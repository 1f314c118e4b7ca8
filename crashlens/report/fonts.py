"""Where the fonts of the document are, and which characters they hold.

Fonts are dependencies, never files of this repository: two Latin families with real weights and one CJK family.
"""

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from crashlens.errors import MissingExtraError, ReportError
from crashlens.report.cmap import read_characters

SANS = ("IBM Plex Sans", "Noto Sans CJK KR")
MONO = ("IBM Plex Mono", "Noto Sans Mono CJK KR")
PDF_EXTRA = "pip install 'crashlens-gpu[pdf]'"

# (package, file with the regular style, face inside it): the faces that `SANS` and `MONO` name
_SANS_FACES = (
    ("fontpkg_ibm_plex_sans", "IBMPlexSans[wdth,wght].ttf", 0),
    ("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc", 1),
)
_MONO_FACES = (
    ("fontpkg_ibm_plex_mono", "IBMPlexMono-Regular.ttf", 0),
    ("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc", 6),
)


@dataclass(frozen=True, slots=True)
class FontSet:
    """The fonts of the document.

    Attributes:
        folders: Font folders, for Typst and for anything that draws charts with the same fonts.
        holds: Code points that both the text and the mono families have a glyph for.
        narrow: Code points of the Latin mono font: one column wide. All others are counted as two.
    """

    folders: tuple[Path, ...]
    holds: frozenset[int]
    narrow: frozenset[int]


@lru_cache(maxsize=1)
def find_fonts() -> FontSet:
    """The installed font packages.

    Raises:
        MissingExtraError: A font package is not installed.
        ReportError: A font package no longer holds the file that is named here.
    """
    sans = [_characters(*face) for face in _SANS_FACES]
    mono = [_characters(*face) for face in _MONO_FACES]
    folders = tuple(sorted({_package_folder(package) for package, _, _ in (*_SANS_FACES, *_MONO_FACES)}))
    return FontSet(folders, (sans[0] | sans[1]) & (mono[0] | mono[1]), mono[0])


def _package_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingExtraError(
            "The PDF needs fonts that are not installed; nothing was written.",
            facts=[("missing", package.replace("_", "-"))],
            way_out=PDF_EXTRA,
        )
    return Path(spec.origin).parent


def _characters(package: str, name: str, face: int) -> frozenset[int]:
    folder = _package_folder(package)
    found = sorted(path for path in folder.rglob("*") if path.name == name)
    try:
        return read_characters(found[0], face=face)
    except (IndexError, OSError, ValueError) as error:
        raise ReportError(
            "A font of the document cannot be read; nothing was written.",
            facts=[("font", f"{package}/{name}"), ("error", str(error))],
            way_out=f"{PDF_EXTRA} --force-reinstall",
        ) from error
