"""A case: the tables of everything that was read, cut to a window, saved and opened again. It computes nothing."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import polars as pl

from crashlens.errors import DataFileError, NoSuchInputError, NotACaseError, OutputExistsError
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import RuleSet
from crashlens.rules.own import own_rules
from crashlens.schemas import SCHEMA_VERSION, Tables
from crashlens.sources.reading import read_tables, table_schemas
from crashlens.timebase import Window

if TYPE_CHECKING:
    import pyarrow as pa

CASE_SCHEMA = "crashlens.case/1"
MANIFEST = "manifest.json"
_TIMED = ("events", "samples", "metrics", "steps")


@dataclass(frozen=True)
class CaseData:
    """Tables with their provenance, and the window they were cut to.

    Attributes:
        tables: All tables, uncut.
        cut: The window that was chosen, or None for everything.
        rules: The rules that were read with, or None for those that come with crashlens.
    """

    tables: Tables
    cut: Window | None = None
    rules: RuleSet | None = None

    @property
    def rule_set(self) -> RuleSet:
        """The rules that this case was read with."""
        return self.rules or shipped_rules()

    @classmethod
    def read(
        cls,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        tz: str | Mapping[str, str] | None = None,
        year: int | None = None,
        rules: RuleSet | None = None,
        progress: Callable[[str], None] = lambda _path: None,
    ) -> Self:
        """Read files and folders.

        Args:
            paths: A path or several.
            tz: IANA zone of local times, or a mapping of source glob to zone. Without it local times keep their
                order inside each file and are not placed in UTC.
            year: Year of the first year-less time.
            rules: The rules to read with; None for those that come with crashlens.
            progress: Called with the path of each file before it is read.

        Raises:
            NoSuchInputError: A path is not there.
            UnknownTimeZoneError: A zone is not known here.
        """
        several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        return cls(read_tables(several, tz=tz, year=year, rules=rules, progress=progress), rules=rules)

    def window(self, start: datetime | str, end: datetime | str | None = None, *, tz: str | None = None) -> Self:
        """The case cut to `[start, end)`; text without an offset is read in `tz`. One text `START/END` works too.

        Rows whose time could not be placed in UTC stay: nothing says that they are outside.

        Raises:
            WindowError: A time cannot be read or has no zone, or the window is empty.
        """
        if end is None:
            return replace(self, cut=Window.parse(str(start), tz=tz))
        return replace(self, cut=Window.of(start, end, tz=tz))

    def table(self, name: str) -> pl.DataFrame:
        """The table called `name`, cut to the window."""
        frame: pl.DataFrame = getattr(self.tables, name)
        if self.cut is None or name not in _TIMED:
            return frame
        time = pl.col("time_utc")
        return frame.filter(time.is_null() | time.is_between(self.cut.start, self.cut.end, closed="left"))

    def in_window(self) -> Tables:
        """All tables, cut to the window."""
        return Tables(**{name: self.table(name) for name in Tables.names()})

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the case as Parquet files and a manifest into a new folder; `crashlens.open` reads it back.

        Raises:
            OutputExistsError: The folder is there and not empty, or it is a file.
        """
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise OutputExistsError(
                f'"{target.name}" is there and no empty folder; nothing was written.',
                way_out="Give a folder that does not exist yet.",
            )
        target.mkdir(parents=True, exist_ok=True)
        schemas = table_schemas()
        rows: dict[str, int] = {}
        for item in fields(self.tables):
            frame: pl.DataFrame = getattr(self.tables, item.name)
            _write_parquet(schemas[item.name].to_arrow(frame), target / f"{item.name}.parquet")
            rows[item.name] = frame.height
        manifest = {
            "schema": CASE_SCHEMA,
            "tables": SCHEMA_VERSION,
            "rows": rows,
            "window": None if self.cut is None else [self.cut.start.isoformat(), self.cut.end.isoformat()],
            "own_rules": [] if self.rules is None else [list(file) for file in self.rules.own_files],
        }
        (target / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        return target

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Open a folder written by `save`.

        Raises:
            NoSuchInputError: There is no such folder.
            NotACaseError: It holds no manifest of a case, or one of another version, or a table is missing.
        """
        target = Path(folder)
        if not target.is_dir():
            raise NoSuchInputError(
                f'"{target.name}" is not a folder here; nothing was opened.',
                way_out="Give the folder that case.save(folder) wrote.",
            )
        manifest = _manifest(target)
        schemas = table_schemas()
        try:
            tables = {
                name: schemas[name].conform(pl.read_parquet(target / f"{name}.parquet")) for name in Tables.names()
            }
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _not_a_case(target, f"a table cannot be read: {error}") from None
        return cls(
            Tables(**tables),
            _saved_window(target, manifest.get("window")),
            _saved_rules(target, manifest.get("own_rules")),
        )


def _write_parquet(table: "pa.Table", file: Path) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only saving needs it

    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        writer.write_table(table)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: Any = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _not_a_case(folder, f"{MANIFEST}: {error}") from None
    if not isinstance(manifest, dict):
        raise _not_a_case(folder, f"{MANIFEST} holds no object")
    said = cast("dict[str, Any]", manifest)
    for key, known in (("schema", CASE_SCHEMA), ("tables", SCHEMA_VERSION)):
        if said.get(key) != known:
            raise _not_a_case(folder, f"{MANIFEST} says {said.get(key)!r}, not {known!r}")
    return said


def _saved_window(folder: Path, cut: object) -> Window | None:
    if cut is None:
        return None
    try:
        start, end = cast("list[str]", cut)
        return Window.of(start, end)
    except (TypeError, ValueError, AttributeError):
        raise _not_a_case(folder, f"{MANIFEST} holds the window {cut!r}") from None


def _saved_rules(folder: Path, files: object) -> RuleSet | None:
    """The rules of somebody's own that the case was read with: without them their records could not be told."""
    if not files:
        return None
    try:
        return own_rules([(str(name), str(text)) for name, text in cast("list[list[str]]", files)])
    except (TypeError, ValueError, DataFileError) as error:
        raise _not_a_case(folder, f"its own rules cannot be loaded: {str(error)[:300]}") from None


def _not_a_case(folder: Path, why: str) -> NotACaseError:
    return NotACaseError(
        f'"{folder.name}" is not a saved case; nothing was opened.',
        facts=[("why", why)],
        way_out="To read logs and exports use crashlens.read(folder).",
    )
