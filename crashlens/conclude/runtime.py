"""Did an inference runtime get its GPU provider, and does all of the graph run there? Do driver and libraries fit?

How long a start takes is asked in session_start.py. One missing library makes a chain of lines: the load failure, the
provider that was not created, the session that goes on with the CPU. They are one finding. A list of providers says
something only where it says whose list it is.
"""

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.of_records import Reading, finding_of, of_rules
from crashlens.conclude.scene import Scene
from crashlens.findings import Finding

_CPU = "CPUExecutionProvider"
_GPU = ("CUDAExecutionProvider", "TensorrtExecutionProvider", "ROCMExecutionProvider", "DmlExecutionProvider")
_NOT_MADE = ("ort.provider_library_failed", "ort.provider_not_created", "ort.ep_error")
_DRIVER_LIBRARIES = ("libcuda.so", "libnvidia-ml.so")  # they come with the driver, not with CUDA


def conclude_runtime(scene: Scene) -> list[Finding]:
    """Findings on providers, packages, placement and the driver pair."""
    records = sorted(scene.records, key=sort_key)
    conflict = _package_conflict(scene, records)
    found = [
        conflict,
        _provider_failed(scene, records),
        None if conflict else _cpu_session(scene, records),
        _placement(scene, records),
        _driver_pair(scene, records),
        _arena_growth(scene, records),
    ]
    return [finding for finding in found if finding is not None]


def _package_conflict(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """Two packages of ONNX Runtime in one environment; with an absent GPU provider beside it that is what was met."""
    packages = of_rules(records, "python.onnxruntime_package")
    both = [
        record
        for record in packages
        if len({other.fields["package"] for other in packages if other.source_id == record.source_id}) > 1
    ]
    if not both:
        return None
    absent = [*of_rules(records, "ort.provider_unavailable"), *_lists_without_gpu(records)]
    names = sorted({f"{record.fields['package']} {record.fields['version']}" for record in both})
    reading = Reading(
        "package_conflict", "runtime.package_conflict", "supported" if absent else "consistent",
        {"packages": ", ".join(names)},
    )  # fmt: skip
    return finding_of(scene, reading, both[0], context=[*both, *absent])


def _provider_failed(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """A GPU provider that could not be made; the library that is missing is the strongest thing said."""
    lines = [record for record in _not_made(records) if not _lacks_driver(record)]
    if not lines:
        return None
    loads = of_rules(lines, "ort.provider_library_failed")
    named = [record for record in loads if record.fields.get("library")]
    first = (named or loads or lines)[0]
    library = first.fields.get("library") or first.fields.get("load_error")
    provider = first.fields.get("provider") or first.fields.get("dll_provider")
    story = "provider_library_missing" if library else "provider_not_created"
    reading = Reading(
        story, "runtime.cuda_library_mismatch", "supported" if named else "consistent",
        {"library": library or "", "provider": provider or "GPU"},
    )  # fmt: skip
    same = [record for record in lines if record.rule_id == first.rule_id]
    later = [*lines, *of_rules(records, "ort.falling_back"), *_cpu_lists(records)]
    return finding_of(scene, reading, first, context=same, downstream=later)


def _not_made(records: list[LogRecord]) -> list[LogRecord]:
    """Lines on a provider that was not made, those of a device that refused left out: no library is missing there."""
    lines = of_rules(records, *_NOT_MADE)
    refused = {record.source_id for record in lines if "failure" in record.fields}
    bare = [record for record in lines if record.rule_id == "ort.ep_error" and "what" not in record.fields]
    return [
        record
        for record in lines
        if "failure" not in record.fields and not (record in bare and record.source_id in refused)
    ]


def _lacks_driver(record: LogRecord) -> bool:
    return record.fields.get("library", "").startswith(_DRIVER_LIBRARIES)


def _cpu_session(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """A session without a GPU provider although one was asked for, and no line on a library that was missing."""
    if _not_made(records):
        return None
    unavailable = of_rules(records, "ort.provider_unavailable")
    fell = [record for record in of_rules(records, "ort.falling_back") if not _names_gpu(record)]
    refused = [record for record in of_rules(records, "ort.ep_error") if "failure" in record.fields] if fell else []
    asked = [*unavailable, *fell]
    sessions = [record for record in _cpu_lists(records) if "applied" in record.fields]
    if not asked and not sessions:
        return None
    verdict = "undecided" if not asked else "supported" if sessions else "consistent"
    story = "provider_unavailable" if unavailable else "provider_refused" if refused else "cpu_session"
    first = (unavailable or refused or asked or sessions)[0]
    beside = [*refused, *asked, *sessions]
    return finding_of(scene, Reading(story, "runtime.cpu_fallback", verdict), first, context=beside)


def _cpu_lists(records: list[LogRecord]) -> list[LogRecord]:
    return [record for record in _lists_without_gpu(records) if _CPU in record.fields["providers"]]


def _lists_without_gpu(records: list[LogRecord]) -> list[LogRecord]:
    return [record for record in of_rules(records, "ort.providers") if not _names_gpu(record)]


def _names_gpu(record: LogRecord) -> bool:
    return any(name in record.fields["providers"] for name in _GPU)


def _placement(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """Parts of a graph on the CPU: many copies are worth a profile, a few around shape operators are by design.

    Where the verbose log lists what runs on the CPU, an operator whose work grows with the data is no shape operator.
    """
    copies = of_rules(records, "ort.memcpy_nodes")
    placed = [record for record in of_rules(records, "ort.node_placement") if record.fields["provider"] == _CPU]
    placed = [record for record in placed if "all" not in record.fields]
    unassigned = of_rules(records, "ort.nodes_not_assigned")
    lines = sorted([*copies, *placed, *unassigned], key=sort_key)
    if not lines:
        return None
    heavy = next((record for record in placed if "heavy_op" in record.fields and _beside_gpu(records, record)), None)
    if heavy is not None:
        verdict = "supported" if any(record.source_id == heavy.source_id for record in copies) else "consistent"
        reading = Reading("placement_heavy", "runtime.partial_cpu_placement", verdict)
        return finding_of(scene, reading, heavy, context=lines)
    most = max(copies, key=lambda record: int(record.fields["memcpy_nodes"]), default=None)
    many = most is not None and int(most.fields["memcpy_nodes"]) >= threshold("memcpy_nodes_many").value
    if most is not None and many:
        reading = Reading(
            "placement_copies", "runtime.partial_cpu_placement", "undecided",
            {"nodes": sum(int(record.fields["nodes"]) for record in placed) or "?"}, ("memcpy_nodes_many",),
        )  # fmt: skip
        return finding_of(scene, reading, most, context=lines)
    if placed and len(of_rules(records, "ort.node_placement")) > len(placed):
        number = sum(int(record.fields["nodes"]) for record in placed)
        reading = Reading("placement_counted", "runtime.partial_cpu_placement", "undecided", {"nodes": number})
        return finding_of(scene, reading, placed[0], context=lines)
    thresholds = ("memcpy_nodes_many",) if copies else ()
    reading = Reading("placement_normal", "none.benign", "benign", thresholds=thresholds, first_named=False)
    return finding_of(scene, reading, lines[0], context=lines)


def _beside_gpu(records: list[LogRecord], placed: LogRecord) -> bool:
    """Whether the same log counts nodes on a GPU provider too."""
    return any(
        record.source_id == placed.source_id and record.fields["provider"] in _GPU
        for record in of_rules(records, "ort.node_placement")
    )


def _driver_pair(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """User-space driver and loaded module of different versions, with the package change that stands before it."""
    lines = [
        record
        for record in of_rules(records, "nvml.mismatch", "container.nvml_error", "cuda.compat_error")
        if record.rule_id == "nvml.mismatch" or record.fields.get("what", "") in _PAIR_WORDS
    ]
    if not lines:
        return None
    changes = of_rules(records, "packages.driver_changed", "nvml.module_version", "kernel.driver_loaded")
    first = lines[0]
    versions = [text for record in lines if (text := record.fields.get("library_version"))]
    unknown = {"library_version": versions[0]} if versions else {}
    reading = Reading("driver_pair", "runtime.driver_library_mismatch", "supported", unknown)
    return finding_of(scene, reading, first, context=[*lines, *changes])


_PAIR_WORDS = {
    "driver/library version mismatch",
    "system has unsupported display driver / cuda driver combination",
    "cudaErrorSystemDriverMismatch",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
}


def _arena_growth(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """An arena that grew by one and the same size many times: nothing of it was used again in between."""
    lines = of_rules(records, "ort.arena_extended")
    for source_id in dict.fromkeys(record.source_id for record in lines):
        own = [record for record in lines if record.source_id == source_id]
        steps = [size for record in own if (size := _bytes(record, "extended_bytes", "extended"))]
        totals = [size for record in own if (size := _bytes(record, "total_bytes", "total"))]
        least = threshold("arena_equal_steps").value
        if len(steps) < 2 or len(totals) < 2 or len(set(steps)) > 1 or totals[-1] < least * steps[-1]:
            continue
        values = {"step": f"{steps[-1] / 2**20:.0f}", "total": f"{totals[-1] / 2**30:.1f}"}
        reading = Reading("arena_growth", "gpu_memory.arena_growth", "consistent", values, ("arena_equal_steps",))
        return finding_of(scene, reading, own[0], context=own)
    return None


def _bytes(record: LogRecord, *names: str) -> int:
    return next((int(record.fields[name]) for name in names if name in record.fields), 0)
