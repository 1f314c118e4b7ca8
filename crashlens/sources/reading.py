"""Paths to tables: what is each file, which parser reads it, and what could not be read?

A bad line costs its row, a bad file costs itself; both are told in `sources`. Only a call that cannot be carried out
raises.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch

import polars as pl

from crashlens.catalog.signals import samples_schema
from crashlens.errors import NoSuchInputError
from crashlens.rules.model import RuleSet
from crashlens.scan.masking import mask_secrets
from crashlens.scan.member import Member
from crashlens.scan.walk import LeftOut, walk
from crashlens.schemas import BASE_SCHEMAS, Schema, Tables
from crashlens.sources.format import Format
from crashlens.sources.own_output import is_own_output, is_rule_file
from crashlens.sources.parsers import formats
from crashlens.sources.rotation import join_rotated
from crashlens.sources.writer import ReadOptions, TableWriter
from crashlens.timebase import find_zone

LEAST_CONFIDENCE = 0.05
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
MOST_CONTROL = 0.10  # share of control bytes, NUL apart, above which a file is no text


def table_schemas() -> dict[str, Schema]:
    """The schema of every table, the signals of `samples` among its columns."""
    return BASE_SCHEMAS | {"samples": samples_schema()}


def read_tables(
    paths: Sequence[str | os.PathLike[str]],
    *,
    tz: str | Mapping[str, str] | None = None,
    year: int | None = None,
    rules: RuleSet | None = None,
    progress: Callable[[str], None] = lambda _path: None,
) -> Tables:
    """Read files and folders into tables.

    Args:
        paths: Files and folders.
        tz: IANA zone of local times, or a mapping of source glob to zone.
        year: Year of the first year-less time.
        rules: The rules to read with; None for those that come with crashlens.
        progress: Called with the path of each file before it is read.

    Raises:
        NoSuchInputError: A path is not there.
        UnknownTimeZoneError: A zone is not known here.
        NoSuchInputError: A glob of `tz` fits no file.
    """
    zones = {"*": tz} if isinstance(tz, str) else dict(tz or {})
    for glob, zone in zones.items():
        find_zone(zone, f"tz[{glob!r}]" if not isinstance(tz, str) else "tz")
    unused = {glob for glob in zones if glob != "*"}
    rows: list[dict[str, object]] = []
    frames: dict[str, list[pl.DataFrame]] = {}
    for source_id, entry in enumerate(walk(paths)):
        progress(entry.path)
        unused -= {glob for glob in unused if _fits(entry.path, glob)}
        if isinstance(entry, LeftOut):
            rows.append(_left_out(source_id, entry))
            continue
        writer = TableWriter(source_id, ReadOptions(_zone_for(entry.path, zones), year, rules), table_schemas())
        rows.append(_read_member(entry, writer))
        for name, parts in writer.frames.items():
            frames.setdefault(name, []).extend(parts)
    if unused:
        raise _unused_zone(sorted(unused), zones, [str(row["path"]) for row in rows])
    schemas = table_schemas()
    tables = {name: pl.concat(frames[name]) if name in frames else schemas[name].empty() for name in Tables.names()}
    return Tables(**join_rotated(tables | {"sources": schemas["sources"].frame(rows)}))


def _read_member(member: Member, out: TableWriter) -> dict[str, object]:
    row: dict[str, object] = {"source_id": out.source_id, "path": mask_secrets(member.path), "bytes": member.size}
    try:
        kind = member.unreadable_kind()
        head = b"" if kind else member.head()
        chosen, confidence = (None, 0.0) if kind else _choose(head)
        state, why = _verdict(member, kind, head, chosen)
        if state == "read" and chosen is not None:
            _parse(chosen, member, out)
            nul = head.count(b"\x00")
            if member.leading_nul:
                out.notice(f"It starts with {member.leading_nul:,} NUL bytes: what stood there is lost.")
            if nul:
                out.notice(f"It holds NUL bytes ({nul:,} in its first 64 KiB): something was lost there.")
            state = "read" if member.complete else "partly_read"
        else:
            member.digest()
            out.notice(why)
    except OSError as error:
        state, chosen, confidence = "not_read", None, 0.0
        out.notice(f"It cannot be read ({error.strerror or error}).")
    local = state in {"read", "partly_read"} and "clocks" in out.frames
    return row | {
        "sha256": member.sha256,
        "lines": member.lines,
        "state": state,
        "format": chosen.name if chosen and state in {"read", "partly_read"} else None,
        "format_confidence": confidence if chosen else None,
        "zone": out.options.tz,
        "zone_from": ("given" if out.options.tz else _zone_from(out)) if local else None,
        "notices": [mask_secrets(text) for text in [*member.notices, *out.all_notices()]],
        "lines_matched": out.matched,
        "lines_error_like": out.error_like,
        "error_lines": out.error_lines,
        "error_templates": out.error_templates,
        "lines_harmless": out.harmless,
        "rules_digest": out.options.rule_set.digest,
    }


def _parse(chosen: Format, member: Member, out: TableWriter) -> None:
    try:
        chosen.parse(member, out)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - a parser, ours or another package's, must not cost the other files
        member.complete = False
        out.notice(f"The parser {chosen.name} failed on it ({type(error).__name__}: {error}); please report this.")
        if member.sha256 is None:
            member.digest()


def _verdict(member: Member, kind: str | None, head: bytes, chosen: Format | None) -> tuple[str, str]:
    if member.size == 0:
        return "not_read", "The file is empty."
    if member.leading_nul and not head:
        return "not_read", "It holds nothing but NUL bytes."
    if kind:
        return "not_read", f"It is {kind}, which is not read."
    if is_own_output(head):
        return "skipped", "It was written by crashlens: its own output is not evidence."
    if is_rule_file(head):
        return "skipped", "It is a rule file: its examples are not evidence."
    bytes_read = chosen is not None and chosen.reads == "bytes"
    if _PICKLE.match(head) and not bytes_read:
        return "not_read", "It is a Python pickle (never loaded), which is not read."
    if _is_binary(head) and not bytes_read:
        return "not_read", "It is no text and no known format."
    if chosen is None:
        return "not_read", " ".join(["No format was recognised.", *member.head_notices[:1]])
    return "read", ""


def _choose(head: bytes) -> tuple[Format | None, float]:
    scored = [(item.sniff(head), -number, item) for number, item in enumerate(formats())]
    best = max(scored, key=lambda entry: entry[:2], default=None)
    if best is None or best[0] < LEAST_CONFIDENCE:
        return None, 0.0
    return best[2], best[0]


def _is_binary(head: bytes) -> bool:
    """Whether a file is no text: too many control bytes or too much that is not UTF-8. NUL runs alone are a hole."""
    solid = head.replace(b"\x00", b"")
    if len(solid) < len(head) // 20:
        return bool(head)
    control = sum(solid.count(bytes([byte])) for byte in range(32) if byte not in b"\t\n\r\x0b\x0c\x08\x1b")
    decoded = solid.decode("utf-8", "replace")
    return control > MOST_CONTROL * len(solid) or decoded.count("\ufffd") > MOST_CONTROL * max(1, len(decoded))


def _zone_from(out: TableWriter) -> str:
    methods = {method for frame in out.frames["clocks"] for method in frame["method"].to_list()}
    return "offset in file" if "offset in file" in methods else "none"


def _zone_for(path: str, zones: Mapping[str, str]) -> str | None:
    return next((zone for glob, zone in zones.items() if _fits(path, glob)), None)


def _fits(path: str, glob: str) -> bool:
    return fnmatch(path, glob) or fnmatch(path, f"*/{glob}")


def _unused_zone(globs: list[str], zones: Mapping[str, str], paths: list[str]) -> NoSuchInputError:
    """A zone that fits no file is a typing error: its times would silently stay unplaced."""
    return NoSuchInputError(
        f"The time zone for {globs[0]!r} fits no file that was read; the case was not made.",
        facts=[("given by", f"tz {globs[0]}={zones[globs[0]]}"), ("files", ", ".join(paths[:3]) or "none")],
        way_out="Write a glob that fits one of the paths above, such as '*.log', or one zone for all.",
    )


def _left_out(source_id: int, entry: LeftOut) -> dict[str, object]:
    return {
        "source_id": source_id,
        "path": mask_secrets(entry.path),
        "state": entry.state,
        "notices": [f"It was left out: {entry.why}."],
    }
