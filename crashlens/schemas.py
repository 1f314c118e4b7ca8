"""The tables: their columns, types, units and meanings, and the bundle that carries them from floor to floor.

polars in every signature, Arrow at the borders. Units and meanings live in the Arrow field metadata, so that a saved
case and the reference page say the same. A null never means zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import polars as pl

from crashlens.errors import MissingColumnError

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = "crashlens.tables/1"

UTC_US = pl.Datetime("us", "UTC")
TEMPLATES = pl.List(pl.Struct({"template": pl.String, "lines": pl.UInt64, "first_line": pl.UInt32}))
FIELD_MAP = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name (with its unit), polars type, meaning, unit."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one table in order."""

    name: str
    columns: tuple[Column, ...]

    def polars(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Column name to polars type."""
        return {column.name: column.dtype for column in self.columns}

    def empty(self) -> pl.DataFrame:
        """The table without rows."""
        return pl.DataFrame(schema=self.polars())

    def frame(self, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
        """A table of `rows`; a column that a row does not name is null."""
        return pl.DataFrame(list(rows), schema=self.polars(), orient="row") if rows else self.empty()

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """`frame` with exactly the columns of this schema, in order; absent ones become null."""
        return frame.select(
            pl.col(c.name).cast(c.dtype) if c.name in frame.columns else pl.lit(None, dtype=c.dtype).alias(c.name)
            for c in self.columns
        )

    def with_columns(self, extra: Sequence[Column]) -> Self:
        """This schema with `extra` columns behind its own."""
        return type(self)(self.name, (*self.columns, *extra))

    def to_arrow(self, frame: pl.DataFrame) -> "pa.Table":
        """`frame` as an Arrow table with unit and meaning in the field metadata."""
        import pyarrow as pa  # noqa: PLC0415 - a scan writes no Arrow and need not wait for it

        table = frame.to_arrow()
        known = {column.name: column for column in self.columns}
        fields_: list[pa.Field[pa.DataType]] = []
        for name, kind in zip(table.schema.names, table.schema.types, strict=True):
            column = known.get(name)
            about: dict[bytes | str, bytes | str] = {"meaning": column.meaning, "unit": column.unit} if column else {}
            fields_.append(pa.field(name, kind, metadata=about))
        schema = pa.schema(fields_, metadata={"table": self.name, "version": SCHEMA_VERSION})
        return table.cast(schema)


_KEY = (
    Column("source_id", pl.UInt32, "Row of `sources` that this was read from"),
    Column("line", pl.UInt32, "Line in that source, from 1, LF-separated, after decompression and decoding"),
)
_CLOCK = (
    Column("clock_id", pl.String, "Row of `clocks` whose time this is; null: no stamp"),
    Column("clock_us", pl.Int64, "What that clock showed", "us"),
    Column("time_utc", UTC_US, "The same moment in UTC; null where the clock could not be placed"),
    Column("uncertainty_us", pl.Int64, "How much later than `time_utc` it may have been", "us"),
)
_ROLE = (
    Column("host", pl.String, "Machine, as the record names it"),
    Column("rank", pl.Int32, "Global rank"),
)

SOURCES = Schema(
    "sources",
    (
        Column("source_id", pl.UInt32, "Number of the source in this case"),
        Column("path", pl.String, "Path as given, relative; members of archives behind `!`"),
        Column("sha256", pl.String, "SHA-256 of the bytes on disk; null where they could not be read"),
        Column("bytes", pl.UInt64, "Size on disk", "B"),
        Column("lines", pl.UInt64, "Lines after decompression and decoding"),
        Column("state", pl.String, "read | partly_read | not_read | skipped"),
        Column("format", pl.String, "Name of the format; null where none was recognised"),
        Column("format_confidence", pl.Float64, "How surely it is that format, 0 to 1"),
        Column("zone", pl.String, "Time zone used for local times; null: none"),
        Column("zone_from", pl.String, "Where the zone came from: offset in file, given, none"),
        Column("notices", pl.List(pl.String), "What was wrong or left out, one sentence each"),
        Column("lines_matched", pl.UInt64, "Lines that a rule or parser turned into rows"),
        Column("lines_error_like", pl.UInt64, "Lines with an error word that no rule matched"),
        Column("error_lines", pl.List(pl.UInt32), "The first of those lines"),
        Column(
            "error_templates", TEMPLATES, "What those lines say most often, numbers and names as `<...>`; at most ten"
        ),
        Column(
            "lines_harmless",
            pl.UInt64,
            "Lines with an error word that are advice, a quotation, a setting, code, "
            "a count of zero or a caught error, and no record of a rule",
        ),
        Column("rules_digest", pl.String, "SHA-256 of the rule set used, first 16 characters"),
    ),
)

EVENTS = Schema(
    "events",
    (
        *_KEY,
        Column("n", pl.UInt16, "Number of the record within its line, from 0"),
        Column("line_end", pl.UInt32, "Last line of the record"),
        Column("rule_id", pl.String, "Rule that matched"),
        Column("topic", pl.String, "What the record is about; not a cause"),
        *_CLOCK,
        Column("time_marks", pl.String, "What the stamp marks: moment | end (of a wait of `ran_ms`)"),
        *_ROLE,
        Column("local_rank", pl.Int32, "Rank within the node"),
        Column("attempt", pl.Int32, "Restart count of the launcher"),
        Column("job_id", pl.String, "Scheduler job"),
        Column("job_step_id", pl.String, "Scheduler job step"),
        Column("process_group", pl.String, "Process group, as c10d names it"),
        Column("gpu_key", pl.String, "Row of `gpus`"),
        Column("pid", pl.Int64, "Process id in the namespace of the writer"),
        Column("component", pl.String, "Who wrote the message: kernel, c10d, nccl, python, ..."),
        Column("severity", pl.String, "What the writer meant: info | warning | error | fatal"),
        Column("repeats", pl.UInt32, "How often it stands there, this one included"),
        Column("xid", pl.Int32, "Xid number"),
        Column("seq", pl.Int64, "Collective sequence number"),
        Column("timeout_ms", pl.Int64, "Limit of the wait", "ms"),
        Column("ran_ms", pl.Int64, "Length of the wait", "ms"),
        Column("exit_code", pl.Int32, "Exit code; negative: signal"),
        Column("fields", FIELD_MAP, "Other captured fields"),
        Column("text", pl.String, "The record as it stands, secrets masked"),
    ),
)

STAMPS = Schema(
    "stamps",
    (
        *_KEY,
        Column("layer", pl.String, "Envelope that carried the stamp"),
        Column("clock_id", pl.String, "Row of `clocks`"),
        Column("clock_us", pl.Int64, "What the clock showed", "us"),
    ),
)

SAMPLES = Schema(
    "samples",
    (
        *_KEY,
        *_CLOCK,
        Column("gpu_key", pl.String, "Row of `gpus`"),
        Column("power_draw_kind", pl.String, "What the source calls power: average_1s | instant | unspecified"),
    ),
)

METRICS = Schema(
    "metrics",
    (
        *_KEY,
        *_CLOCK,
        Column("host", pl.String, "Machine, as the source names it"),
        Column("gpu_key", pl.String, "Row of `gpus`, where the series belongs to a GPU"),
        Column("name", pl.String, "Name of the series in its source"),
        Column("labels", FIELD_MAP, "Labels of the series"),
        Column("value", pl.Float64, "Value"),
        Column("unit", pl.String, "Unit as the source states it; empty: not stated"),
    ),
)

STEPS = Schema(
    "steps",
    (
        *_KEY,
        *_CLOCK,
        *_ROLE,
        Column("attempt", pl.Int32, "Restart count of the launcher"),
        Column("step", pl.Int64, "Training step"),
        Column("step_time_s", pl.Float64, "Time of one step", "s"),
        Column("tokens_per_s", pl.Float64, "Tokens per second of the whole run, where the source says so", "1/s"),
        Column("samples_per_s", pl.Float64, "Samples per second", "1/s"),
        Column("mfu_ratio", pl.Float64, "Model FLOPs utilisation as the log states it, 0 to 1"),
        Column("loss", pl.Float64, "Training loss"),
    ),
)

INVENTORY = Schema(
    "inventory",
    (
        *_KEY,
        Column("host", pl.String, "Machine or image"),
        Column("component", pl.String, "What the fact is about"),
        Column("value", pl.String, "The fact, as printed"),
    ),
)

GPUS = Schema(
    "gpus",
    (
        Column("gpu_key", pl.String, "One GPU as seen by one source; never null"),
        Column("source_id", pl.UInt32, "That source"),
        Column("device_id", pl.String, "The proven join over sources (UUID); null: not proven"),
        Column("gpu_uuid", pl.String, "UUID"),
        Column("pci_bus_id", pl.String, "dddd:bb:dd, lower case, no function"),
        Column("nvml_index", pl.Int32, "NVML index (PCI order)"),
        Column("cuda_ordinal", pl.Int32, "CUDA ordinal"),
        Column("mig_uuid", pl.String, "MIG device"),
        Column("host", pl.String, "Machine, as the source names it"),
        Column("model", pl.String, "Model, as the source names it"),
    ),
)

CLOCKS = Schema(
    "clocks",
    (
        Column("clock_id", pl.String, "One clock of one source"),
        Column("source_id", pl.UInt32, "That source"),
        Column("first_line", pl.UInt32, "First line with a stamp of it"),
        Column("last_line", pl.UInt32, "Last line with a stamp of it"),
        Column("stamps", pl.UInt64, "How many stamps were read"),
        Column("kind", pl.String, "utc | local | local_no_year | monotonic"),
        Column("method", pl.String, "offset in file | given zone | none"),
        Column("zone", pl.String, "Zone used, where one was given"),
        Column("uncertainty_us", pl.Int64, "Resolution of the coarsest stamp, plus a fold", "us"),
        Column("host", pl.String, "Machine whose clock it is, where all its lines name the same"),
    ),
)

GAPS = Schema(
    "gaps",
    (
        Column("source_id", pl.UInt32, "Source"),
        Column("gpu_key", pl.String, "GPU; null: the whole source"),
        Column("signal", pl.String, "Column of `samples`"),
        Column("first_line", pl.UInt32, "First line of the run of missing values"),
        Column("last_line", pl.UInt32, "Last line of it"),
        Column("values", pl.UInt64, "How many values are missing"),
        Column("state", pl.String, "not_supported | not_collected | unreadable | error | reset_required"),
        Column("raw", pl.String, "What stood there instead"),
    ),
)

BASE_SCHEMAS: dict[str, Schema] = {
    schema.name: schema for schema in (SOURCES, EVENTS, STAMPS, SAMPLES, METRICS, STEPS, INVENTORY, GPUS, CLOCKS, GAPS)
}


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of one case. What each column means stands in the schema of that name."""

    sources: pl.DataFrame
    events: pl.DataFrame
    stamps: pl.DataFrame
    samples: pl.DataFrame
    metrics: pl.DataFrame
    steps: pl.DataFrame
    inventory: pl.DataFrame
    gpus: pl.DataFrame
    clocks: pl.DataFrame
    gaps: pl.DataFrame

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the tables, in their usual order."""
        return tuple(item.name for item in fields(cls))


def need(frame: pl.DataFrame, *columns: str) -> None:
    """Raise unless `frame` has `columns`.

    Raises:
        MissingColumnError: Names the columns that are absent and those that are there.
    """
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise MissingColumnError(
            f"The table has no column {', '.join(missing)}; nothing was measured.",
            facts=[("columns", ", ".join(frame.columns))],
            way_out="The source never collected it: see case.coverage() for what that leaves undecided.",
        )
