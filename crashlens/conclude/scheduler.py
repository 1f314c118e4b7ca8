"""What Slurm and Kubernetes say of host memory and of GPUs taken away: one finding per job, its teardown beside it.

The kernel's own record of a kill names the process and the cgroup; where it stands for the same job, it is the finding
and these lines say nothing more.
"""

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.catalog.xid_causes import cause_of
from crashlens.conclude.of_records import Reading, finding_of, of_rules
from crashlens.conclude.scene import Scene
from crashlens.conclude.wording import listed
from crashlens.findings import Finding

_HARDWARE = ("gpu_hardware.", "fabric.")
_OOM_STATES = {"OUT_OF_MEMORY", "OUT_OF_ME+"}
_LIMITS = {"k8s": "container_memory_limit", "container": "runtime_memory_limit"}  # by who says it
_TEARDOWN = (
    "slurm.step_aborted", "slurm.cancelled", "slurm.task_exit", "k8s.container_exit", "container.exited",
    "k8s.restarting",
)  # fmt: skip


def conclude_scheduler(scene: Scene) -> list[Finding]:
    """Findings on GPUs that a device plugin took away, and on memory limits, one per job."""
    records = sorted(scene.records, key=sort_key)
    limits = [record for record in records if _at_limit(record)]
    jobs = [own for own in _by_job(limits) if not _kernel_says_it(scene, own)]
    limited = [_memory_limit(scene, records, own) for own in jobs]
    return [*_plugin_xids(scene, records), *limited, *_requeued_for_a_node(scene, records)]


def _requeued_for_a_node(scene: Scene, records: list[LogRecord]) -> list[Finding]:
    """Jobs that were put back since their node was given up: the requeue follows, and the node is what to ask about."""
    lost = of_rules(records, "slurm.node_failed")
    jobs = {job for r in lost if (job := r.fields.get("requeued_job") or r.job_id) is not None}
    back = [record for record in of_rules(records, "slurm.requeued") if record.job_id in jobs]
    if not back:
        return []
    reading = Reading("requeued_after_node", "unknown.insufficient_evidence", "undecided")
    return [finding_of(scene, reading, lost[0], context=lost, downstream=back)]


def _plugin_xids(scene: Scene, records: list[LogRecord]) -> list[Finding]:
    """GPUs that a device plugin took away, where the kernel's own line for that Xid is not in the input.

    Its line names no process, so that a number of a program's own faults decides nothing here.
    """
    known = {record.xid for record in records if record.topic == "gpu.xid"}
    lines = [r for r in of_rules(records, "k8s.xid_unhealthy") if r.xid is not None and r.xid not in known]
    rows = {r.xid: cause_of(r.xid, "kernel.xid", {}) for r in lines}
    causes = {xid: row.cause for xid, row in rows.items() if row is not None and row.cause.startswith(_HARDWARE)}
    found: list[Finding] = []
    for cause in dict.fromkeys(causes.values()):
        own = [record for record in lines if causes.get(record.xid) == cause]
        reading = Reading("plugin_xid_hardware", cause, "consistent", {"xid": own[0].xid})
        found.append(finding_of(scene, reading, own[0], context=own))
    rest = [record for record in lines if record.xid not in causes]
    if rest:
        numbers = listed(scene.lang, [str(xid) for xid in sorted({r.xid for r in rest if r.xid is not None})])
        reading = Reading("plugin_xid", "unknown.insufficient_evidence", "undecided", {"xids": numbers})
        beside = [*rest[1:], *of_rules(records, "k8s.device_unhealthy")]
        found.append(finding_of(scene, reading, rest[0], context=beside))
    return found


def _at_limit(record: LogRecord) -> bool:
    if record.rule_id == "slurm.task_exit":
        return record.fields.get("what") == "Out Of Memory"
    if record.rule_id == "slurm.job_state":
        return bool({record.fields.get("state"), record.fields.get("shown_state")} & _OOM_STATES)
    if record.rule_id == "k8s.oom_event":
        return record.fields.get("full") == "Memory cgroup"
    return record.rule_id in {"slurm.step_oom", "k8s.oom_killed", "container.oom_killed"}


def _by_job(records: list[LogRecord]) -> list[list[LogRecord]]:
    """Records of one job; those that name none belong to the job of their source, where it names only one."""
    of_source: dict[int, set[str]] = {}
    for record in records:
        if record.job_id is not None:
            of_source.setdefault(record.source_id, set()).add(record.job_id)
    jobs: dict[str, list[LogRecord]] = {}
    for record in records:
        known = of_source.get(record.source_id, set())
        job = record.job_id or (next(iter(known)) if len(known) == 1 else f"source {record.source_id}")
        jobs.setdefault(job, []).append(record)
    return list(jobs.values())


def _kernel_says_it(scene: Scene, own: list[LogRecord]) -> bool:
    """Whether the kernel recorded a kill at a cgroup limit for this job, or for a process that these records name."""
    kills = [r for r in scene.records if r.rule_id == "kernel.oom_kill" and "MEMCG" in r.fields.get("constraint", "")]
    jobs = {f"job_{record.job_id}/" for record in own if record.job_id is not None}
    pids = {record.pid for record in own if record.pid is not None}
    return any(
        any(job in f"{kill.fields.get('memcg', '')}/" for job in jobs) or (kill.pid is not None and kill.pid in pids)
        for kill in kills
    )


def _memory_limit(scene: Scene, records: list[LogRecord], own: list[LogRecord]) -> Finding:
    direct = [record for record in own if record.rule_id != "slurm.task_exit"]
    first = (direct or own)[0]
    # `at some point`: page cache counts to the limit too, so that alone it is no kill.
    killed = [record for record in direct if "touched" not in record.fields]
    sure = bool(killed) or (bool(direct) and len(direct) < len(own))
    reading = Reading(
        _LIMITS.get(first.rule_id.split(".")[0], "step_memory_limit"), "host_memory.cgroup_oom",
        "supported" if sure else "consistent",
    )  # fmt: skip
    sources = {record.source_id for record in own}
    later = [r for r in of_rules(records, *_TEARDOWN) if r.source_id in sources and r not in own]
    return finding_of(scene, reading, first, context=direct, downstream=[*own, *later])
