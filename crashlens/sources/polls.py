"""Rows of a telemetry CSV, one per GPU and poll: which tables do they become?

A `Plan` says what the columns under one header mean; `PollWriter` turns blocks of cells into `samples`, `gpus`, `gaps`,
`clocks`, `metrics` and `inventory`. Memory is one block plus one entry per GPU and per run of missing values.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from crashlens.catalog.aliases import FieldAlias, ReasonColumn, unit_scale
from crashlens.catalog.signals import Signal
from crashlens.schemas import UTC_US
from crashlens.sources.cells import (
    LONGEST_RAW,
    ReadColumn,
    join_reasons,
    number_parts,
    read_flags,
    read_masks,
    read_numbers,
    read_texts,
)
from crashlens.sources.clocks import ClockReader
from crashlens.sources.turns import TurnFinder
from crashlens.sources.writer import TableWriter

_UUID = r"^(?:GPU|MIG)-[0-9A-Za-z-]{1,80}$"
_REDACTED = re.compile(r"^(?:GPU|MIG)-[0-]+$")  # zeros stand for an id that was taken out: no proof of identity
_PCI = r"^(?:[0-9a-f]{4})?(?<bus>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-9a-f])?$"
_INDEX = r"^[0-9]{1,4}$"
_UNTIMED = {"clock_id": pl.String(), "clock_us": pl.Int64(), "time_utc": UTC_US, "uncertainty_us": pl.Int64()}
_SAID = 12  # names of columns listed in one notice


@dataclass(frozen=True, slots=True)
class Plan:
    """What the columns under one header mean; every number is the place of a column.

    Attributes:
        width: Number of columns.
        time: Column of the time, or None.
        uuid: Column of the GPU UUID.
        pci: Column of the PCI bus id.
        index: Column of the NVML index.
        model: Column of the GPU model.
        host: Column of the host.
        signals: Column, what it means, and the signal. Where several columns mean one signal the first that holds any
            value in a block fills it.
        reasons: Column and the part of the clocks event reasons that it holds.
        metrics: Column, name and unit of numbers that are no signal.
        labels: Column and name of text kept where it changes.
        facts: Column and name of a fact about the host or the board.
        power_draw_kind: What a power column averages over, where its alias does not say.
        blanks: Whether blank numbers of DCGM may stand in it.
    """

    width: int
    time: int | None = None
    uuid: int | None = None
    pci: int | None = None
    index: int | None = None
    model: int | None = None
    host: int | None = None
    signals: tuple[tuple[int, FieldAlias, Signal], ...] = ()
    reasons: tuple[tuple[int, ReasonColumn], ...] = ()
    metrics: tuple[tuple[int, str, str], ...] = ()
    labels: tuple[tuple[int, str], ...] = ()
    facts: tuple[tuple[int, str], ...] = ()
    power_draw_kind: str = ""
    blanks: Literal["dcgm", "none"] = "none"


@dataclass
class _Gpu:
    rows: int = 0
    facts: dict[str, object] = field(default_factory=dict[str, object])
    labels: dict[str, str] = field(default_factory=dict[str, str])


class PollWriter:
    """Writes the rows of one source.

    Args:
        out: The writer of the source.
        clock: Places its stamps.
    """

    def __init__(self, out: TableWriter, clock: ClockReader) -> None:
        self._out = out
        self._clock = clock
        self._gpus: dict[str, _Gpu] = {}
        self._gaps: list[pl.DataFrame] = []
        self._facts: dict[tuple[str | None, str, str], int] = {}
        self._numbers: dict[str, bool] = {}
        self._turns = TurnFinder()
        self._twice = 0
        self._nameless = 0

    def block(self, plan: Plan, lines: pl.Series, cells: pl.DataFrame, texts: pl.Series) -> None:
        """Write the rows of one block: numbers of their lines, one text column per place, the lines themselves."""
        columns, known = _read(plan, cells)
        keep = self._sensible(plan, lines, cells, columns)
        if not keep.all():
            lines, cells, texts = lines.filter(keep), cells.filter(keep), texts.filter(keep)
            columns, known = _read(plan, cells)
        if not lines.len():
            return
        base = self._identified(plan, lines, cells)
        if plan.time is None:
            base = base.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in _UNTIMED.items())
        else:
            times = self._clock.place(cells[str(plan.time)], lines, base["host"])
            base = pl.concat([base, times], how="horizontal")
        values = {name: column.values for name, (_, column) in columns.items()}
        told = columns.get("power_draw_w", ("", None))[0]
        kinds = (alias.power_draw_kind for place, alias, _ in plan.signals if str(place) == told)
        kind = next(kinds, "") or (plan.power_draw_kind if told else "")
        samples = base.with_columns(**values, power_draw_kind=pl.lit(kind or None, pl.String))
        if known is not None:
            samples = samples.with_columns(clocks_event_reasons_known=known)
        self._out.rows("samples", samples)
        self._turns.note(samples, texts)
        self._out.matched += samples.height
        self._note_twice(base)
        self._note_gaps(base, cells, columns)
        self._write_metrics(plan, base, cells)
        self._write_labels(plan, base, cells)
        self._note_facts(plan, base, cells)

    def close(self) -> None:
        """Write what is known only at the end: GPUs, runs of missing values, facts; and say what was odd."""
        gpus = [{"gpu_key": key, **gpu.facts} for key, gpu in self._gpus.items()]
        self._out.rows("gpus", self._out.schemas["gpus"].frame(gpus))
        if self._gaps:
            self._out.rows("gaps", _joined_runs(pl.concat(self._gaps)))
        facts: list[dict[str, object]] = [
            {"line": line, "host": host, "component": name, "value": value}
            for (host, name, value), line in self._facts.items()
        ]
        self._out.rows("events", self._out.schemas["events"].frame(self._turns.rows()))
        self._out.rows("inventory", self._out.schemas["inventory"].frame(facts))
        textual = [name for name, numeric in self._numbers.items() if not numeric]
        if textual:
            more = f" and {len(textual) - _SAID} more" if len(textual) > _SAID else ""
            self._out.notice(f"Columns that hold no numbers were not kept: {', '.join(textual[:_SAID])}{more}.")
        if self._twice:
            self._out.notice(
                f"{self._twice:,} rows carry the time and GPU of another row: several GPUs may stand under one name."
            )
        if self._nameless:
            self._out.notice(
                f"{self._nameless:,} rows name no GPU that can be read; they stand under one of their own."
            )

    def _sensible(
        self, plan: Plan, lines: pl.Series, cells: pl.DataFrame, columns: dict[str, tuple[str, ReadColumn]]
    ) -> pl.Series:
        """Rows in which at least one cell says something; a sentence with the right number of commas says nothing."""
        said = [column.states.ne_missing("unreadable") for _, column in columns.values()]
        said += [number_parts(cells[str(place)])["value"].is_not_null() for place, _, _ in plan.metrics]
        if not said:
            return pl.Series([True] * lines.len(), dtype=pl.Boolean)
        keep = pl.select(pl.any_horizontal(*said)).to_series()
        for line in lines.filter(~keep):
            self._out.unread(int(line), "none of its cells holds what its column should")
        return keep

    def _identified(self, plan: Plan, lines: pl.Series, cells: pl.DataFrame) -> pl.DataFrame:
        """Line, `gpu_key`, `host` and `n` (how many rows of this GPU came before) of every row."""
        none = pl.Series([None] * lines.len(), dtype=pl.String)

        def texts(place: int | None) -> pl.Series:
            return none if place is None else read_texts(cells[str(place)]).values

        frame = pl.DataFrame(
            {
                "line": lines,
                "uuid": texts(plan.uuid),
                "pci": texts(plan.pci),
                "index": texts(plan.index),
                "model": texts(plan.model),
                "host": texts(plan.host),
            }
        ).with_columns(
            uuid=pl.when(pl.col("uuid").str.contains(_UUID)).then(pl.col("uuid")),
            pci=pl.col("pci").str.to_lowercase().str.extract(_PCI, 1),
            index=pl.when(pl.col("index").str.contains(_INDEX)).then(pl.col("index").cast(pl.Int32, strict=False)),
        )
        named = plan.uuid is not None or plan.pci is not None or plan.index is not None
        nameless = pl.lit("unknown" if named else "gpu")
        name = pl.coalesce("uuid", "pci", pl.col("index").cast(pl.String), nameless)
        on_host = pl.when(pl.col("host").is_not_null()).then(pl.concat_str("host", pl.lit(":"))).otherwise(pl.lit(""))
        prefix = pl.when(pl.col("uuid").is_null()).then(on_host).otherwise(pl.lit(""))
        frame = frame.with_columns(gpu_key=pl.concat_str(pl.lit(f"s{self._out.source_id}:"), prefix, name))
        if named:
            found_none = frame["uuid"].is_null() & frame["pci"].is_null() & frame["index"].is_null()
            self._nameless += int(found_none.sum())
        seen = frame.group_by("gpu_key", maintain_order=True).agg(
            pl.col("uuid", "pci", "index", "model", "host").drop_nulls().first(), rows=pl.len()
        )
        before = {str(key): self._gpus[key].rows if key in self._gpus else 0 for key in seen["gpu_key"]}
        for row in seen.iter_rows(named=True):
            self._note_gpu(row)
        start = pl.col("gpu_key").replace_strict(list(before), list(before.values()), return_dtype=pl.Int64)
        return frame.select("line", "gpu_key", "host", n=start + pl.int_range(pl.len()).over("gpu_key"))

    def _note_gpu(self, row: dict[str, object]) -> None:
        gpu = self._gpus.setdefault(str(row["gpu_key"]), _Gpu())
        gpu.rows += int(str(row["rows"]))
        uuid = row["uuid"]
        in_mig = isinstance(uuid, str) and uuid.startswith("MIG-")
        facts = {
            "device_id": None if isinstance(uuid, str) and _REDACTED.match(uuid) else uuid,
            "gpu_uuid": None if in_mig else uuid,
            "mig_uuid": uuid if in_mig else None,
            "pci_bus_id": row["pci"],
            "nvml_index": row["index"],
            "model": row["model"],
            "host": row["host"],
        }
        gpu.facts = {name: gpu.facts.get(name) or value for name, value in facts.items()} | {
            name: value for name, value in gpu.facts.items() if value is not None
        }

    def _note_twice(self, base: pl.DataFrame) -> None:
        timed = base.drop_nulls("clock_us")
        self._twice += timed.height - timed.select("gpu_key", "clock_id", "clock_us").n_unique()

    def _note_gaps(self, base: pl.DataFrame, cells: pl.DataFrame, columns: dict[str, tuple[str, ReadColumn]]) -> None:
        for name, (place, column) in columns.items():
            if column.states.null_count() == column.states.len():
                continue
            missing = base.select("gpu_key", "line", "n").with_columns(
                signal=pl.lit(name), state=column.states, raw=cells[place].str.slice(0, LONGEST_RAW)
            )
            runs = _runs(missing.filter(pl.col("state").is_not_null()))
            self._gaps.append(runs)

    def _write_metrics(self, plan: Plan, base: pl.DataFrame, cells: pl.DataFrame) -> None:
        for place, name, unit in plan.metrics:
            parts = number_parts(cells[str(place)])
            scale = parts["unit"].replace_strict(
                units := parts["unit"].unique().to_list(),
                [unit_scale(printed, unit) if unit else 1.0 for printed in units],
                default=None,
                return_dtype=pl.Float64,
            )
            rows = (
                base.with_columns(value=parts["value"] * scale, printed=parts["unit"])
                .drop_nulls("value")
                .with_columns(name=pl.lit(name), unit=pl.lit(unit) if unit else pl.col("printed"))
            )
            self._numbers[name] = self._numbers.get(name, False) or bool(rows.height)
            self._out.rows("metrics", rows)

    def _write_labels(self, plan: Plan, base: pl.DataFrame, cells: pl.DataFrame) -> None:
        for place, name in plan.labels:
            rows = base.with_columns(text=read_texts(cells[str(place)]).values).drop_nulls("text")
            keys = rows["gpu_key"].unique().to_list()
            last = [self._gpus[key].labels.get(name) for key in keys]
            earlier = pl.col("gpu_key").replace_strict(keys, last, default=None, return_dtype=pl.String)
            changed = rows.filter(
                pl.col("text").ne_missing(pl.coalesce(pl.col("text").shift(1).over("gpu_key"), earlier))
            )
            for row in rows.group_by("gpu_key").agg(pl.last("text")).iter_rows():
                self._gpus[row[0]].labels[name] = row[1]
            pair = pl.struct(key=pl.lit(name), value=pl.col("text"))
            self._out.rows(
                "metrics",
                changed.with_columns(
                    name=pl.lit(name), value=pl.lit(1.0), unit=pl.lit(""), labels=pl.concat_list(pair)
                ),
            )

    def _note_facts(self, plan: Plan, base: pl.DataFrame, cells: pl.DataFrame) -> None:
        for place, name in plan.facts:
            rows = base.select("line", "host").with_columns(value=read_texts(cells[str(place)]).values)
            first = rows.drop_nulls("value").unique(["host", "value"], keep="first", maintain_order=True)
            for row in first.iter_rows(named=True):
                self._facts.setdefault((row["host"], name, row["value"]), row["line"])


def _read(plan: Plan, cells: pl.DataFrame) -> tuple[dict[str, tuple[str, ReadColumn]], pl.Series | None]:
    """Signal to the column whose text is its evidence and what was read; and the reason bits reported on."""
    found: dict[str, tuple[str, ReadColumn]] = {}
    known: pl.Series | None = None
    for place, alias, item in plan.signals:
        if item.name in found and not _is_blank(found[item.name][1]):
            continue
        text = cells[str(place)]
        if item.dtype == pl.String:
            column = read_texts(text)
        elif item.kind == "mask":
            column = read_masks(text)
            known = join_reasons(column, None, (), cells.height)[1]
        else:
            column = read_numbers(text, item, alias, blanks=plan.blanks)
        if item.name not in found or not _is_blank(column):
            found[item.name] = (str(place), column)
    if plan.reasons:
        place, joined, known = _reasons(plan, cells)
        found["clocks_event_reasons"] = (place, joined)
    return found, known


def _is_blank(column: ReadColumn) -> bool:
    return column.values.null_count() == column.values.len()


def _reasons(plan: Plan, cells: pl.DataFrame) -> tuple[str, ReadColumn, pl.Series]:
    """Place of the telling column, the joined mask, and the bits known."""
    mask = next((place for place, part in plan.reasons if part.part == "mask"), None)
    known = next((place for place, part in plan.reasons if part.part == "known"), None)
    bits = [(part.bit, place) for place, part in plan.reasons if part.part == "bit"]
    joined, reported = join_reasons(
        None if mask is None else read_masks(cells[str(mask)]),
        None if known is None else read_masks(cells[str(known)]),
        [(bit, read_flags(cells[str(place)])) for bit, place in bits],
        cells.height,
    )
    place = mask if mask is not None else bits[0][1] if bits else known
    return str(place), joined, reported


def _runs(missing: pl.DataFrame) -> pl.DataFrame:
    """Rows without a value, joined into runs: neighbours of one GPU with the same state and text."""
    gpu = "gpu_key"
    broken = (
        (pl.col("n") != pl.col("n").shift(1).over(gpu) + 1)
        | pl.col("state").ne_missing(pl.col("state").shift(1).over(gpu))
        | pl.col("raw").ne_missing(pl.col("raw").shift(1).over(gpu))
    ).fill_null(value=True)
    return (
        missing.with_columns(run=broken.cum_sum().over(gpu))
        .group_by(gpu, "run", maintain_order=True)
        .agg(
            pl.first("signal", "state", "raw"),
            first_line=pl.first("line"),
            last_line=pl.last("line"),
            values=pl.len().cast(pl.UInt64),
            first_n=pl.first("n"),
            last_n=pl.last("n"),
        )
        .drop("run")
    )


def _joined_runs(runs: pl.DataFrame) -> pl.DataFrame:
    """Runs that a block border had cut are one again."""
    keys = ["gpu_key", "signal"]
    broken = (
        (pl.col("first_n") != pl.col("last_n").shift(1).over(keys) + 1)
        | pl.col("state").ne_missing(pl.col("state").shift(1).over(keys))
        | pl.col("raw").ne_missing(pl.col("raw").shift(1).over(keys))
    ).fill_null(value=True)
    return (
        runs.sort("gpu_key", "signal", "first_line")
        .with_columns(run=broken.cum_sum().over(keys))
        .group_by(*keys, "run", maintain_order=True)
        .agg(
            pl.first("state", "raw", "first_line"),
            last_line=pl.max("last_line"),
            values=pl.sum("values"),
        )
        .drop("run")
    )
