"""Records to rows of `events` and `steps`: which column does each capture fill, and what time was it?

Of several stamps on a line the one that says most is used: with offset, then with a date, then without a year, then
since boot. Local times are placed in UTC only with a zone that the user gave; a missing year only with a given year.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC
from math import isfinite

from crashlens.rules.model import Rule
from crashlens.scan.envelope import Peeled
from crashlens.scan.masking import mask_secrets
from crashlens.scan.records import Hit
from crashlens.scan.stamps import NO_YEAR, Stamp, StampKind
from crashlens.sources.writer import ReadOptions
from crashlens.timebase import find_zone, from_us, local_to_utc_us, to_us

LONGEST_TEXT = 4000  # characters of a record that are kept; what was cut is said
_BEST: tuple[StampKind, ...] = ("utc", "local", "local_no_year", "monotonic")
_WHOLE_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONG = ("seq", "timeout_ms", "ran_ms")
_SHORT = ("xid", "exit_code")
_JOB = ("job_id", "job_step_id")
_OWN_COLUMNS = {*_LONG, *_SHORT, *_JOB, "rank", "local_rank", "pid", "host", "process_group"}
_STEP_VALUES = ("step_time_s", "tokens_per_s", "samples_per_s", "mfu_ratio", "loss")


@dataclass
class ClockUse:
    """How one clock of a source was used: lines, resolution, hosts, and whether a record has no better stamp."""

    kind: StampKind
    first_line: int
    last_line: int
    stamps: int = 0
    uncertainty_us: int = 0
    hosts: set[str | None] = field(default_factory=set[str | None])
    last_us: int | None = None
    needed: bool = False


@dataclass
class GpuSeen:
    """A GPU that records of one source name by its PCI address, or by its UUID alone."""

    gpu_key: str
    pci_bus_id: str | None
    gpu_uuid: str | None = None
    host: str | None = None
    cuda_ordinal: int | None = None
    nvml_index: int | None = None


@dataclass
class RowBuilder:
    """Turns the records of one source into rows and remembers its clocks and GPUs.

    Attributes:
        source_id: Number of the source.
        options: Zone and year given for it.
        clocks: Use of each clock, by clock id.
        gpus: GPUs named, by key.
        stamps: Rows of the `stamps` table.
    """

    source_id: int
    options: ReadOptions
    clocks: dict[str, ClockUse] = field(default_factory=dict[str, ClockUse])
    gpus: dict[str, GpuSeen] = field(default_factory=dict[str, GpuSeen])
    stamps: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    def event(self, hit: Hit) -> dict[str, object]:
        """The row of `events` for a record of a line rule."""
        rule = hit.rule
        if not isinstance(rule, Rule):
            raise TypeError(hit.rule.id)
        groups = hit.groups
        row = self._common(hit.line, hit.peeled) | {
            "n": hit.n,
            "line_end": hit.line_end,
            "rule_id": rule.id,
            "topic": rule.topic,
            "time_marks": rule.marks,
            "local_rank": _short(groups["local_rank"]) if "local_rank" in groups else hit.peeled.local_rank,
            "process_group": mask_secrets(groups["process_group"]) if "process_group" in groups else None,
            "gpu_key": self._gpu(groups, hit.peeled),
            "component": hit.peeled.component,
            "severity": rule.severity,
            "repeats": 1,
            "fields": [
                {"key": key, "value": mask_secrets(value)} for key, value in groups.items() if key not in _OWN_COLUMNS
            ],
            "text": _shown(hit.text),
        }
        row |= {name: _integer(groups.get(name)) for name in _LONG}
        row |= {name: _short(groups.get(name)) for name in _SHORT}
        row |= {name: groups.get(name) for name in _JOB}
        row["host"] = groups.get("host", row["host"])  # the machine that the record is about, not the one that wrote it
        pid = _integer(groups.get("pid"))
        if pid is not None or "pid" in groups:
            row["pid"] = pid
        rank = _short(groups.get("rank"))
        if (
            rank is None
            and row["rank"] is None
            and groups.get("process_group", "0(default_pg)").endswith("(default_pg)")
            and groups.get("pg_id", "0") == "0"
        ):
            rank = _short(groups.get("group_rank"))
        if rank is not None:
            row["rank"] = rank
        return row

    def metrics(self, hit: Hit) -> list[dict[str, object]]:
        """The rows of `metrics` for a record whose captures are measurements; what is no number is left out."""
        if not isinstance(hit.rule, Rule) or not hit.rule.metrics:
            return []
        common = self._common(hit.line, hit.peeled)
        labels = [{"key": key, "value": hit.groups[key]} for key in ("engine", "rank") if key in hit.groups]
        return [
            common | {"name": metric.name, "labels": labels, "value": value * metric.factor, "unit": metric.unit}
            for capture, metric in hit.rule.metrics.items()
            if (value := _number(hit.groups.get(capture))) is not None
        ]

    def step(self, hit: Hit) -> dict[str, object] | None:
        """The row of `steps` for a step line, or None where it holds no measurement."""
        values = {name: _number(hit.groups.get(name)) for name in _STEP_VALUES}
        milliseconds, percent = _number(hit.groups.get("step_time_ms")), _number(hit.groups.get("mfu_percent"))
        if milliseconds is not None:
            values["step_time_s"] = milliseconds / 1000
        if percent is not None:
            values["mfu_ratio"] = percent / 100
        if all(value is None for value in values.values()):
            return None
        return self._common(hit.line, hit.peeled) | {"step": _integer(hit.groups["step"])} | values

    def _common(self, line: int, peeled: Peeled) -> dict[str, object]:
        row: dict[str, object] = {"line": line, "host": peeled.host, "rank": peeled.rank, "pid": peeled.pid}
        best = min(peeled.stamps, key=lambda stamp: _BEST.index(stamp.kind), default=None)
        for stamp in peeled.stamps:
            placed = self._place(stamp, line, peeled.host)
            self.stamps.append({"line": line, "layer": stamp.layer} | {k: placed[k] for k in ("clock_id", "clock_us")})
            if stamp is best:
                row |= placed
                self.clocks[str(placed["clock_id"])].needed = True
        return row

    def _place(self, stamp: Stamp, line: int, host: str | None) -> dict[str, object]:
        clock_id = f"s{self.source_id}:{stamp.kind}"
        use = self.clocks.setdefault(clock_id, ClockUse(stamp.kind, line, line))
        clock_us, dated = stamp.clock_us, True
        if stamp.kind == "local_no_year":
            moment = _nearest_year(clock_us, use.last_us, self.options.year or NO_YEAR)
            clock_us, dated = (clock_us, False) if moment is None else (moment, True)
        if dated:
            use.last_us = clock_us
        use.first_line, use.last_line = min(use.first_line, line), max(use.last_line, line)
        use.stamps += 1
        use.hosts.add(host)
        utc_us, uncertainty_us = self._to_utc(stamp.kind, clock_us) if dated else (None, 0)
        uncertainty_us += stamp.resolution_us
        use.uncertainty_us = max(use.uncertainty_us, uncertainty_us)
        return {
            "clock_id": clock_id,
            "clock_us": clock_us,
            "time_utc": None if utc_us is None else from_us(utc_us),
            "uncertainty_us": uncertainty_us,
        }

    def _to_utc(self, kind: StampKind, clock_us: int) -> tuple[int | None, int]:
        if kind == "utc":
            return clock_us, 0
        zone = self.options.tz
        if zone is None or kind == "monotonic" or (kind == "local_no_year" and self.options.year is None):
            return None, 0
        return local_to_utc_us(clock_us, find_zone(zone, "tz"))

    def _gpu(self, groups: dict[str, str], peeled: Peeled) -> str | None:
        pci_bus_id = normal_pci(groups.get("pci_bus_id")) or _nccl_pci(groups.get("nccl_bus_id"))
        named = pci_bus_id or (_WHOLE_UUID.fullmatch(groups.get("gpu_uuid", "")) and groups["gpu_uuid"])
        if not named:
            return None
        gpu_key = f"s{self.source_id}:{(peeled.host or '') + '/' if peeled.host else ''}{named}"
        seen = self.gpus.setdefault(gpu_key, GpuSeen(gpu_key, pci_bus_id, host=peeled.host))
        seen.gpu_uuid = groups.get("gpu_uuid") or seen.gpu_uuid
        seen.cuda_ordinal = _short(groups.get("cuda_ordinal")) if "nccl_bus_id" in groups else seen.cuda_ordinal
        seen.nvml_index = _short(groups.get("nvml_index")) if "nvml_index" in groups else seen.nvml_index
        return gpu_key


def normal_pci(text: str | None) -> str | None:
    """`dddd:bb:dd` in lower case: the domain without leading zeros beyond four digits, the function dropped."""
    found = re.match(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})", text or "")
    if not found:
        return None
    domain, bus, device = (int(part, 16) for part in found.groups())
    return f"{domain:04x}:{bus:02x}:{device:02x}"


def _nccl_pci(text: str | None) -> str | None:
    # NCCL prints the address as one hexadecimal number: domain << 20 | bus << 12 | device << 4 | function.
    if not text:
        return None
    number = int(text, 16)
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}"


def _nearest_year(clock_us: int, last_us: int | None, first_year: int) -> int | None:
    """A year-less time in the year that puts it closest to the stamp before it: December is followed by January.

    None for 29 February where no such year has one: the year given is not that of the log.
    """
    stamp = from_us(clock_us)
    years = [first_year] if last_us is None else [from_us(last_us).year + step for step in (-1, 0, 1)]
    moments: list[int] = []
    for year in years:
        try:
            moments.append(to_us(stamp.replace(year=year, tzinfo=UTC)))
        except ValueError:
            continue  # 29 February in a year that has none
    if last_us is None:
        return moments[0] if moments else None
    return min(moments, key=lambda moment: abs(moment - last_us), default=None)


def _shown(text: str) -> str:
    masked = mask_secrets(text.strip("\r\n\x00"))
    cut = len(masked) - LONGEST_TEXT
    return masked if cut <= 0 else f"{masked[:LONGEST_TEXT]} [+{cut:,} characters]"


def _integer(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?\d{1,18}", text) else None


def _short(text: str | None) -> int | None:
    # What does not fit the 32 bits of its column is no rank, index or exit code.
    number = _integer(text)
    return number if number is not None and -(2**31) <= number < 2**31 else None


def _number(text: str | None) -> float | None:
    number = float(text.replace(",", "")) if text else None
    return number if number is not None and isfinite(number) else None
