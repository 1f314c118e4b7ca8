"""Plain-text logs: kernel logs, job logs, and text of no known kind. One reader; the envelopes of each line decide.

`kernel_log` is dmesg in its forms, syslog and journal text; `job_log` is what training processes and launchers print.
The difference is only a name in `sources`: every line is read the same way, because people paste both into one file.
"""

from collections.abc import Callable, Iterator
from typing import cast

import polars as pl

from crashlens.rules.model import Rule
from crashlens.scan.ahead import blocks_ahead
from crashlens.scan.envelope import peel, strip_unprinted
from crashlens.scan.member import Member
from crashlens.scan.normalise import normalised, wrapping_of
from crashlens.scan.records import Hit, LineCounts, RecordReader
from crashlens.sources.clock_rows import write_clocks
from crashlens.sources.event_rows import RowBuilder
from crashlens.sources.format import Format
from crashlens.sources.path_ranks import ranks_of_path
from crashlens.sources.writer import TableWriter

SNIFFED_LINES = 400
MOST_EVENTS_PER_RULE = 20_000  # a record that repeats more often is counted, not kept
ROWS_PER_FRAME = 20_000
_JOB_WORDS = (
    "NCCL", "Traceback (most recent", "torch", "CUDA", " loss", "step ", "iteration", "rank", "epoch", "Epoch", "srun",
    "INFO", "WARNING", "ERROR",
)  # fmt: skip


def sniff_kernel(head: bytes) -> float:
    """How surely `head` is a kernel log or a syslog, 0 to 1: the share of its lines with such an envelope."""
    lines = _lines(head)
    if not lines:
        return 0.0
    wrapping = wrapping_of(head)
    if wrapping is not None and wrapping.name == "reltime":
        return 0.9
    hits = sum(
        peeled.component == "kernel" or (peeled.host is not None and bool(peeled.stamps)) for peeled in map(peel, lines)
    )
    share = hits / len(lines)
    return 0.0 if share < 0.3 else min(0.9, 0.4 + share / 2)


def sniff_job(head: bytes) -> float:
    """How surely `head` is a job log, 0 to 1: the share of its lines with a word that such logs hold."""
    lines = _lines(head)
    if not lines:
        return 0.0
    share = sum(any(word in line for word in _JOB_WORDS) for line in lines) / len(lines)
    return 0.3 + 0.4 * share if share > 0 else 0.0


def sniff_text(head: bytes) -> float:
    """0.1 for anything with a line of text: rules are tried on it, and what is found says what it was."""
    return 0.1 if _lines(head) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per record, one step per step line, with clocks and GPUs as the lines name them."""
    reader = RecordReader(out.options.rule_set)
    named = ranks_of_path(member.path)
    builder = RowBuilder(out.source_id, out.options, path_rank=named.rank, path_local_rank=named.local_rank)
    kept: dict[str, int] = {}
    dropped: dict[str, int] = {}
    rows: dict[str, list[dict[str, object]]] = {"events": [], "steps": [], "metrics": [], "stamps": builder.stamps}
    head = member.head()
    blocks = normalised(blocks_ahead(member, None if wrapping_of(head) else reader.searches), head, out.notice)
    for hit in _counted(_measured(reader.read(blocks), builder, rows["metrics"]), kept, dropped):
        if isinstance(hit.rule, Rule):
            row = builder.event(hit)
            if not builder.joins(hit, row):
                rows["events"].append(row)
        elif (row := builder.step(hit)) is not None:
            rows["steps"].append(row)
        if max(map(len, rows.values())) >= ROWS_PER_FRAME:
            _flush(out, rows)
            builder.joined.clear()  # a row that was handed over takes no further records
    _flush(out, rows)
    for rule_id, number in dropped.items():
        out.notice(f"{number:,} more records of {rule_id} were counted and not kept.")
    if reader.counts.dropped:
        out.notice(f"{reader.counts.dropped:,} more records stand in lines that hold very many; they were not kept.")
    write_clocks(builder, out)
    write_counts(reader.counts, out)
    if not reader.counts.matched:
        out.notice("No rule matched a line of it.")


def write_counts(counts: LineCounts, out: TableWriter) -> None:
    """Say of a source what became of its lines, those among them that no rule knows."""
    out.matched = counts.matched
    out.error_like = counts.error_like
    out.error_lines = counts.error_lines
    out.harmless = counts.harmless
    out.error_templates = [
        {"template": one.text, "lines": one.lines, "first_line": one.first_line}
        for one in counts.templates.most_frequent()
    ]
    if counts.unjudged:
        out.notice(f"{counts.unjudged:,} more lines with an error word were counted and not looked at one by one.")
    if counts.templates.beyond:
        out.notice(
            f"{counts.templates.beyond:,} more lines with an error word say something else each; "
            f"they are counted and not listed."
        )


def _measured(hits: Iterator[Hit], builder: RowBuilder, metrics: list[dict[str, object]]) -> Iterator[Hit]:
    """Take what the records measure, those among them that are too many to be kept as events."""
    for hit in hits:
        metrics.extend(builder.metrics(hit))
        yield hit


def _counted(hits: Iterator[Hit], kept: dict[str, int], dropped: dict[str, int]) -> Iterator[Hit]:
    for hit in hits:
        if isinstance(hit.rule, Rule):
            if kept.get(hit.rule.id, 0) >= MOST_EVENTS_PER_RULE:
                dropped[hit.rule.id] = dropped.get(hit.rule.id, 0) + 1
                continue
            kept[hit.rule.id] = kept.get(hit.rule.id, 0) + 1
        yield hit


def _flush(out: TableWriter, rows: dict[str, list[dict[str, object]]]) -> None:
    """Hand the rows over as frames, so that memory does not grow with the rows of a long log."""
    for table, found in rows.items():
        if found:
            out.rows(table, _frame(found, out.schemas[table].polars()))
            found.clear()


def _frame(rows: list[dict[str, object]], schema: dict[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
    columns: dict[str, object] = {}
    for name, kind in schema.items():
        values = [row.get(name) for row in rows]
        columns[name] = _pairs(values) if name == "fields" else pl.Series(name, values, dtype=kind)
    return pl.DataFrame(columns, schema=schema)


def _pairs(values: list[object]) -> pl.Series:
    """The column `fields`. Row by row, polars would make a frame for each."""
    many = cast("list[list[dict[str, str]]]", values)
    flat = pl.DataFrame(
        {
            "n": [n for n, pairs in enumerate(many) for _ in pairs],
            "key": [pair["key"] for pairs in many for pair in pairs],
            "value": [pair["value"] for pairs in many for pair in pairs],
        },
        schema={"n": pl.UInt32, "key": pl.String, "value": pl.String},
    )
    lists = flat.group_by("n", maintain_order=True).agg(fields=pl.struct("key", "value"))
    empty = pl.DataFrame({"n": range(len(many))}, schema={"n": pl.UInt32})
    joined = empty.join(lists, on="n", how="left", maintain_order="left")["fields"]
    return joined.fill_null(pl.Series([[]], dtype=joined.dtype)) if joined.null_count() else joined


def _lines(head: bytes) -> list[str]:
    text = strip_unprinted(head).decode("utf-8", "replace")
    return [line for line in text.replace("\r", "\n").split("\n")[:SNIFFED_LINES] if line.strip("\x00 \t")]


def _sniff_wrapped(*names: str) -> Callable[[bytes], float]:
    def sniff(head: bytes) -> float:
        """How surely `head` is of one of these envelopes, 0 to 1: the share of its lines that have its shape."""
        wrapping = wrapping_of(head)
        return 0.95 if wrapping is not None and wrapping.name in names else 0.0

    return sniff


_TABLES = ("events", "steps", "metrics", "clocks", "gpus", "stamps")
DOCKER_LOG = Format("docker_log", "log of the docker json-file driver", _sniff_wrapped("docker_json"), parse, _TABLES)
CRI_LOG = Format("cri_log", "log of a container runtime (CRI)", _sniff_wrapped("cri"), parse, _TABLES)
JOURNAL_LOG = Format(
    "journal_log",
    "export of the systemd journal",
    _sniff_wrapped("journal_json", "journal_export", "journal_pretty", "journal_verbose"),
    parse,
    _TABLES,
)
JSON_LOG = Format("json_log", "log with one JSON object per line", _sniff_wrapped("json_lines"), parse, _TABLES)
KERNEL_LOG = Format(
    "kernel_log", "kernel log or syslog", sniff_kernel, parse, ("events", "metrics", "clocks", "gpus", "stamps")
)
JOB_LOG = Format("job_log", "job log", sniff_job, parse, ("events", "steps", "metrics", "clocks", "gpus", "stamps"))
TEXT_LOG = Format(
    "text", "text of no known kind", sniff_text, parse, ("events", "steps", "metrics", "clocks", "gpus", "stamps")
)
