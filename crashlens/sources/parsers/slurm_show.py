"""`scontrol show job` and `scontrol show node`: blocks of `Key=Value` words, one block per job or node.

A value ends at the next ` Key=`; `Reason=` runs to the end of its line, since it holds what a person wrote. Times are
local to the cluster and carry no zone. Source: scontrol manual page.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.record_rows import RecordRows, text_lines
from crashlens.sources.writer import TableWriter

_START = re.compile(r"(?P<kind>JobId|NodeName)=(?P<name>[\w.-]{1,80})(?: |$)")
_WORD = re.compile(r"(?:^|\s)([A-Za-z][\w:/]{1,40})=")
_BAD = re.compile(r"DOWN|DRAIN|FAIL|NOT_RESPONDING|\*")
_FACTS = {
    "Gres": "gres", "RealMemory": "memory_mib", "OS": "os", "Version": "slurm_version", "BootTime": "boot_time",
    "CPUTot": "cpus", "CfgTRES": "configured", "AllocTRES": "allocated",
}  # fmt: skip


@dataclass
class _Block:
    """One job or node: its words, and the line of each."""

    kind: str
    name: str
    words: dict[str, str] = field(default_factory=dict[str, str])
    lines: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])


def sniff(head: bytes) -> float:
    """How surely `head` is such text, 0 to 1."""
    lines = [line for line in head.decode("utf-8", "replace").split("\n") if line.strip()]
    starts = [line for line in lines if _START.match(line)]
    if not starts or not any(_START.match(line) for line in lines[:2]):
        return 0.0
    words = sum(bool(_WORD.search(line)) for line in lines)
    return 0.95 if words >= 0.8 * len(lines) else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per job, one per node that is not simply up, and what nodes say about themselves."""
    rows = RecordRows(out)
    for block in _blocks(member):
        if block.kind == "JobId":
            _job(rows, block)
        else:
            _node(rows, block)
    rows.close()


def _blocks(member: Member) -> Iterator[_Block]:
    block: _Block | None = None
    for line, text in text_lines(member):
        if start := _START.match(text):
            if block is not None:
                yield block
            block = _Block(start["kind"], start["name"])
        if block is not None:
            for key, value in _pairs(text):
                block.words.setdefault(key, value)
                block.lines.setdefault(key, (line, text))
    if block is not None:
        yield block


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    found = list(_WORD.finditer(text))
    for number, word in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) and word[1] != "Reason" else len(text)
        yield word[1], text[word.end() : end].strip()
        if word[1] == "Reason":
            reason = text[word.end() :]
            if "=" not in reason:
                return


def _job(rows: RecordRows, block: _Block) -> None:
    words = block.words
    line, text = block.lines.get("JobState", block.lines["JobId"])
    code, _, signal = words.get("ExitCode", "").partition(":")
    node = words.get("BatchHost", "")
    about = {
        "job_id": block.name,
        "state": words.get("JobState", ""),
        "state_reason": words.get("Reason", "").split(" ")[0],
        "exit_code": code,
        "signal": "" if signal in {"", "0"} else signal,
        "host": node,
        "nodes": words.get("NodeList", ""),
        "elapsed": words.get("RunTime", ""),
        "time_limit": words.get("TimeLimit", ""),
        "requeue": words.get("Requeue", ""),
    }
    rows.state("slurm.job_state", line, text, about, stamp=_stamp(words.get("EndTime", "")))


def _node(rows: RecordRows, block: _Block) -> None:
    host = block.name
    for key, component in _FACTS.items():
        if key in block.words:
            rows.fact(block.lines[key][0], host, component, block.words[key])
    state, reason = block.words.get("State", ""), block.words.get("Reason", "")
    if reason or _BAD.search(state):
        line, text = block.lines["Reason" if reason else "State"]
        said = re.match(r"(?P<why>.{1,200}?)(?: \[(?P<who>[^\]@]{1,60})@(?P<when>[\dT:-]{10,25})\])?$", reason)
        about = {
            "host": host,
            "node": host,
            "node_state": state,
            "reason": said["why"] if said else reason,
            "who": (said["who"] or "") if said else "",
        }
        rows.message(f"Reason={reason}", line, text, {"host": host, "node": host}, host=host)
        rows.state("slurm.node_state", line, text, about, stamp=_stamp((said["when"] or "") if said else ""))


def _stamp(text: str) -> str:
    return f"[{text}]" if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text) else ""


FORMAT = Format(
    "slurm_show", "Slurm jobs or nodes (scontrol show)", sniff, parse, ("events", "inventory", "clocks", "stamps")
)
