"""What only says that something ended: is there a finding that tells why, or is this all there is?

A scheduler that cancels without a reason, a node that stopped answering and a server that found its engine gone are
endings. Where another finding stands, they follow from it or say nothing more; where none stands, they are what to ask
about.
"""

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.conclude.aftermath import Aftermath
from crashlens.conclude.of_records import Reading, finding_of
from crashlens.conclude.scene import Scene
from crashlens.conclude.teardown import follows_a_cancel
from crashlens.findings import Finding

_UNKNOWN = "unknown.insufficient_evidence"
_NCCL = frozenset({"torch.dist_backend_error", "torch.nccl_result", "nccl.net_plugin_error", "nccl.unwind"})
_WARNING_LINES = 4  # lines of other ranks may stand between a warning and the code that it returns
_IN_PROGRESS = "7"  # the code of a call that is not done yet
# Stories in the order in which they are asked about: what is nearer to the fault comes first.
_STORIES: tuple[tuple[str, frozenset[str]], ...] = (
    ("worker_ended", frozenset({"vllm.worker_died", "tgi.shard_failed", "triton.stub_died", "trtllm.worker_died"})),
    (
        "worker_silent",
        frozenset({"vllm.rpc_timeout", "sglang.watchdog_timeout", "sglang.health_failed", "trtllm.hang"}),
    ),
    ("step_did_not_end", frozenset({"slurm.stepd_terminated"})),
    ("scheduler_lost_node", frozenset({"slurm.node_failed", "k8s.node_not_ready"})),
    ("batch_failed", frozenset({"trtllm.forward_failed"})),
    ("server_not_started", frozenset({"triton.start_failed"})),
    ("server_ended", frozenset({"vllm.engine_fatal", "vllm.engine_dead", "sglang.scheduler_exception"})),
    ("task_failed", frozenset({"slurm.task_exit"})),
    ("server_stopped", frozenset({"triton.stopped"})),
    ("server_stop_late", frozenset({"triton.exit_timeout"})),
    ("node_did_not_boot", frozenset()),
    ("job_failed", frozenset()),
    ("nccl_failed", _NCCL),
    ("cancelled", frozenset({"slurm.cancelled", "slurm.job_killed_by"})),
    ("restarting", frozenset({"k8s.restarting", "k8s.probe_failed"})),
)
_SAID = {"time limit", "preemption", "job requeue"}  # reasons that rows of record_causes.toml read


def conclude_endings(scene: Scene, told: list[Finding]) -> list[Finding]:
    """The ending nearest to the fault, where no other finding tells of a fault.

    Args:
        scene: The scene.
        told: Every other finding.
    """
    if any(finding.verdict != "benign" for finding in told):
        return []
    aftermath = Aftermath(scene)
    endings = [
        (record, story)
        for record in sorted(scene.records, key=sort_key)
        if (story := _story(record)) and not (story == "nccl_failed" and aftermath.went_on(record))
    ]
    for story, _ in _STORIES:
        own = [record for record, its in endings if its == story and not follows_a_cancel(scene, record)]
        if own:
            others = [record for record, _ in endings if record not in own]
            first = _warned(scene, own[0])
            reading = Reading(story, _UNKNOWN, "undecided", _values([first, *own]))
            return [finding_of(scene, reading, first, context=own, downstream=others)]
    return []


def _story(record: LogRecord) -> str | None:
    why = record.fields.get("why", "").lower()
    if record.rule_id == "slurm.cancelled" and why in _SAID:
        return None
    if record.rule_id == "slurm.cancelled" and why.startswith("node failure"):
        return "scheduler_lost_node"
    if record.fields.get("nccl_code") == _IN_PROGRESS:
        return None
    if record.rule_id == "slurm.job_state":
        state = record.fields.get("state") or record.fields.get("shown_state", "")
        if state.startswith("NODE_FA"):
            return "scheduler_lost_node"
        if _is_step(record):
            return None
        if state == "BOOT_FAIL":
            return "node_did_not_boot"
        return "cancelled" if state.startswith("CANCELLED") else "job_failed" if state == "FAILED" else None
    return next((story for story, rules in _STORIES if record.rule_id in rules), None)


def _is_step(record: LogRecord) -> bool:
    """Whether this is the state of one step and not of a whole job."""
    return "step" in record.fields or record.text.strip().startswith(f"{record.job_id}.")


def _warned(scene: Scene, record: LogRecord) -> LogRecord:
    """The warning that NCCL printed right in front of an error code on its way up, or the record itself."""
    if record.rule_id != "nccl.unwind":
        return record
    before = [
        other
        for other in scene.records
        if other.rule_id == "nccl.warn"
        and (other.source_id, other.host, other.pid) == (record.source_id, record.host, record.pid)
        and 0 < record.place.line - other.place.line <= _WARNING_LINES
    ]
    return max(before, key=lambda other: other.place.line, default=record)


def _values(own: list[LogRecord]) -> dict[str, object]:
    """How NCCL words its failure: the first words, or the number that its calls returned."""
    if not {record.rule_id for record in own} & _NCCL:
        return {}
    names = ("what", "test_what", "call_what", "net_error", "nccl_result")
    said = (record.fields.get(name) for record in own for name in names)
    code = next((record.fields["nccl_code"] for record in own if "nccl_code" in record.fields), "")
    return {"how": next((words for words in said if words), f"-> {code}")}
