"""What does each thing look like? Colours, labels, panels and units of `encoding.toml`, typed."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from crashlens.catalog.toml_text import toml_document


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of the timeline.

    Attributes:
        name: Stable name, the `track` of the tracks table.
        signals: `(column, title with unit)`; the first column with a value is drawn.
        reference: `(column, label)` of a dashed reference line, or None.
        scale: Factor from the column to what is drawn.
        whole: Values that the axis always shows; empty: what the series need.
    """

    name: str
    signals: tuple[tuple[str, str], ...]
    reference: tuple[str, str] | None
    scale: float
    whole: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ReasonClass:
    """How one class of clocks event reasons is drawn: name in the catalog, label, colour. Order is importance."""

    name: str
    label: str
    colour: str


@dataclass(frozen=True, slots=True)
class GpuColours:
    """Colours of series: affected GPUs in order, all alike, the others, the whole run, reference lines."""

    affected: tuple[str, ...]
    all_alike: str
    others: str
    run: str
    limit: str
    most_named: int


@dataclass(frozen=True, slots=True)
class Unit:
    """How numbers of a column with this ending are printed."""

    ending: str
    label: str
    factor: float
    decimals: int


@dataclass(frozen=True, slots=True)
class Size:
    """Sizes of a chart in pixels and the most of each that is drawn; see `encoding.toml`."""

    width: int
    label_width: int
    panel: int
    lane: int
    reason_line: int
    bucket: int
    most_lanes: int
    most_marks: int
    most_groups: int
    mark_row: int
    label: float
    heading: float
    between: int
    between_groups: int
    gpu_line: float
    run_line: float


@dataclass(frozen=True, slots=True)
class Ink:
    """Colours of text, quiet text, grid and paper in charts."""

    text: str
    quiet: str
    grid: str
    paper: str


@cache
def _data() -> dict[str, Any]:
    return toml_document(files("crashlens.views").joinpath("encoding.toml").read_text("utf-8"))


@cache
def gpu_colours() -> GpuColours:
    """Colours of series in charts, `#rrggbb`."""
    row: dict[str, Any] = dict(_data()["gpus"])
    row["affected"] = tuple(row["affected"])
    return GpuColours(**row)


@cache
def ink() -> Ink:
    """Colours of text and paper in charts, `#rrggbb`."""
    return Ink(**_data()["ink"])


@cache
def size() -> Size:
    """Sizes of a chart in pixels."""
    return Size(**_data()["size"])


@cache
def panels(lang: str = "en") -> tuple[Panel, ...]:
    """Panels of per-GPU series, top to bottom, with titles in `lang` (`en` or `ko`)."""
    return _panels("panel", lang)


@cache
def run_panels(lang: str = "en") -> tuple[Panel, ...]:
    """Panels of series of the whole run, below the per-GPU ones, with titles in `lang` (`en` or `ko`)."""
    return _panels("run_panel", lang)


@cache
def mark_colours() -> dict[str, str]:
    """Colour of a record in charts by its role as evidence, `other` for none."""
    return dict(_data()["mark"])


@cache
def reason_classes(lang: str = "en") -> tuple[ReasonClass, ...]:
    """Classes of clocks event reasons, most telling first, with labels in `lang` (`en` or `ko`)."""
    return tuple(ReasonClass(row["class"], row["label"][lang], row["colour"]) for row in _data()["reason"])


@cache
def unit_of(column: str) -> Unit | None:
    """How numbers of `column` are printed; None where its name carries no unit."""
    rows = [row for row in _data()["unit"] if column.endswith(row["ending"])]
    if not rows:
        return None
    row = max(rows, key=lambda item: len(item["ending"]))
    return Unit(row["ending"], row["label"], row.get("factor", 1.0), row["decimals"])


@cache
def style_sheet() -> str:
    """CSS of all crashlens outputs, scoped to `.crashlens`; light and dark follow the notebook's theme."""
    pairs = {f"{kind}-{name}": row for kind in ("role", "note") for name, row in _data()[kind].items()}
    light = "".join(f"--cl-{name}:{row['light']};" for name, row in pairs.items())
    dark = "".join(f"--cl-{name}:{row['dark']};" for name, row in pairs.items())
    chips = "".join(
        f".crashlens .cl-{name}{{background:{row['paper']};color:{row['ink']}}}"
        for name, row in _data()["verdict"].items()
    )
    rules = files("crashlens.views").joinpath("style.css").read_text("utf-8")
    return (
        f".crashlens{{{light}}}"
        f'body[data-jp-theme-light="false"] .crashlens,body.vscode-dark .crashlens{{{dark}}}'
        f"@media (prefers-color-scheme:dark){{body:not([data-jp-theme-light]):not(.vscode-light) .crashlens{{{dark}}}}}"
        + " ".join(rules.split())
        + chips
    )


def _panels(key: str, lang: str) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            row["name"],
            tuple((name, titles[lang]) for name, titles in row["signals"]),
            (row["reference"][0], row["reference"][1][lang]) if "reference" in row else None,
            row.get("scale", 1.0),
            tuple(row.get("whole", ())),
        )
        for row in _data()[key]
    )
