"""`nvidia-smi --query-gpu=... --format=csv`: one line per GPU and poll, under a header that names the columns.

With `nounits` the header keeps `[W]` and the cells lose it. The header may repeat, a blank line may follow it, error
sentences of the driver may stand between rows, and a killed sampler ends within a row. `timestamp` is local wall time
without a zone. A spreadsheet saves the same file with `;` and decimal commas. Source: nvidia-smi manual and
`--help-query-gpu`, drivers 535 to 610. Without a header nothing names the columns: such a file is not read.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import polars as pl

from crashlens.catalog.aliases import (
    FieldAlias,
    ReasonColumn,
    field_alias,
    field_role,
    is_known_field,
    reason_column,
    unit_scale,
)
from crashlens.catalog.signals import Signal, signal
from crashlens.scan.member import Member
from crashlens.sources.cells import LONGEST_TEXT, split_cells
from crashlens.sources.clocks import ClockReader
from crashlens.sources.format import Format
from crashlens.sources.polls import Plan, PollWriter
from crashlens.sources.writer import TableWriter

FAMILY = "nvidia_smi_query"
HEAD_LINES = 20  # a wrapper may print a stamp or a warning first; further down it is another kind of file
MOST_COLUMNS = 1024  # driver 610 offers 241
LONGEST_HEADER = 64 * 1024
MOST_HEADERS = 64  # different ones in one file; a sampler started in a loop repeats the same one before every row

_NAME = re.compile(r"^\"?([A-Za-z][A-Za-z0-9_.]{0,79})(?: ?\[([^\[\]]{1,16})\])?\"?$")
_CONTINENTAL = r"([0-9]),([0-9])"


@dataclass(frozen=True, slots=True)
class _Header:
    delimiter: str
    plan: Plan


def sniff(head: bytes) -> float:
    """How surely `head` (the first 64 KiB) is such a CSV, 0 to 1. Never raises."""
    lines = [line for line in head.decode("utf-8", "replace").split("\n") if line.strip()]
    return 0.95 if any(_header(line[:LONGEST_HEADER]) for line in lines[:HEAD_LINES]) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write the rows of `member`; a line that does not fit its header is counted. Nothing raises for what it holds."""
    polls = PollWriter(out, clock := ClockReader(out, "local"))
    header: _Header | None = None
    headers: set[_Header] = set()
    ended = True
    last = 0
    for block in member.blocks():
        texts = block.data.decode("utf-8", "replace").split("\n")
        ended = texts[-1] == ""
        texts = texts[:-1] if ended else texts
        under: dict[_Header | None, list[int]] = {}
        for place, text in enumerate(texts):
            found = _header(text) if len(text) <= LONGEST_HEADER else None
            if found is None:
                under.setdefault(header, []).append(place)
            elif found in headers or len(headers) < MOST_HEADERS:
                headers.add(header := found)
            else:
                header = None
        for of, places in under.items():
            _rows(out, polls, of, [texts[place] for place in places], [block.first_line + place for place in places])
        last = block.first_line + len(texts) - 1
    if not ended:
        out.notice(f"Line {last} is the last one and has no line end: its last value may be cut short.")
    polls.close()
    clock.close()


def _rows(out: TableWriter, polls: PollWriter, header: _Header | None, texts: list[str], numbers: list[int]) -> None:
    lines = pl.DataFrame({"text": texts, "line": numbers}, schema={"text": pl.String, "line": pl.UInt32})
    lines = lines.with_columns(pl.col("text").str.strip_chars(" \t\r\x00\ufeff")).filter(pl.col("text") != "")
    if header is None:
        for line in lines["line"]:
            out.unread(line, "no header that could be read stands before it")
        return
    if not lines.height:
        return
    cells, counts = split_cells(lines["text"], header.delimiter, header.plan.width)
    fits = counts == header.plan.width
    for line, count in zip(lines["line"].filter(~fits), counts.filter(~fits), strict=True):
        out.unread(line, f"{count} cells under {header.plan.width} column names")
    cells = cells.filter(fits)
    if header.delimiter != ",":
        cells = cells.with_columns(pl.all().str.replace(_CONTINENTAL, "$1.$2"))
        out.notice(
            "Its cells are separated by something other than a comma; a comma between digits is read as a point."
        )
    if cells.height:
        kept = lines.filter(fits)
        polls.block(header.plan, kept["line"], cells, kept["text"])


@lru_cache(maxsize=MOST_HEADERS)
def _header(text: str) -> _Header | None:
    """What `text` says as a header, or None where it is a row, a sentence or another kind of CSV."""
    first = text[:1]
    if not first.isalpha() and first not in ('"', "\ufeff"):
        return None
    delimiter = max(",;\t", key=text.count)
    names = [name.strip(" \t\r\ufeff") for name in text.split(delimiter)]
    if len(names) > MOST_COLUMNS:
        return None
    matches = [_NAME.match(name) for name in names]
    if not matches[0] or any(name and not match for name, match in zip(names, matches, strict=True)):
        return None
    columns = [(match[1], match[2] or "") if match else ("", "") for match in matches]
    measured = sum(bool(field_alias(FAMILY, name) or reason_column(FAMILY, name)) for name, _ in columns)
    known = sum(is_known_field(FAMILY, name) for name, _ in columns)
    if not measured or (measured < 3 and known * 2 < len(columns)):
        return None
    return _Header(delimiter, _plan(columns))


def _plan(columns: list[tuple[str, str]]) -> Plan:
    roles: dict[str, int] = {}
    facts: list[tuple[int, str]] = []
    metrics: list[tuple[int, str, str]] = []
    reasons: list[tuple[int, ReasonColumn]] = []
    found: list[tuple[int, FieldAlias, Signal]] = []
    for place, (name, unit) in enumerate(columns):
        role, part, alias = field_role(FAMILY, name), reason_column(FAMILY, name), field_alias(FAMILY, name)
        if role == "fact":
            facts.append((place, name))
        elif role == "label" or not name:
            continue
        elif role is not None:
            roles.setdefault(role, place)
        elif part is not None:
            reasons.append((place, part))
        elif alias is not None and (alias := _in_header_unit(alias, unit)) is not None:
            found.append((place, alias, signal(alias.signal)))
        else:
            metrics.append((place, name[:LONGEST_TEXT], unit))
    found.sort(key=lambda entry: entry[1].rank)
    first = {item.name: place for place, _, item in reversed(found)}
    spare = sorted(place for place, _, item in found if first[item.name] != place)
    metrics += [(place, columns[place][0], columns[place][1]) for place in spare]
    return Plan(
        width=len(columns),
        time=roles.get("time"),
        uuid=roles.get("gpu_uuid"),
        pci=roles.get("pci_bus_id"),
        index=roles.get("nvml_index"),
        model=roles.get("model"),
        host=roles.get("host"),
        signals=tuple(found),
        reasons=tuple(reasons),
        metrics=tuple(metrics),
        facts=tuple(facts),
    )


def _in_header_unit(alias: FieldAlias, unit: str) -> FieldAlias | None:
    """`alias` for a column whose header states `unit`; None where that unit measures something else."""
    if not unit:
        return alias
    scale = unit_scale(unit, alias.unit)
    return None if scale is None else replace(alias, unit=unit, factor=alias.factor * scale)


FORMAT = Format(
    name="nvidia_smi_csv",
    title="nvidia-smi query CSV",
    sniff=sniff,
    parse=parse,
    writes=("samples", "gpus", "clocks", "gaps", "metrics", "inventory"),
)
