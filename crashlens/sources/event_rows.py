"""Records to rows of `events` and `steps`: which column does each capture fill, and what time was it?

Of several stamps on a line the one that says most is used: with offset, then with a date, then without a year, then
since boot. Local times are placed in UTC only with a zone that the user gave; a missing year only with a given year.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC
from math import isfinite

from crashlens.rules.model import Rule
from crashlens.scan.envelope import Peeled, peel
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
MOST_REPEATS = 2**32 - 1  # what the column can hold
_OWN_COLUMNS = {*_LONG, *_SHORT, *_JOB, "attempt", "rank", "local_rank", "pid", "host", "process_group"}
_PCI = re.compile(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})")
_INTEGER = re.compile(r"-?\d{1,18}")
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
        path_rank: Global rank that the name of the file tells; a line that names one goes before it.
        path_local_rank: Rank within the node that its folder tells.
        joined: The last row of each rule and process whose further records are counted in it.
    """

    source_id: int
    options: ReadOptions
    clocks: dict[str, ClockUse] = field(default_factory=dict[str, ClockUse])
    gpus: dict[str, GpuSeen] = field(default_factory=dict[str, GpuSeen])
    stamps: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    path_rank: int | None = None
    path_local_rank: int | None = None
    joined: dict[tuple[object, ...], dict[str, object]] = field(
        default_factory=dict[tuple[object, ...], dict[str, object]], repr=False
    )

    def joins(self, hit: Hit, row: dict[str, object]) -> bool:
        """Whether `row` was counted in an earlier one of its rule and process, which then ends where it ends."""
        how = hit.rule.joins if isinstance(hit.rule, Rule) else None
        if how is None:
            return False
        key = (hit.rule.id, row["host"], row["pid"], *(hit.groups.get(name) for name in how.same))
        known = self.joined.get(key)
        if known is not None and hit.line - int(str(known["line_end"])) <= how.within_lines:
            repeats = int(str(known["repeats"])) + 1
            known |= {"line_end": hit.line_end} if how.keep == "first" else row
            known["repeats"] = repeats
            return True
        self.joined[key] = row
        return False

    def event(self, hit: Hit) -> dict[str, object]:
        """The row of `events` for a record of a line rule."""
        rule = hit.rule
        if not isinstance(rule, Rule):
            raise TypeError(hit.rule.id)
        groups = hit.groups
        row = self._common(hit.line, _stated(hit)) | {
            "n": hit.n,
            "line_end": hit.line_end,
            "rule_id": rule.id,
            "topic": rule.topic,
            "time_marks": rule.marks,
            "local_rank": self._local_rank(hit),
            "process_group": _process_group(groups),
            "job_id": hit.peeled.job_id,
            "job_step_id": hit.peeled.job_step_id,
            "gpu_key": self._gpu(groups, hit.peeled),
            "component": hit.peeled.component,
            "severity": rule.severity,
            "repeats": min(max(hit.peeled.repeats, 1), MOST_REPEATS),
            "fields": [
                {"key": key, "value": mask_secrets(value)} for key, value in groups.items() if key not in _OWN_COLUMNS
            ],
            "text": _shown(hit.text),
        }
        row |= {name: _integer(groups.get(name)) for name in _LONG}
        row |= {name: _short(groups.get(name)) for name in _SHORT}
        row |= {name: mask_secrets(groups[name]) for name in _JOB if groups.get(name)}
        if "attempt" in groups:
            row["attempt"] = _short(groups["attempt"])
        pid = _integer(groups.get("pid"))
        if pid is not None or "pid" in groups:
            row["pid"] = pid
        if "host" in groups:
            row["host"] = mask_secrets(groups["host"])
        rank = _short(groups.get("rank"))
        if rank is None and row["rank"] is None and _is_default_group(groups):
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
        rate = _number(hit.groups.get("steps_per_s"))
        if rate:
            values["step_time_s"] = 1 / rate
        if percent is not None:
            values["mfu_ratio"] = percent / 100
        if all(value is None for value in values.values()):
            return None
        return self._common(hit.line, hit.peeled) | {"step": _integer(hit.groups.get("step"))} | values

    def _local_rank(self, hit: Hit) -> int | None:
        if "local_rank" in hit.groups:
            return _short(hit.groups["local_rank"])
        return self.path_local_rank if hit.peeled.local_rank is None else hit.peeled.local_rank

    def _common(self, line: int, peeled: Peeled) -> dict[str, object]:
        rank = self.path_rank if peeled.rank is None else peeled.rank
        row: dict[str, object] = {"line": line, "host": peeled.host, "rank": rank, "pid": peeled.pid}
        best = min(peeled.stamps, key=_says_least, default=None)
        for stamp in peeled.stamps:
            placed = self._place(stamp, line, peeled.host)
            self.stamps.append({"line": line, "layer": stamp.layer} | {k: placed[k] for k in ("clock_id", "clock_us")})
            if stamp is best:
                row |= placed
                self.clocks[str(placed["clock_id"])].needed = True
        return row

    def _place(self, stamp: Stamp, line: int, host: str | None) -> dict[str, object]:
        clock_id = f"s{self.source_id}:{stamp.kind}" + (f":{mask_secrets(stamp.part)}" if stamp.part else "")
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


def _stated(hit: Hit) -> Peeled:
    """What the envelopes of a record say; where none carries a stamp, the time that the record itself states is one."""
    stated = hit.groups.get("stated_time")
    if stated is None or hit.peeled.stamps:
        return hit.peeled
    return replace(hit.peeled, stamps=peel(f"[{stated}]").stamps)


def _says_least(stamp: Stamp) -> tuple[bool, int]:
    """Sort key of the stamps of a line: the first one says most.

    `dmesg --reltime` prints the minute once; the differences that follow say more, and only they are on all its lines.
    """
    return stamp.layer == "reltime" and stamp.kind != "monotonic", _BEST.index(stamp.kind)


def normal_pci(text: str | None) -> str | None:
    """`dddd:bb:dd` in lower case: the domain without leading zeros beyond four digits, the function dropped."""
    found = _PCI.match(text or "")
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


def _process_group(groups: dict[str, str]) -> str | None:
    """The name of a process group as c10d prints it, `0(default_pg)`; releases before 2.4 print a number only."""
    named = groups.get("process_group") or groups.get("pg_id")
    return None if named is None else mask_secrets(named)


def _is_default_group(groups: dict[str, str]) -> bool:
    """Whether a rank within a group is the global rank: the group is the default one, or none is named."""
    name = groups.get("process_group")
    if name is not None and "(" in name:
        return name.endswith("(default_pg)")
    return groups.get("pg_id", "0") == "0"


def _shown(text: str) -> str:
    masked = mask_secrets(text.strip("\r\n\x00"))
    cut = len(masked) - LONGEST_TEXT
    return masked if cut <= 0 else f"{masked[:LONGEST_TEXT]} [+{cut:,} characters]"


def _integer(text: str | None) -> int | None:
    return int(text) if text and _INTEGER.fullmatch(text) else None


def _short(text: str | None) -> int | None:
    # What does not fit the 32 bits of its column is no rank, index or exit code.
    number = _integer(text)
    return number if number is not None and -(2**31) <= number < 2**31 else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text.replace(",", "")) if text else None
    except ValueError:  # digits that make no number, such as `6.1.20`
        return None
    return number if number is not None and isfinite(number) else None
