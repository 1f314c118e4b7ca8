"""What the envelopes of one line said, and the form in which a normaliser hands that on.

A normaliser (docker json, journal export, ...) writes each line as `RS fields RS message`. RS and US are control
characters that no log prints; a line that holds them nevertheless claims no more than any other prefix could.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from crashlens.scan.stamps import Stamp, epoch_stamp, uptime_stamp, wall_stamp

RS, US = "\x1e", "\x1f"
_WHEN = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ,](?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)? ?(?P<offset>[Zz]|[+-]\d\d:?\d\d)?"
)
_RANK_TAG = re.compile(r"rank(\d{1,6})")
_NUMBER = re.compile(r"\d{1,10}")
_EPOCH_US = re.compile(r"\d{1,19}")
_RANK = re.compile(r"\d{1,6}")
_HOST = re.compile(r"[\w.:-]{1,100}")


@dataclass(slots=True)
class Peeled:
    """What the envelopes of one line said.

    Attributes:
        message: What is left when they are taken off.
        stamps: Stamps from outside in.
        host: Machine named by the innermost envelope that names one.
        rank: Global rank.
        local_rank: Rank within the node.
        pid: Process id.
        component: kernel | nccl | c10d | process.
        severity: What the logger called it, or None.
        part: Which of the outputs that share this file it is: container, task, stream; or None.
        job_id: Scheduler job.
        job_step_id: Scheduler job step.
        repeats: How often the writer says that it stood there.
    """

    message: str
    stamps: list[Stamp] = field(default_factory=list[Stamp])
    host: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    component: str = "process"
    severity: str | None = None
    part: str | None = None
    job_id: str | None = None
    job_step_id: str | None = None
    repeats: int = 1

    def add_part(self, name: str) -> None:
        """Name one more level of the output that this line belongs to."""
        self.part = name if self.part is None else f"{self.part} {name}"


def write_fields(fields: Mapping[str, str]) -> str:
    """The envelope of a normalised line; `fields` as `read_fields` knows them."""
    return RS + US.join(f"{key}={value}" for key, value in fields.items()) + RS


def read_fields(text: str, peeled: Peeled) -> None:
    """Take over what stands between the two RS of a normalised line.

    `layer` names the envelope of the stamps before it is used; `when` is ISO 8601, `epoch_us` microseconds since 1970,
    `uptime` seconds since `boot`; `host`, `pid`, `rank`, `level`, `part`, `tag` speak for themselves.
    """
    said: dict[str, str] = {}
    for piece in text.split(US):
        key, _, value = piece.partition("=")
        said[key] = value
    layer = said.get("layer", "json")
    found = _WHEN.fullmatch(said.get("when", ""))
    stamps = (
        wall_stamp(layer, found) if found else None,
        epoch_stamp(layer, int(said["epoch_us"])) if _EPOCH_US.fullmatch(said.get("epoch_us", "")) else None,
        _uptime(layer, said),
    )
    peeled.stamps += [stamp for stamp in stamps if stamp is not None]
    if _HOST.fullmatch(said.get("host", "")):
        peeled.host = said["host"]
    for name, shape in (("pid", _NUMBER), ("rank", _RANK), ("local_rank", _RANK)):
        if shape.fullmatch(said.get(name, "")):
            setattr(peeled, name, int(said[name]))
    peeled.severity = said.get("level") or peeled.severity
    if said.get("part"):
        peeled.add_part(said["part"])
    take_tag(peeled, said.get("tag", ""))


def take_tag(peeled: Peeled, tag: str) -> None:
    """What the tag of a syslog line or the identifier of a journal record says."""
    if tag == "kernel":
        peeled.component = "kernel"
    rank = _RANK_TAG.fullmatch(tag)
    if rank:
        peeled.rank = int(rank[1])


def _uptime(layer: str, said: Mapping[str, str]) -> Stamp | None:
    seconds, _, fraction = said.get("uptime", "").partition(".")
    if not _NUMBER.fullmatch(seconds):
        return None
    return uptime_stamp(layer, seconds, fraction if fraction.isdecimal() else "", said.get("boot", "")[:40])
