"""Where did the time of a benchmark go: copies, launches, the GPU itself? Did it change with a version?

trtexec times the parts of a query by itself. Two versions are compared only where the options of the runs agree, and
one run of each decides nothing: clocks differ from run to run.
"""

import re
from dataclasses import dataclass, field
from itertools import permutations
from statistics import median

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.of_records import Reading, finding_of, of_rules
from crashlens.conclude.scene import Scene
from crashlens.findings import Finding

_COMPUTE = "GPU Compute Time"
_COPIES = ("H2D Latency", "D2H Latency")
# Options that say where files lie or how much is printed; all others change what is measured.
_MODEL = ("--onnx", "--uff", "--model", "--deploy")  # an engine alone does not say of which model it is
_ELSEWHERE = re.compile(r"--(?:saveEngine|loadEngine|timingCacheFile|exportTimes|exportProfile|verbose|dumpProfile)\b")


@dataclass
class _Run:
    """One run of trtexec: what it says of itself, and how long the parts of a query took."""

    version: str = ""
    options: frozenset[str] = frozenset()
    timings: dict[str, LogRecord] = field(default_factory=dict[str, LogRecord])

    def median_ms(self, part: str) -> float | None:
        """Median time of a part, or None where it is not printed."""
        return None if part not in self.timings else _number(self.timings[part].fields["median_ms"])


def conclude_benchmark(scene: Scene) -> list[Finding]:
    """Findings on runs of trtexec: copies, launches, versions."""
    records = sorted(scene.records, key=lambda record: (record.source_id, record.place.line, record.n))
    runs = _runs(records)
    found = [_copies(scene, runs, records), _launches(scene, runs, records), _versions(scene, runs)]
    return [finding for finding in found if finding is not None]


def _runs(records: list[LogRecord]) -> list[_Run]:
    """The runs in the order of file and line; a log that was cut may name its run only at its end."""
    runs: list[_Run] = []
    open_in: dict[int, _Run] = {}
    for record in of_rules(records, "trtexec.run", "trtexec.timing"):
        run = open_in.get(record.source_id)
        begins = record.fields.get("state") == "RUNNING"
        if run is None or begins or (record.fields.get("part") in run.timings):
            run = open_in[record.source_id] = _Run()
            runs.append(run)
        if record.rule_id == "trtexec.timing":
            run.timings[record.fields["part"]] = record
            continue
        words = record.fields["run_command"].split()[1:]
        run.version = record.fields["version"]
        run.options = frozenset(word for word in words if not _ELSEWHERE.match(word))
        if not begins:
            del open_in[record.source_id]
    return [run for run in runs if run.timings]


def _copies(scene: Scene, runs: list[_Run], records: list[LogRecord]) -> Finding | None:
    """Copies between host and device that take most of the time of a query."""
    least = threshold("copy_share_of_latency").value
    for run in runs:
        parts = [run.median_ms(part) for part in (*_COPIES, "Latency")]
        if None in parts:
            continue
        to_device, to_host, latency = (part or 0.0 for part in parts)
        if latency <= 0 or (to_device + to_host) / latency < least:
            continue
        values = {"share": f"{100 * min(1.0, (to_device + to_host) / latency):.0f}", "latency": f"{latency:.2f}"}
        reading = Reading(
            "copies_take_time", "runtime.host_device_copy", "supported", values, ("copy_share_of_latency",),
            first_named=False,
        )  # fmt: skip
        beside = [record for record in _bound(records, "transfers") if _same_source(record, run)]
        return finding_of(scene, reading, run.timings[_COPIES[0]], context=[*run.timings.values(), *beside])
    said = _bound(records, "transfers")
    if not said or any(set(_COPIES) <= run.timings.keys() for run in runs):
        return None
    return finding_of(scene, Reading("copies_said", "runtime.host_device_copy", "consistent"), said[0], context=said)


def _launches(scene: Scene, runs: list[_Run], records: list[LogRecord]) -> Finding | None:
    """A host that needs as long to enqueue a query as the GPU needs to compute it."""
    said = _bound(records, "Enqueue Time")
    if not said:
        return None
    timed = [run for run in runs if any(_same_source(record, run) for record in said)]
    parts = [run.timings[part] for run in timed for part in ("Enqueue Time", _COMPUTE) if part in run.timings]
    return finding_of(scene, Reading("launches_bound", "runtime.launch_bound", "consistent"), said[0], context=parts)


def _versions(scene: Scene, runs: list[_Run]) -> Finding | None:
    """Two versions with the same options whose times lie apart; one run of each is no more than a lead."""
    least = threshold("version_change_ratio").value
    groups: dict[tuple[frozenset[str], str], list[_Run]] = {}
    for run in runs:
        named = any(option.startswith(_MODEL) for option in run.options)
        if run.version and named and run.median_ms(_COMPUTE) is not None:
            groups.setdefault((run.options, run.version), []).append(run)
    for (one, fast), (other, slow) in permutations(sorted(groups, key=lambda key: (sorted(key[0]), key[1])), 2):
        before, after = groups[one, fast], groups[other, slow]
        if one != other or int(fast) >= int(slow) or _lowest(after) < least * _highest(before):
            continue
        several = min(len(before), len(after)) > 1
        values = {
            "before": _version(fast), "after": _version(slow),
            "before_ms": f"{median(_computes(before)):.2f}", "after_ms": f"{median(_computes(after)):.2f}",
            "before_runs": len(before), "after_runs": len(after),
        }  # fmt: skip
        reading = Reading(
            "slower_with_version", "runtime.version_regression", "consistent" if several else "undecided", values,
            ("version_change_ratio",), first_named=False,
        )  # fmt: skip
        lines = sorted((run.timings[_COMPUTE] for run in (*before, *after)), key=sort_key)
        return finding_of(scene, reading, lines[0], context=lines)
    return None


def _bound(records: list[LogRecord], what: str) -> list[LogRecord]:
    return [record for record in of_rules(records, "trtexec.bound") if what in record.fields["bound"]]


def _same_source(record: LogRecord, run: _Run) -> bool:
    return any(timing.source_id == record.source_id for timing in run.timings.values())


def _computes(runs: list[_Run]) -> list[float]:
    return [value for run in runs if (value := run.median_ms(_COMPUTE)) is not None]


def _lowest(runs: list[_Run]) -> float:
    return min(_computes(runs))


def _highest(runs: list[_Run]) -> float:
    return max(_computes(runs))


def _version(digits: str) -> str:
    """`8502` is 8.5.2, `100900` is 10.9.0: two digits each behind the major, one each in the older form."""
    parts = (
        (digits[:-4], digits[-4:-2], digits[-2:]) if len(digits) > len("8502") else (digits[0], digits[1], digits[2:])
    )
    return ".".join(str(int(part)) for part in parts)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # 1.2.3
        return None
