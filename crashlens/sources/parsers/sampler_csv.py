"""A site's own sampler CSV, read by a declared column mapping (`[[sampler]]` in catalog/field_aliases.toml).

The mapping says which columns must be there, how the time is written, which column tells GPUs apart, and what each
column means. Nothing is guessed from a name that no mapping lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from crashlens.catalog.aliases import ReasonColumn, Sampler, samplers
from crashlens.catalog.signals import signal
from crashlens.scan.member import Member
from crashlens.sources.cells import LONGEST_TEXT, split_cells
from crashlens.sources.clocks import ClockReader
from crashlens.sources.format import Format
from crashlens.sources.polls import Plan, PollWriter
from crashlens.sources.writer import TableWriter

MOST_COLUMNS = 1024


@dataclass(frozen=True, slots=True)
class _Header:
    names: tuple[str, ...]
    delimiter: str
    sampler: Sampler
    plan: Plan


def sniff(head: bytes) -> float:
    """How surely `head` (the first 64 KiB) fits one of the mappings that come along, 0 to 1. Never raises."""
    first = next((line for line in head.decode("utf-8", "replace").split("\n") if line.strip()), "")
    return 0.9 if _header(first, samplers()) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write the rows of `member` by the first mapping that comes along and fits."""
    parse_with(member, out, samplers())


def parse_with(member: Member, out: TableWriter, mappings: tuple[Sampler, ...]) -> None:
    """Write the rows of `member` by the first of `mappings` that fits its header. Nothing raises for what it holds."""
    header: _Header | None = None
    polls: PollWriter | None = None
    clock: ClockReader | None = None
    for block in member.blocks():
        texts = block.data.decode("utf-8", "replace").split("\n")
        texts = texts[:-1] if texts[-1] == "" else texts
        lines = pl.DataFrame(
            {"text": pl.Series(texts, dtype=pl.String), "line": range(block.first_line, block.first_line + len(texts))},
            schema={"text": pl.String, "line": pl.UInt32},
        )
        lines = lines.with_columns(pl.col("text").str.strip_chars(" \t\r\x00\ufeff")).filter(pl.col("text") != "")
        if header is None:
            header, lines = _find_header(out, lines, mappings)
        if header is None or not lines.height:
            continue
        if polls is None or clock is None:
            clock = ClockReader(out, header.sampler.time_kind)
            polls = PollWriter(out, clock)
            out.notice(f"Read by the column mapping {header.sampler.name} ({header.sampler.title}).")
            _say_ignored(out, header)
        _rows(out, polls, header, lines)
    if polls is not None and clock is not None:
        polls.close()
        clock.close()


def _find_header(
    out: TableWriter, lines: pl.DataFrame, mappings: tuple[Sampler, ...]
) -> tuple[_Header | None, pl.DataFrame]:
    """The first header among `lines`, and the lines behind it."""
    for place, (text, line) in enumerate(lines.iter_rows()):
        header = _header(text, mappings)
        if header is not None:
            return header, lines.slice(place + 1)
        out.unread(line, "it stands before the first header")
    return None, lines.clear()


def _rows(out: TableWriter, polls: PollWriter, header: _Header, lines: pl.DataFrame) -> None:
    cells, counts = split_cells(lines["text"], header.delimiter, header.plan.width)
    repeated = cells["0"].str.to_lowercase() == header.names[0]
    fits = counts == header.plan.width
    for line, count in zip(lines["line"].filter(~fits & ~repeated), counts.filter(~fits & ~repeated), strict=True):
        out.unread(line, f"{count} cells under {header.plan.width} column names")
    for line, text in lines.filter(fits & repeated).select("line", "text").iter_rows():
        if _names(text, header.delimiter) != header.names:
            out.unread(line, "a second header names other columns")
    keep = fits & ~repeated
    if keep.any():
        kept = lines.filter(keep)
        polls.block(header.plan, kept["line"], cells.filter(keep), kept["text"])


def _header(text: str, mappings: tuple[Sampler, ...]) -> _Header | None:
    delimiter = max(",;\t", key=text.count)
    if text.count(delimiter) >= MOST_COLUMNS:
        return None
    names = _names(text, delimiter)
    columns = frozenset(names)
    sampler = next((item for item in mappings if item.fits(columns)), None)
    return None if sampler is None else _Header(names, delimiter, sampler, _plan(names, sampler))


def _names(text: str, delimiter: str) -> tuple[str, ...]:
    return tuple(name.strip(' \t\r\ufeff"').lower() for name in text.split(delimiter))


def _plan(names: tuple[str, ...], sampler: Sampler) -> Plan:
    place = {name: number for number, name in reversed(list(enumerate(names)))}
    gpu = place.get(sampler.gpu_column)
    mapped = [(place[name], alias, signal(alias.signal)) for name, alias in sampler.signals.items() if name in place]
    masks = [at for at, _, item in mapped if item.name == "clocks_event_reasons"]
    plain = [entry for entry in mapped if entry[2].name != "clocks_event_reasons"]
    return Plan(
        width=len(names),
        time=place.get(sampler.time_column),
        uuid=gpu if sampler.identity == "gpu_uuid" else None,
        pci=gpu if sampler.identity == "pci_bus_id" else None,
        index=gpu if sampler.identity == "nvml_index" else None,
        model=place.get(sampler.model_column),
        host=place.get(sampler.host_column),
        signals=tuple(plain),
        reasons=tuple((at, ReasonColumn("mask")) for at in masks[:1]),
        metrics=tuple((place[name], name, "") for name in sampler.metrics if name in place),
        labels=tuple((place[name], name) for name in sampler.labels if name in place),
        power_draw_kind=sampler.power_draw_kind,
        blanks=sampler.sentinels,
    )


def _used(header: _Header) -> Iterator[str]:
    sampler = header.sampler
    yield from (sampler.time_column, sampler.gpu_column, sampler.host_column, sampler.model_column)
    yield from (*sampler.signals, *sampler.labels, *sampler.metrics)


def _say_ignored(out: TableWriter, header: _Header) -> None:
    used = set(_used(header))
    ignored = [name[:LONGEST_TEXT] for name in header.names if name not in used]
    if ignored:
        out.notice(f"Columns that the mapping does not name were not kept: {', '.join(ignored[:12])}.")


FORMAT = Format(
    name="sampler_csv",
    title="sampler CSV by a declared column mapping",
    sniff=sniff,
    parse=parse,
    writes=("samples", "gpus", "clocks", "gaps", "metrics"),
)
