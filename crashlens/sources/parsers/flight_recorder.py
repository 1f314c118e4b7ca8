"""Dumps of PyTorch's NCCL flight recorder: what each rank had asked for, and how far it came. JSON, or pickle.

A pickle is read by `plain_pickle`, which runs nothing. One file is one rank; the rank stands in the file name only.
Kept are the last entries of each process group and all that did not complete. `scheduled` does not say that a kernel
never ran: without timing enabled there is no start event. Times are when the host noticed, by the clock of that host.
Source: torch FlightRecorder.hpp, dump versions 1.x and 2.x.
"""

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import polars as pl

from crashlens.scan.masking import mask_secrets
from crashlens.scan.member import Member
from crashlens.schemas import CLOCKS
from crashlens.sources.format import Format
from crashlens.sources.parsers.flight_recorder_dump import Dump, Entry, Group, read_dump
from crashlens.sources.path_ranks import ranks_of_path
from crashlens.sources.plain_pickle import RefusedPickleError, read_plain_pickle
from crashlens.sources.writer import TableWriter
from crashlens.timebase import from_us

MOST_BYTES = 24 * 1024**2  # a ring of 2,000 entries has 2 MiB as JSON, with stacks as a pickle about 10
MOST_VALUES = 3_000_000  # in JSON; each takes up to a hundred bytes once it is loaded
LAST_ENTRIES = 16  # completed entries kept per process group: the last ones say how far a rank had come
MOST_OPEN = 200  # entries that did not complete, kept per process group
LONGEST_TEXT = 1500
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_JSON_ENTRIES = re.compile(r'"entries"\s{0,8}:\s{0,8}\[')
_SPACE = re.compile(r"[\s,]*")
_TRAILING = re.compile(r"(?<!\d)(\d{1,6})(?:\.(?:json|pkl|pickle|bin))?(?:\.(?:gz|zst|xz|bz2))?$")


def sniff(head: bytes) -> float:
    """How surely `head` is such a dump, 0 to 1."""
    if _PICKLE.match(head):
        named = (b"pg_config" in head and b"version" in head) or (b"profiling_name" in head and b"seq_id" in head)
        return 0.97 if named else 0.0
    if not head.lstrip().startswith(b"{"):
        return 0.0
    named = (b'"entries"' in head and b'"profiling_name"' in head) or (
        b'"pg_config"' in head and b'"pg_status"' in head
    )
    return 0.97 if named else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per dump, process group and kept entry; a dump that is refused is said and costs itself."""
    data = bytearray()
    for piece in member.unpacked():
        data += piece
        if len(data) > MOST_BYTES:
            break
    member.digest()
    member.lines = max(1, data.count(b"\n") + (0 if data.endswith(b"\n") else 1))
    if len(data) > MOST_BYTES:
        member.complete = False
        out.notice(f"The dump is larger than {MOST_BYTES // 1024**2} MiB and was not read.")
        return
    try:
        dump = _load(bytes(data))
    except (RefusedPickleError, ValueError, RecursionError) as error:
        member.complete = False
        out.notice(
            f"The flight recorder dump was not read: {str(error)[:200] or type(error).__name__}; nothing of it was run."
        )
        return
    _write(dump, _rank_of(member.path, dump), out)


def _load(data: bytes) -> Dump:
    if _PICKLE.match(data):
        return read_dump(read_plain_pickle(data), [])
    if sum(data.count(mark) for mark in b",[{") > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    text = data.decode("utf-8", "replace")
    return read_dump(json.loads(text), list(_slices(text)))


def _slices(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each entry of a JSON dump, in order."""
    begun = _JSON_ENTRIES.search(text)
    decoder = json.JSONDecoder()
    at = begun.end() if begun else len(text)
    line, counted = 1, 0
    while at < len(text):
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if not text.startswith("{", at):
            return
        _, end = decoder.raw_decode(text, at)
        line += text.count("\n", counted, at)
        counted = at
        yield line, text[at:end]
        at = end


def _rank_of(path: str, dump: Dump) -> int | None:
    """The rank in the name of the file, `nccl_trace_rank_3` or the digits at its end, where a group has such a rank."""
    found = _TRAILING.search(PurePosixPath(path).name)
    named = ranks_of_path(path).rank
    rank = int(found[1]) if named is None and found is not None else named
    known = {one for group in dump.groups for one in group.ranks or ()}
    return rank if not known or rank in known else None


def _write(dump: Dump, rank: int | None, out: TableWriter) -> None:
    if dump.notice:
        out.notice(dump.notice)
    if rank is None:
        out.notice("Its name does not say which rank wrote it.")
    rows = [
        _row(rank, "flight_recorder.dump", _dump_text(dump), {"version": dump.version, "entries": len(dump.entries)})
    ]
    rows += [_group_row(rank, group) for group in dump.groups]
    kept = _kept(dump.entries)
    rows += [_entry_row(rank, entry, out.source_id) for entry in kept]
    left = len(dump.entries) - len(kept)
    if left:
        out.notice(
            f"{left:,} entries that completed before the last ones of their process group were counted and not kept."
        )
    counts: dict[object, int] = {}
    for row in rows:
        row["n"] = counts[row["line"]] = counts.get(row["line"], -1) + 1
    schema = out.schemas["events"].polars()
    frame = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema, orient="row")
    out.rows("events", frame)
    dated = [entry for entry in kept if entry.created_us is not None]
    if dated:
        out.rows("clocks", CLOCKS.frame([_clock_row(dated, out.source_id)]))
    out.matched = len(rows)


def _kept(entries: list[Entry]) -> list[Entry]:
    """The last entries of each process group and those that did not complete, in their order."""
    by_group: dict[tuple[str, bool], list[Entry]] = {}
    for entry in entries:
        by_group.setdefault((entry.process_group, entry.is_p2p), []).append(entry)
    chosen: set[int] = set()
    for own in by_group.values():
        chosen |= {id(entry) for entry in own[-LAST_ENTRIES:]}
        chosen |= {id(entry) for entry in [one for one in own if one.state != "completed"][:MOST_OPEN]}
    return [entry for entry in entries if id(entry) in chosen]


def _row(rank: int | None, rule_id: str, text: str, values: dict[str, object]) -> dict[str, object]:
    return {
        "line": 1,
        "line_end": 1,
        "rule_id": rule_id,
        "topic": "communication.state",
        "time_marks": "moment",
        "rank": rank,
        "component": "c10d",
        "severity": "info",
        "repeats": 1,
        "fields": [{"key": key, "value": str(value)} for key, value in values.items() if value is not None],
        "text": mask_secrets(text[:LONGEST_TEXT]),
    }


def _dump_text(dump: Dump) -> str:
    return f"version {dump.version} pg_config {len(dump.groups)} entries {len(dump.entries)}"


def _group_row(rank: int | None, group: Group) -> dict[str, object]:
    ranks = None if group.ranks is None else ",".join(map(str, group.ranks))
    values: dict[str, object] = {
        "ranks": ranks, "last_enqueued": group.last_enqueued, "last_started": group.last_started,
        "last_completed": group.last_completed,
    }  # fmt: skip
    name, _, desc = group.process_group.rstrip(")").partition("(")
    said = [
        "pg_config name",
        name,
        *(["desc", desc] if desc else []),
        *(["ranks", ranks] if ranks else []),
        "pg_status",
    ]
    for key, value in (("last_enqueued", group.last_enqueued), ("last_completed", group.last_completed)):
        said += [] if value is None else [f"{key}_collective", str(value)]
    text = " ".join(said)  # in the words of the file, so that it can be found there
    return _row(rank, "flight_recorder.group", text, values) | {"process_group": group.process_group}


def _entry_row(rank: int | None, entry: Entry, source_id: int) -> dict[str, object]:
    values: dict[str, object] = {
        "op_type": entry.op, "state": entry.state, "retired": str(entry.retired).lower(), "record_id": entry.record_id,
        "op_id": entry.op_id, "is_p2p": str(entry.is_p2p).lower(), "input_sizes": entry.input_sizes,
        "output_sizes": entry.output_sizes, "input_dtypes": entry.input_dtypes, "duration_ms": entry.duration_ms,
        "frame": entry.frame, "time_started_ns": entry.started_ns, "time_completed_ns": entry.completed_ns,
    }  # fmt: skip
    words = f"profiling_name {entry.op} collective_seq_id {entry.seq} state {entry.state} process_group"
    text = entry.text or f"{words} {entry.process_group}"
    row = _row(rank, "flight_recorder.entry", text, values) | {
        "line": entry.line,
        "line_end": entry.line + text.count("\n"),
        "process_group": entry.process_group,
        "seq": entry.seq,
        "timeout_ms": entry.timeout_ms,
    }
    if entry.created_us is not None:
        row |= {
            "clock_id": f"s{source_id}:utc",
            "clock_us": entry.created_us,
            "time_utc": from_us(entry.created_us),
            "uncertainty_us": 1,
        }
    return row


def _clock_row(dated: list[Entry], source_id: int) -> dict[str, object]:
    lines = [entry.line for entry in dated]
    return {
        "clock_id": f"s{source_id}:utc",
        "source_id": source_id,
        "first_line": min(lines),
        "last_line": max(lines),
        "stamps": len(dated),
        "kind": "utc",
        "method": "offset in file",
        "uncertainty_us": 1,
    }


FORMAT = Format(
    name="flight_recorder",
    title="NCCL flight recorder dump",
    sniff=sniff,
    parse=parse,
    writes=("events", "clocks"),
    reads="bytes",
)
