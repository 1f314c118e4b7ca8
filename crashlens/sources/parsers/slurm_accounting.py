"""`sacct` output: one line per job and per job step, as a table of fixed width or with `|` between cells.

The columns are the user's choice, so a cell is found by the name above it. A table cuts what is too wide and marks it
with `+` (`OUT_OF_ME+`, `CANCELLED+`); `--parsable2` cuts nothing. Times are local to the cluster and carry no zone.
ExitCode is `code:signal`. Source: sacct manual page.
"""

import re

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

HEADER_WITHIN = 5  # lines of a pasted prompt that may stand before the header
_JOB = re.compile(r"(?P<job>\d{1,10}(?:_\d{1,7}|\+\d{1,3})?)(?:\.(?P<step>\w{1,20}))?")
_DASHES = re.compile(r"-{2,}(?: +-{2,})*\s*")
_BY = re.compile(r"CANCELLED by (\d{1,10})")
_FULL = {
    "OUT_OF_ME+": "OUT_OF_MEMORY", "CANCELLED+": "CANCELLED", "NODE_FA+": "NODE_FAIL", "PREEMPT+": "PREEMPTED",
    "COMPLET+": "COMPLETED", "BOOT_FA+": "BOOT_FAIL", "DEADLIN+": "DEADLINE", "TIMEOU+": "TIMEOUT",
}  # fmt: skip
_KEPT = {
    "JobName": "job_name", "Elapsed": "elapsed", "Timelimit": "time_limit", "MaxRSS": "max_rss",
    "ReqMem": "requested_memory", "Reason": "state_reason", "Partition": "partition", "NNodes": "nodes", "User": "user",
}  # fmt: skip


def sniff(head: bytes) -> float:
    """How surely `head` is such a table, 0 to 1."""
    lines = head.decode("utf-8", "replace").split("\n")
    at = next((n for n, line in enumerate(lines[:HEADER_WITHIN]) if _is_header(line)), None)
    if at is None:
        return 0.0
    rows = [line for line in lines[at + 1 :] if line.strip() and not _DASHES.fullmatch(line)]
    if not rows:
        return 0.5
    return 0.95 if sum(bool(_JOB.match(line.lstrip())) for line in rows) >= 0.8 * len(rows) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per line of the table; a line that does not fit its header is counted as unread."""
    rows = RecordRows(out)
    names: list[str] = []
    spans: list[tuple[int, int | None]] = []
    for line, text in text_lines(member):
        if _is_header(text):
            names = [name.split("%")[0] for name in (text.split("|") if "|" in text else text.split())]
            spans = []
        elif names and _DASHES.fullmatch(text):
            spans = [(found.start(), found.end()) for found in re.finditer("-+", text)]
        elif names and text.strip():
            _row(rows, out, line, text, dict(zip(names, _cells(text, spans), strict=False)))
    rows.close()


def _is_header(text: str) -> bool:
    words = set(re.split(r"[\s|]+", text.strip()))
    return bool(words & {"JobID", "JobIDRaw"}) and any(word.split("%")[0] == "State" for word in words)


def _cells(text: str, spans: list[tuple[int, int | None]]) -> list[str]:
    if "|" in text:
        return [cell.strip() for cell in text.split("|")]
    if not spans:
        return text.split()
    last = (spans[-1][0], None)  # the last column is not cut by the width above it
    return [text[first:end].strip() for first, end in [*spans[:-1], last]]


def _row(rows: RecordRows, out: TableWriter, line: int, text: str, cells: dict[str, str]) -> None:
    job = _JOB.fullmatch(cells.get("JobID") or cells.get("JobIDRaw", ""))
    state = cells.get("State", "")
    if job is None or not state:
        out.unread(line, "it names no job or no state")
        return
    by = _BY.fullmatch(state)
    word = state.split(" ")[0]
    code, _, signal = cells.get("ExitCode", "").partition(":")
    node = cells.get("NodeList", "")
    about = {
        "job_id": re.split(r"[_+]", job["job"])[0],
        "job_step_id": job["step"] or "",
        "step": job["step"] or "",
        "state": _FULL.get(word, word),
        "by_uid": by[1] if by else "",
        "exit_code": code,
        "signal": "" if signal in {"", "0"} else signal,
        "host": node if re.fullmatch(r"[\w.-]{1,80}", node) and node != "None" else "",
        "nodes": node,
        "ended": cells.get("End", ""),
    }
    about |= {name: cells[column] for column, name in _KEPT.items() if cells.get(column)}
    rows.state("slurm.job_state", line, text, about, stamp=_stamp(cells))


def _stamp(cells: dict[str, str]) -> str:
    end = cells.get("End", "")
    return f"[{end}]" if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", end) else ""


FORMAT = Format("slurm_accounting", "Slurm accounting (sacct)", sniff, parse, ("events", "clocks", "stamps"))
