"""Reading one array of tables out of a TOML file, with every fault of the file reported at once as `file:line: what`.

A loader asks each row for the cells it knows; a cell that nobody asked for is a fault too, so a misspelt key is found.
"""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import cast

from crashlens.catalog.toml_text import toml_document
from crashlens.errors import DataFileError

PACKAGE = "crashlens.catalog"


class Row:
    """One table of the array.

    Args:
        place: `file:line` of its header.
        cells: What TOML made of it.
        faults: Where a fault is noted; shared by all rows of the file.
    """

    def __init__(self, place: str, cells: dict[str, object], faults: list[str]) -> None:
        self.place = place
        self._cells = cells
        self._faults = faults
        self._asked: set[str] = set()

    def fault(self, what: str) -> None:
        """Note that this row is wrong: `what` is a short clause."""
        self._faults.append(f"{self.place}: {what}")

    def cell(self, key: str) -> object:
        """Whatever stands under `key`; None where the row does not name it."""
        return self._take(key, None)

    def text(self, key: str, *, otherwise: str | None = None) -> str:
        """The text under `key`; `otherwise` where the row does not name it, a fault where that is None."""
        value = self._take(key, otherwise)
        if isinstance(value, str):
            return value
        self.fault(f"{key} must be text")
        return ""

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """The text under `key`, which must be one of `allowed`."""
        value = self.text(key)
        if value not in allowed:
            self.fault(f'{key} = "{value}" is none of {", ".join(allowed)}')
        return value

    def number(self, key: str) -> float:
        """The number under `key`."""
        value = self._take(key, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        self.fault(f"{key} must be a number")
        return 0.0

    def integer(self, key: str) -> int:
        """The whole number under `key`."""
        value = self._take(key, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.fault(f"{key} must be a whole number")
        return 0

    def flag(self, key: str) -> bool:
        """The true or false under `key`."""
        value = self._take(key, None)
        if isinstance(value, bool):
            return value
        self.fault(f"{key} must be true or false")
        return False

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts under `key`."""
        value = self._take(key, None)
        if isinstance(value, list):
            items = cast("list[object]", value)
            texts = tuple(item for item in items if isinstance(item, str))
            if len(texts) == len(items):
                return texts
        self.fault(f"{key} must be a list of texts")
        return ()

    def integers(self, key: str) -> tuple[int, ...]:
        """The list of whole numbers under `key`."""
        value = self._take(key, None)
        if isinstance(value, list):
            items = cast("list[object]", value)
            numbers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
            if len(numbers) == len(items):
                return numbers
        self.fault(f"{key} must be a list of whole numbers")
        return ()

    def finish(self) -> None:
        """Note every cell that no loader asked for."""
        for key in self._cells.keys() - self._asked:
            self.fault(f"{key} is not a key of this table")

    def _take(self, key: str, otherwise: object) -> object:
        self._asked.add(key)
        return self._cells.get(key, otherwise)


class RowFile:
    """The rows of one array of tables, and the faults found in them.

    Args:
        name: File name, as a fault names it.
        text: The file.
        table: Name of the array.

    Raises:
        DataFileError: The text is no TOML at all.
    """

    def __init__(self, name: str, text: str, table: str) -> None:
        self.name = name
        self.faults: list[str] = []
        try:
            self.document = cast("dict[str, object]", toml_document(text))
        except tomllib.TOMLDecodeError as error:
            raise DataFileError(name, [f"{name}: {error}"]) from None
        header = re.compile(rf"\s*\[\[\s*{re.escape(table)}\s*\]\]")
        starts = [number for number, line in enumerate(text.split("\n"), start=1) if header.match(line)]
        found = self.document.get(table)
        items = cast("list[object]", found) if isinstance(found, list) else []
        rows = [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
        lines = starts if len(starts) == len(rows) else [1] * len(rows)
        self.rows = [Row(f"{name}:{line}", cells, self.faults) for line, cells in zip(lines, rows, strict=True)]
        if not rows:
            self.faults.append(f"{name}:1: there is no [[{table}]]")

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def named_texts(self, table: str) -> dict[str, str]:
        """The plain table `table`, whose values must all be texts."""
        found = self.document.get(table)
        cells = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        if not cells or not all(isinstance(value, str) for value in cells.values()):
            self.faults.append(f"{self.name}:1: [{table}] must name texts")
        return {key: value for key, value in cells.items() if isinstance(value, str)}

    def check(self) -> None:
        """Raise when anything was wrong, unknown keys included.

        Raises:
            DataFileError: All faults of the file.
        """
        for row in self.rows:
            row.finish()
        if self.faults:
            raise DataFileError(self.name, self.faults)


def package_rows(name: str, table: str) -> RowFile:
    """The array `table` of the catalog file `name` that ships with crashlens."""
    text = files(PACKAGE).joinpath(name).read_text(encoding="utf-8")
    return RowFile(f"catalog/{name}", text, table)
