"""Which facts a reading used: every catalog file with its digest, so that an audit can be repeated with them."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

from crashlens.catalog.rows import PACKAGE
from crashlens.catalog.toml_text import toml_document


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """One catalog file as shipped.

    Attributes:
        name: File name.
        sha256: SHA-256 of its bytes, in hexadecimal.
        rows: Tables in its arrays of tables: how many facts it holds.
    """

    name: str
    sha256: str
    rows: int


@cache
def catalog_versions() -> tuple[CatalogFile, ...]:
    """Every TOML file of the catalog, sorted by name."""
    found = sorted((entry for entry in files(PACKAGE).iterdir() if entry.name.endswith(".toml")), key=lambda e: e.name)
    return tuple(
        CatalogFile(entry.name, hashlib.sha256(data).hexdigest(), _rows(data))
        for entry in found
        for data in [entry.read_bytes()]
    )


def _rows(data: bytes) -> int:
    document = cast("dict[str, object]", toml_document(data.decode()))
    arrays = [cast("list[object]", value) for value in document.values() if isinstance(value, list)]
    return sum(isinstance(item, dict) for array in arrays for item in array)
