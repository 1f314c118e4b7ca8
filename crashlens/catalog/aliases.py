"""Which signal does a column mean? Names, units and factors of tools, and the mappings a site declares for its CSV."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, cast

from crashlens.catalog.reasons import reasons
from crashlens.catalog.signals import signals
from crashlens.catalog.toml_text import toml_document
from crashlens.errors import DataFileError

Role = Literal["time", "gpu_uuid", "pci_bus_id", "nvml_index", "model", "host", "fact", "label"]
TimeKind = Literal["epoch_s", "epoch_ms", "epoch_us", "epoch_ns", "iso", "local", "elapsed_s"]
Identity = Literal["gpu_uuid", "pci_bus_id", "nvml_index"]

TIME_KINDS: tuple[TimeKind, ...] = ("epoch_s", "epoch_ms", "epoch_us", "epoch_ns", "iso", "local", "elapsed_s")
IDENTITIES: tuple[Identity, ...] = ("gpu_uuid", "pci_bus_id", "nvml_index")


@dataclass(frozen=True, slots=True)
class FieldAlias:
    """What one column name of one tool means.

    Attributes:
        signal: Column of `samples`.
        unit: Unit of a bare number in this column; empty: none.
        factor: From that unit to the unit of the signal.
        power_draw_kind: For power: what the number averages over; empty otherwise.
        rank: Where two columns mean one signal, the lowest rank fills it.
    """

    signal: str
    unit: str = ""
    factor: float = 1.0
    power_draw_kind: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class ReasonColumn:
    """A column of clocks event reasons: `mask` (all bits), `known` (bits supported) or `bit` (one, with its value)."""

    part: Literal["mask", "known", "bit"]
    bit: int = 0


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a site's own sampler CSV is read, as declared by its owner.

    Attributes:
        name: Short name.
        title: What a person calls it.
        source: Where this shape was seen.
        requires: Columns that must all be there, compared without case.
        requires_one_of: Of these at least one must be there; empty: no such rule.
        time_column: Column of the time.
        time_kind: How it is written.
        gpu_column: Column that tells GPUs apart; empty: one GPU.
        identity: What that column holds.
        host_column: Column of the host; empty: none.
        model_column: Column of the GPU model; empty: none.
        power_draw_kind: What the power column averages over.
        sentinels: Whether blank numbers of DCGM may stand in it: "dcgm" or "none".
        signals: Column name, lower case, to what it means.
        labels: Text columns kept as one metrics row wherever their text changes.
        metrics: Numeric columns kept as metrics; every other column is named in a notice.
    """

    name: str
    title: str
    source: str
    requires: tuple[str, ...]
    requires_one_of: tuple[str, ...]
    time_column: str
    time_kind: TimeKind
    gpu_column: str
    identity: Identity
    host_column: str
    model_column: str
    power_draw_kind: str
    sentinels: Literal["dcgm", "none"]
    signals: Mapping[str, FieldAlias]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]

    def fits(self, columns: frozenset[str]) -> bool:
        """Whether a header with these column names (lower case) is of this sampler."""
        required = {name.lower() for name in self.requires}
        one_of = {name.lower() for name in self.requires_one_of}
        return required <= columns and (not one_of or bool(one_of & columns))


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return toml_document(files("crashlens.catalog").joinpath("field_aliases.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def _fields() -> dict[tuple[str, str], FieldAlias]:
    known = {item.name for item in signals()}
    found: dict[tuple[str, str], FieldAlias] = {}
    faults: list[str] = []
    for row in _document()["field"]:
        if row["signal"] not in known:
            faults.append(f"field_aliases.toml: {row['names'][0]}: no signal is called {row['signal']}")
        alias = FieldAlias(
            row["signal"],
            row.get("unit", ""),
            row.get("factor", 1.0),
            row.get("power_draw_kind", ""),
            row.get("rank", 0),
        )
        found |= {(row["family"], name.lower()): alias for name in row["names"]}
    if faults:
        raise DataFileError("The field aliases", faults)
    return found


@lru_cache(maxsize=1)
def _roles() -> dict[tuple[str, str], Role]:
    return {(row["family"], name.lower()): row["role"] for row in _document()["role"] for name in row["names"]}


@lru_cache(maxsize=1)
def _reason_columns() -> dict[tuple[str, str], ReasonColumn]:
    rule = _document()["reason_columns"]
    found: dict[tuple[str, str], ReasonColumn] = {}
    for prefix in rule["prefixes"]:
        found[rule["family"], prefix + rule["mask"]] = ReasonColumn("mask")
        found[rule["family"], prefix + rule["known"]] = ReasonColumn("known")
        for reason in reasons():
            found[rule["family"], prefix + reason.name] = ReasonColumn("bit", reason.bit)
    return found


def field_alias(family: str, name: str) -> FieldAlias | None:
    """What column `name` of tool `family` means, or None where it is no signal."""
    return _fields().get((family, name.lower()))


def field_role(family: str, name: str) -> Role | None:
    """Whether column `name` of tool `family` says who or when instead of how much, or None."""
    return _roles().get((family, name.lower()))


def reason_column(family: str, name: str) -> ReasonColumn | None:
    """Which part of the clocks event reasons column `name` holds, or None."""
    return _reason_columns().get((family, name.lower()))


def is_known_field(family: str, name: str) -> bool:
    """Whether `name` is any column name of tool `family` that this catalog knows."""
    key = (family, name.lower())
    return key in _fields() or key in _roles() or key in _reason_columns()


@lru_cache(maxsize=1024)
def unit_scale(printed: str, expected: str) -> float | None:
    """Factor from unit `printed` to unit `expected`; None where they do not measure the same thing."""
    if printed in ("", expected):
        return 1.0
    for group in _document()["unit"]:
        scale = group["scale"]
        if printed in scale and expected in scale:
            return float(scale[printed] / scale[expected])
    return None


@lru_cache(maxsize=1)
def number_words() -> dict[str, int]:
    """Words that stand for a number in a state column, lower case: yes, no, enabled, ..."""
    return dict(_document()["words"])


@lru_cache(maxsize=1)
def samplers() -> tuple[Sampler, ...]:
    """The sampler mappings that come with crashlens, most specific first."""
    return tuple(parse_sampler(row) for row in _document()["sampler"])


def parse_sampler(table: Mapping[str, object]) -> Sampler:
    """One mapping from its table, as it stands in a TOML file under `[[sampler]]`.

    Raises:
        DataFileError: Everything that is wrong with it, all at once.
    """
    name = str(table.get("name", "a sampler mapping"))
    time = _table(table.get("time"))
    gpu = _table(table.get("gpu"))
    columns = {key: _table(value) for key, value in _table(table.get("signals")).items()}
    faults = _sampler_faults(name, table, time, gpu, columns)
    if faults:
        raise DataFileError("The sampler mapping", faults)
    return Sampler(
        name=name,
        title=str(table.get("title", name)),
        source=str(table.get("source", "given by the user")),
        requires=_texts(table.get("requires")),
        requires_one_of=_texts(table.get("requires_one_of")),
        time_column=str(time["column"]).lower(),
        time_kind=cast("TimeKind", time["kind"]),
        gpu_column=str(gpu.get("column", "")).lower(),
        identity=cast("Identity", gpu.get("identity", "nvml_index")),
        host_column=str(table.get("host", "")).lower(),
        model_column=str(table.get("model", "")).lower(),
        power_draw_kind=str(table.get("power_draw_kind", "unspecified")),
        sentinels="dcgm" if table.get("sentinels") == "dcgm" else "none",
        signals={key.lower(): _alias(value) for key, value in columns.items()},
        labels=tuple(text.lower() for text in _texts(table.get("labels"))),
        metrics=tuple(text.lower() for text in _texts(table.get("metrics"))),
    )


def _sampler_faults(
    name: str,
    table: Mapping[str, object],
    time: Mapping[str, object],
    gpu: Mapping[str, object],
    columns: Mapping[str, Mapping[str, object]],
) -> list[str]:
    known = {item.name for item in signals()}
    faults = [
        f"{name}: {key}: no signal is called {value.get('signal')}"
        for key, value in columns.items()
        if value.get("signal") not in known
    ]
    faults += [
        f"{name}: {key}: factor {value['factor']!r} is no number other than 0"
        for key, value in columns.items()
        if "factor" in value and (not isinstance(value["factor"], int | float) or not value["factor"])
    ]
    if not columns:
        faults.append(f"{name}: signals: no column is mapped")
    if not _texts(table.get("requires")):
        faults.append(f"{name}: requires: name the columns that tell this CSV from others")
    if not time.get("column"):
        faults.append(f"{name}: time: column is missing")
    if time.get("kind") not in TIME_KINDS:
        faults.append(f"{name}: time: kind is one of {', '.join(TIME_KINDS)}")
    if gpu and gpu.get("identity") not in IDENTITIES:
        faults.append(f"{name}: gpu: identity is one of {', '.join(IDENTITIES)}")
    if table.get("sentinels", "none") not in ("dcgm", "none"):
        faults.append(f"{name}: sentinels is dcgm or none")
    return faults


def _alias(value: Mapping[str, object]) -> FieldAlias:
    return FieldAlias(str(value["signal"]), str(value.get("unit", "")), float(cast("float", value.get("factor", 1.0))))


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(str(item) for item in items)
