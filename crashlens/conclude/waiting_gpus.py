"""Do the GPUs of a node look like ranks that wait for one of them? A lead from telemetry alone, never more."""

from crashlens.analysis.spinning import find_spinning
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.scene import Scene, used
from crashlens.conclude.wording import compose
from crashlens.findings import Finding

_USED = ("waiting_power_ratio", "busy_utilization_ratio", "idle_utilization_ratio", "same_job_memory_ratio")


def conclude_waiting_gpus(scene: Scene) -> list[Finding]:
    """One finding per source of telemetry whose GPUs show the pattern."""
    findings: list[Finding] = []
    for (_source,), samples in scene.tables.samples.group_by("source_id", maintain_order=True):
        found = find_spinning(
            samples,
            busy_ratio=threshold("busy_utilization_ratio").value,
            idle_ratio=threshold("idle_utilization_ratio").value,
            most_power_ratio=threshold("waiting_power_ratio").value,
            least_memory_ratio=threshold("same_job_memory_ratio").value,
        )
        if found is None:
            continue
        values: dict[str, object] = {
            "busy": scene.gpus_phrase(list(found.busy)),
            "idle": scene.gpus_phrase(list(found.idle)),
            "power": f"{found.busy_power_w:.0f}",
            "idle_power": f"{found.idle_power_w:.0f}",
            "polls": found.polls,
        }
        findings.append(
            compose(
                scene.lang,
                "gpus_wait",
                "communication.rank_missing_or_slow",
                "undecided",
                values,
                first_event=None,
                evidence=(),
                devices=scene.devices(list(found.idle)),
                thresholds=used(*_USED),
            )
        )
    return findings
