"""Did a running container lose its GPU devices, and does anything show what took them away?"""

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.conclude.of_records import Reading, finding_of, of_rules
from crashlens.conclude.scene import Scene
from crashlens.findings import Finding


def conclude_container(scene: Scene) -> list[Finding]:
    """Findings on device access and on the driver: what NVML, the device rules of the cgroup and TensorFlow say."""
    records = sorted(scene.records, key=sort_key)
    found = [
        _rules_rewritten(scene, records) or _access_lost(scene, records),
        _library_of_another_version(scene, records),
    ]
    return [finding for finding in found if finding is not None]


def _rules_rewritten(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """One listing of device rules grants NVIDIA devices, another one no longer does."""
    entries = of_rules(records, "container.device_rule")
    granted = {record.source_id for record in entries if _grants(record)}
    lost = [record for record in entries if record.source_id not in granted]
    if not granted or not lost:
        return None
    others = [record for record in entries if record is not lost[0]] + of_rules(records, "nvml.unknown_error")
    reading = Reading("device_rules_rewritten", "container.device_access_lost", "consistent")
    return finding_of(scene, reading, lost[0], context=others)


def _grants(record: LogRecord) -> bool:
    return "r" in record.fields["access"] and "w" in record.fields["access"]


def _access_lost(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """NVML's `Unknown Error`; a reload of systemd beside it fits, nothing beside it leaves the reason open."""
    lines = of_rules(records, "nvml.unknown_error")
    if not lines:
        return None
    reloads = of_rules(records, "container.systemd_reload")
    reading = Reading(
        "device_access_lost_after_reload" if reloads else "device_access_lost", "container.device_access_lost",
        "consistent" if reloads else "undecided",
    )  # fmt: skip
    return finding_of(scene, reading, lines[0], context=[*lines, *reloads])


def _library_of_another_version(scene: Scene, records: list[LogRecord]) -> Finding | None:
    """TensorFlow found a driver library of another version than the module, and NVML or CUDA did not say more.

    Error 804 names a compatibility library, which is of another version on purpose; it is a finding of its own.
    """
    pairs = of_rules(records, "tf.driver_pair")
    lines = [record for record in pairs if record.fields["module_version"] != record.fields["library_version"]]
    if not lines or of_rules(records, "cuda.compat_error", "nvml.mismatch"):
        return None
    reading = Reading("driver_pair", "runtime.driver_library_mismatch", "supported")
    return finding_of(scene, reading, lines[0], context=lines)
