"""`sacct --json`, `squeue --json` and `scontrol show job|nodes --json`: one object per job or node.

States are a word or, since 23.11, a list of words; numbers are plain or `{"set": ..., "number": ...}`. Times are
seconds since 1970. Source: Slurm data_parser plugins v0.0.36 to v0.0.41 (src/plugins/data_parser).
"""

import re
from datetime import UTC, datetime
from typing import Any, cast

from crashlens.scan.member import Member
from crashlens.sources.format import Format
from crashlens.sources.json_objects import Document, Found, many, read_document, table
from crashlens.sources.record_rows import RecordRows
from crashlens.sources.writer import TableWriter

_GOOD_JOB = {"COMPLETED", "RUNNING", "PENDING", "COMPLETING", "CONFIGURING"}
_BAD_NODE = re.compile(r"DOWN|DRAIN|FAIL|NOT_RESPONDING|INVAL", re.IGNORECASE)
_LONGEST_NUMBER = 18  # digits


def sniff(head: bytes) -> float:
    """How surely `head` is such a document, 0 to 1."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith("{"):
        return 0.0
    states = '"job_state"' in text or ('"state"' in text and '"exit_code"' in text)
    jobs = '"jobs"' in text and '"job_id"' in text and states  # `meta`, which names Slurm, may stand at the end
    nodes = '"nodes"' in text and ('"slurmd_start_time"' in text or '"gres_used"' in text)
    return 0.95 if jobs or nodes else 0.0


def parse(member: Member, out: TableWriter) -> None:
    """Write one event per job and per step that did not simply end, and one per node that is not simply up."""
    rows = RecordRows(out)
    document = read_document(member, out)
    nodes = '"job_id"' not in document.text
    for found in document.objects("nodes" if nodes else "jobs", out):
        if nodes:
            _node(rows, document, found)
        elif "job_id" in found.item:
            _job(rows, document, found)
    rows.close()


def _job(rows: RecordRows, document: Document, found: Found) -> None:
    item = found.item
    job_id = str(_number(item.get("job_id")))
    current = table(item, "state")
    state = _words(current.get("current") if current else item.get("job_state"))
    time = table(item, "time")
    line, text = document.place(found, state.split(" ")[0] if state else "job_id")
    about = {
        "job_id": job_id,
        "state": state.split(" ")[0],
        "state_reason": str(current.get("reason") or item.get("state_reason") or ""),
        "nodes": str(item.get("nodes") or ""),
        "job_name": str(item.get("name") or ""),
        "partition": str(item.get("partition") or ""),
        "user": str(item.get("user") or item.get("user_name") or ""),
        **_exit(item),
    }
    host = about["nodes"] if re.fullmatch(r"[\w.-]{1,80}", about["nodes"]) else None
    rows.state("slurm.job_state", line, text, about, stamp=_stamp(time.get("end") or item.get("end_time")), host=host)
    behind = max(document.text.find('"steps"', found.start, found.end), found.start)
    for step in many(item, "steps"):
        behind = max(document.text.find('"state"', behind + 1, found.end), behind)
        if isinstance(step, dict):
            _step(rows, document, found, (job_id, cast("dict[str, Any]", step), behind))


def _step(rows: RecordRows, document: Document, found: Found, about_step: tuple[str, dict[str, Any], int]) -> None:
    job_id, step, behind = about_step
    state = _words(step.get("state")).split(" ")[0]
    if not state or state in _GOOD_JOB:
        return
    named = table(step, "step")
    step_id = str(table(named, "id").get("step_id") or named.get("id") or "").rsplit(".", 1)[-1]
    line, text = document.place(found, state, behind=behind)
    about = {"job_id": job_id, "job_step_id": step_id, "step": step_id, "state": state, **_exit(step)}
    rows.state("slurm.job_state", line, text, about, stamp=_stamp(table(step, "time").get("end")))


def _node(rows: RecordRows, document: Document, found: Found) -> None:
    item = found.item
    name = str(item.get("name") or "")
    state = "+".join(word for key in ("state", "state_flags") if (word := _words(item.get(key)).replace(" ", "+")))
    reason = str(item.get("reason") or "")
    line, _ = document.place(found, name)
    rows.fact(line, name, "gres", str(item.get("gres") or ""))
    if not reason and not _BAD_NODE.search(state):
        return
    line, text = document.place(found, reason or "state")
    about = {
        "host": name, "node": name, "node_state": state, "reason": reason,
        "who": str(item.get("reason_set_by_user") or ""),
    }  # fmt: skip
    rows.message(f"Reason={reason}", line, text, {"host": name, "node": name}, host=name)
    rows.state("slurm.node_state", line, text, about, stamp=_stamp(item.get("reason_changed_at")), host=name)


def _words(value: object) -> str:
    """A state as words: Slurm prints one word, or a list of them."""
    return " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value or "")


def _exit(item: dict[str, Any]) -> dict[str, str]:
    code = table(item, "exit_code")
    signal = table(code, "signal")
    number = _number(signal.get("id") if "id" in signal else signal.get("signal_id"))
    shown = _number(code.get("return_code")) if code else _number(item.get("exit_code"))
    return {"exit_code": "" if shown is None else str(shown), "signal": str(number) if number else ""}


def _number(value: object) -> int | None:
    """A number that is plain, or an object that says whether it is set."""
    if isinstance(value, dict):
        said = cast("dict[str, Any]", value)
        value = said.get("number") if said.get("set", True) else None
    if isinstance(value, int) and not isinstance(value, bool) and len(str(value)) <= _LONGEST_NUMBER:
        return value
    return None


def _stamp(value: object) -> str:
    seconds = _number(value)
    if not seconds or not 0 < seconds < 1 << 32:
        return ""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ} "


FORMAT = Format("slurm_json", "Slurm jobs or nodes (--json)", sniff, parse, ("events", "inventory", "clocks", "stamps"))
