"""Which signals can a sample hold? The columns of `samples` behind its key, with unit, kind, meaning and source."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import polars as pl

from crashlens.catalog.toml_text import toml_document
from crashlens.errors import DataFileError
from crashlens.schemas import SAMPLES, Column, Schema

Kind = Literal["gauge", "counter", "mask", "setting", "state"]

_TYPES: dict[str, type[pl.DataType]] = {"f64": pl.Float64, "i64": pl.Int64, "u64": pl.UInt64, "str": pl.String}


@dataclass(frozen=True, slots=True)
class Signal:
    """One column of `samples`.

    Attributes:
        name: Column name, with its unit.
        dtype: polars type.
        unit: Unit; "1" for a ratio or a count, empty for a mask, a state or text.
        kind: gauge (a value now), counter (differences only), mask (bits), setting (rarely changes), state (a level).
        meaning: What the number is.
        source: Which field of which tool defines it.
        least: Smallest value that a device can mean, or None.
        most: Largest value that a device can mean, or None.
        outside: State of the gap that a value outside these bounds becomes.
    """

    name: str
    dtype: type[pl.DataType]
    unit: str
    kind: Kind
    meaning: str
    source: str
    least: float | None = None
    most: float | None = None
    outside: str = "error"


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Signal]:
    text = files("crashlens.catalog").joinpath("signals.toml").read_text("utf-8")
    found: dict[str, Signal] = {}
    faults: list[str] = []
    for row in toml_document(text)["signal"]:
        name = row["name"]
        if name in found:
            faults.append(f"signals.toml: {name} is there twice")
        if row["type"] not in _TYPES:
            faults.append(f"signals.toml: {name}: type {row['type']} is none of {', '.join(_TYPES)}")
            continue
        found[name] = Signal(
            name,
            _TYPES[row["type"]],
            row["unit"],
            row["kind"],
            row["meaning"],
            row["source"],
            row.get("least"),
            row.get("most"),
            row.get("outside", "error"),
        )
    if faults:
        raise DataFileError("The signal catalog", faults)
    return found


def signals() -> tuple[Signal, ...]:
    """Every signal, in the order of the columns of `samples`."""
    return tuple(_by_name().values())


def signal(name: str) -> Signal:
    """The signal called `name`.

    Raises:
        DataFileError: No row of signals.toml has that name.
    """
    found = _by_name().get(name)
    if found is None:
        raise DataFileError("The signal catalog", [f"signals.toml: no signal is called {name}"])
    return found


@lru_cache(maxsize=1)
def samples_schema() -> Schema:
    """The schema of `samples`: its key and clock columns, then one column per signal."""
    return SAMPLES.with_columns([Column(s.name, s.dtype, s.meaning, s.unit) for s in signals()])
