"""The fields of a flight recorder dump, whatever its version: process groups, their progress, entries.

Missing numbers are None in a pickle, 0 or text in JSON; keys that are not known are passed over. A value of another
type than expected counts as missing, since a dump comes from somebody else.
"""

import re
from dataclasses import dataclass
from typing import Any, cast

KNOWN_VERSIONS = ("1", "2")
LONGEST_WORD = 200
MOST_ENTRIES = 100_000
MOST_SIZES = 16  # dimensions and tensors that are told; more of them differ in the first ones or not at all
_STATES = {"scheduled", "started", "completed"}
_LATEST_US = 32_503_680_000_000_000  # the year 3000: a later time is a damaged number


@dataclass(frozen=True, slots=True)
class Group:
    """One process group as one rank saw it; ranks are global, None where the dump does not say."""

    process_group: str
    ranks: tuple[int, ...] | None
    last_enqueued: int | None
    last_started: int | None
    last_completed: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One collective, or point-to-point operation, that a rank asked for; `line` and `text` are those of the file."""

    process_group: str
    seq: int | None
    op: str
    state: str
    is_p2p: bool
    retired: bool
    record_id: int | None
    op_id: int | None
    input_sizes: str
    output_sizes: str
    input_dtypes: str
    timeout_ms: int | None
    duration_ms: float | None
    created_us: int | None
    started_ns: int | None
    completed_ns: int | None
    frame: str | None
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Dump:
    """One dump: version, groups, entries in the order of the ring, and what must be said about it."""

    version: str
    groups: list[Group]
    entries: list[Entry]
    notice: str


def read_dump(value: object, slices: list[tuple[int, str]]) -> Dump:
    """The dump that a pickle or JSON text held.

    Args:
        value: What was loaded.
        slices: Line and text of each entry, where the file has lines; else empty.

    Raises:
        ValueError: It is no flight recorder dump.
    """
    fields = {"version": "1", "entries": cast("object", value)} if isinstance(value, list) else _dict(value)
    if not {"entries", "pg_config", "pg_status"} & set(fields):
        raise ValueError("it holds neither entries nor process groups")
    version = _word(fields.get("version")) or "unknown"
    raw = [_dict(one) for one in _list(fields.get("entries"))[:MOST_ENTRIES]]
    entries = [_entry(one, *(slices[at] if at < len(slices) else (1, ""))) for at, one in enumerate(raw) if one]
    known = version.split(".")[0] in KNOWN_VERSIONS
    notice = "" if known else f"Its version {version} is not known here; it was read as version 2."
    return Dump(version, _groups(fields, raw), entries, notice)


def _groups(fields: dict[str, Any], raw: list[dict[Any, Any]]) -> list[Group]:
    config, status = _dict(fields.get("pg_config")), _dict(fields.get("pg_status"))
    names = {
        str(key): _group_name([_dict(row).get("name", key), _dict(row).get("desc")]) for key, row in config.items()
    }
    by_id = {
        str(one.get("pg_id")): _group_name(one.get("process_group")) for one in raw if one.get("pg_id") is not None
    }
    ranks = {names[str(key)]: _ranks(_dict(row).get("ranks")) for key, row in config.items()}
    progress = {by_id.get(str(key), names.get(str(key), str(key))): _dict(row) for key, row in status.items()}
    return [
        Group(
            name,
            ranks.get(name),
            _number(progress.get(name, {}).get("last_enqueued_collective")),
            _number(progress.get(name, {}).get("last_started_collective")),
            _number(progress.get(name, {}).get("last_completed_collective")),
        )
        for name in dict.fromkeys((*ranks, *progress))
    ]


def _entry(one: dict[Any, Any], line: int, text: str) -> Entry:
    is_p2p = one.get("is_p2p") is True
    seq = _number(one.get("p2p_seq_id" if is_p2p else "collective_seq_id", one.get("seq_id")))
    created_ns = _number(one.get("time_created_ns")) or None
    created_us = None if created_ns is None else created_ns // 1000
    state = _word(one.get("state"))
    return Entry(
        process_group=_group_name(one.get("process_group", one.get("pg_id"))),
        seq=seq,
        op=_word(one.get("profiling_name")) or "unknown",
        state=state if state in _STATES else "unknown",
        is_p2p=is_p2p,
        retired=one.get("retired") is True,
        record_id=_number(one.get("record_id")),
        op_id=_number(one.get("op_id")),
        input_sizes=_sizes(one.get("input_sizes")),
        output_sizes=_sizes(one.get("output_sizes")),
        input_dtypes=_sizes(one.get("input_dtypes")),
        timeout_ms=_number(one.get("timeout_ms")) or None,
        duration_ms=one["duration_ms"] if isinstance(one.get("duration_ms"), float) else None,
        created_us=created_us if created_us is not None and 0 < created_us < _LATEST_US else None,
        started_ns=_number(one.get("time_discovered_started_ns")) or None,
        completed_ns=_number(one.get("time_discovered_completed_ns")) or None,
        frame=_frame(one.get("frames")),
        line=line,
        text=text,
    )


def _group_name(value: object) -> str:
    """`0(default_pg)`, as c10d prints it: name, then description."""
    if isinstance(value, (list, tuple)):
        parts = [_word(item) for item in cast("list[Any]", value)[:2]]
        return f"{parts[0]}({parts[1]})" if len(parts) > 1 and parts[1] else (parts[0] if parts else "unknown")
    return _word(value) or "unknown"


def _ranks(value: object) -> tuple[int, ...] | None:
    """Ranks stand as text, "[0, 1, 2]"; an empty list means the dump does not say."""
    items = re.findall(r"\d{1,7}", value[:1_000_000]) if isinstance(value, str) else _list(value)
    found = tuple(number for item in items if (number := _number(item)) is not None)
    return found or None


def _sizes(value: object) -> str:
    shown = [
        f"[{', '.join(map(_word, _list(cast('object', row))[:MOST_SIZES]))}]" if isinstance(row, list) else _word(row)
        for row in _list(value)[:MOST_SIZES]
    ]
    return ", ".join(shown)


def _frame(value: object) -> str | None:
    frames = _list(value)
    first = _dict(frames[0]) if frames else {}
    if not first:
        return None
    return f"{_word(first.get('name'))} ({_word(first.get('filename'))}:{_word(first.get('line'))})"


def _word(value: object) -> str:
    """A short printable text; what is no scalar says nothing."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return ""
    return str(value)[:LONGEST_WORD].encode("utf-8", "backslashreplace").decode()


def _number(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63 else None


def _list(value: object) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else []


def _dict(value: object) -> dict[Any, Any]:
    return cast("dict[Any, Any]", value) if isinstance(value, dict) else {}
