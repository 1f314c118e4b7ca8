"""What do the conclusions rest on: which window, which files, which machines, how many samples?"""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from crashlens.schemas import Tables
from crashlens.timebase import Window
from crashlens.views.labels import sentences
from crashlens.views.numbers import duration, moment, number, span
from crashlens.views.tables import Shown, Table

_DATED = ("samples", "steps", "events")


@dataclass(frozen=True, slots=True)
class Extent:
    """When the dated records lie.

    Attributes:
        start: First of them in UTC; None where none could be placed.
        end: Last of them.
        unplaced: Records with a stamp or without that have no UTC time.
        total: All of them.
    """

    start: datetime | None
    end: datetime | None
    unplaced: int
    total: int


def extent(tables: Tables) -> Extent:
    """First and last UTC time over samples, steps and events, and how many of them have none."""
    times = pl.concat([getattr(tables, name).select("time_utc") for name in _DATED])["time_utc"]
    start, end = times.min(), times.max()
    return Extent(
        start if isinstance(start, datetime) else None,
        end if isinstance(end, datetime) else None,
        times.null_count(),
        times.len(),
    )


def file_counts(tables: Tables) -> dict[str, int]:
    """Number of sources per state: read, partly_read, not_read, skipped."""
    counted = dict(tables.sources.group_by("state").len().iter_rows())
    return {state: int(counted.get(state, 0)) for state in ("read", "partly_read", "not_read", "skipped")}


def scope_view(tables: Tables, window: Window | None, show_tz: str, *, lang: str = "en") -> Table:
    """What an audit rests on, one line per item.

    Args:
        tables: The case, already cut to `window`.
        window: The window asked for, or None.
        show_tz: IANA zone of the times shown.
        lang: Language of the table, `en` or `ko`.

    Raises:
        UnknownTimeZoneError: No such zone.
    """
    words = sentences("scope", lang)
    seen, files = extent(tables), file_counts(tables)
    counts = {"partly": files["partly_read"], **files}
    recognised = tables.sources["format"].count()
    rows: list[tuple[str, str | None]] = [
        *([] if recognised else [(words["reading"], sentences("case", lang)["nothing"])]),
        (words["window"], span(window.start, window.end, show_tz) if window else words["no_window"]),
        (words["files"], words["files_value"].format(**counts)),
        (words["evidence"], _evidence(seen, window, show_tz, lang)),
    ]
    if seen.unplaced:
        unplaced = words["unplaced_value"].format(count=f"{seen.unplaced:,}", total=f"{seen.total:,}")
        rows.append((words["unplaced"], unplaced))
    rows += [
        (words["hosts"], ", ".join(_hosts(tables)) or None),
        (words["gpus"], _gpus(tables, lang)),
        *_telemetry(tables, window, lang),
        (words["steps"], _count(_steps(tables), window, lang)),
        (words["events"], _count(tables.events.height, window, lang)),
        (words["show_tz"], show_tz),
    ]
    columns = (Shown(words["item"], width=1), Shown(words["value"], width=3))
    return Table(words["title"], words["caption"], columns, tuple(rows), lang=lang)


def _steps(tables: Tables) -> int:
    """Steps by number, and the lines of trainers that print none."""
    numbers = tables.steps["step"]
    return numbers.drop_nulls().n_unique() + numbers.null_count()


def _evidence(seen: Extent, window: Window | None, show_tz: str, lang: str) -> str:
    words = sentences("scope", lang)
    if seen.start is None or seen.end is None:
        return words["none_dated_in_window" if window else "no_evidence"]
    return words["evidence_value"].format(start=moment(seen.start, show_tz), end=moment(seen.end, show_tz))


def _hosts(tables: Tables) -> list[str]:
    named = [frame["host"] for frame in (tables.gpus, tables.events, tables.steps, tables.clocks, tables.inventory)]
    return sorted(set(pl.concat(named).drop_nulls().to_list()))


def _gpus(tables: Tables, lang: str) -> str | None:
    """Devices as telemetry knows them; GPUs that only a log line names have no model there."""
    gpus = tables.gpus.with_columns(device=pl.coalesce("device_id", "gpu_uuid", "pci_bus_id", "gpu_key"))
    polled = gpus.filter(pl.col("gpu_key").is_in(tables.samples["gpu_key"].unique().to_list()))
    chosen = polled if polled.height else gpus
    if not chosen.height:
        return None
    models = sorted(set(chosen["model"].drop_nulls().to_list()))
    stated = ", ".join(models) or sentences("word", lang)["not_stated"]
    return sentences("scope", lang)["gpus_value"].format(count=chosen["device"].n_unique(), models=stated)


def _telemetry(tables: Tables, window: Window | None, lang: str) -> list[tuple[str, str | None]]:
    words = sentences("scope", lang)
    clock = pl.coalesce(pl.col("time_utc").dt.epoch("us"), "clock_us")
    apart = tables.samples.sort("gpu_key", clock).select(apart=clock.diff().over("gpu_key"))["apart"].drop_nulls()
    usual, longest = apart.filter(apart > 0).median(), apart.max()
    count = _count(tables.samples.height, window, lang)
    if not isinstance(usual, (int, float)) or not isinstance(longest, (int, float)):
        return [(words["samples"], words["samples_unpaced"].format(count=count))]
    paced = words["samples_value"].format(count=count, cadence=duration(usual / 1e6))
    return [(words["samples"], paced), (words["gap"], duration(longest / 1e6))]


def _count(count: int, window: Window | None, lang: str) -> str:
    return number(count) if count else sentences("scope", lang)["none_in_window" if window else "none_read"]
