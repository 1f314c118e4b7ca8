"""Why was an allocation on the GPU refused: this process, others, pieces, a limit, or not to be told?"""

from crashlens.analysis.allocator import Allocation, read_allocation, size_text
from crashlens.analysis.records import LogRecord, order_of
from crashlens.analysis.runs import hosts_fit
from crashlens.catalog.cuda_errors import cuda_error
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.aftermath import Aftermath
from crashlens.conclude.scene import Scene
from crashlens.conclude.told import Told, captures
from crashlens.conclude.wording import say

_OUT_OF_MEMORY = "gpu_memory.out_of_memory"
_LEAST_OTHERS = 0.05  # share of others worth a word where the message tells the whole process apart
_USED = ("oom_other_process_share", "oom_fragmentation_share")


def tell_refusal(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told:
    """A refused allocation with the numbers of torch's allocator."""
    numbers = read_allocation(record.fields)
    values = captures(scene, record, numbers=_numbers(scene, record, numbers))
    values.setdefault("requested", say(scene.lang, "words", "unknown_size"))
    if numbers.unallocated is not None:
        values.setdefault("unallocated", size_text(numbers.unallocated))
    if aftermath.went_on(record):
        return Told("recovered", "none.benign", "benign", values)
    if numbers.larger_than_device:
        return Told("oom_larger_than_device", _OUT_OF_MEMORY, "supported", values)
    if numbers.at_allowed:
        return Told("oom_at_allowed", _OUT_OF_MEMORY, "consistent", values)
    if numbers.others_share is not None and numbers.others_share >= threshold("oom_other_process_share").value:
        return Told("oom_other_process", "gpu_memory.oom_other_process", "consistent", values, _USED)
    if numbers.enough_free:
        return Told("out_of_memory_unclear", _OUT_OF_MEMORY, "undecided", values)
    if (
        numbers.unallocated is not None
        and numbers.requested
        and numbers.unallocated >= threshold("oom_fragmentation_share").value * numbers.requested
    ):
        return Told("oom_fragmentation", "gpu_memory.oom_fragmentation", "consistent", values, _USED)
    return Told("out_of_memory", _OUT_OF_MEMORY, "supported", values)


def tell_framework_refusal(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told:
    """A refused buffer of XLA or TensorFlow: the size is known, who holds the device is not."""
    fields = record.fields
    requested = fields.get("requested") or fields.get("requested_only")
    if requested is None and "requested_bytes" in fields:
        requested = say(scene.lang, "units", "bytes", n=f"{int(fields['requested_bytes']):,}")
    if requested is None and "shape" in fields:
        requested = say(scene.lang, "memory", "shape", shape=fields["shape"])
    values = captures(scene, record, requested=requested or say(scene.lang, "words", "unknown_size"))
    if aftermath.went_on(record):
        return Told("recovered", "none.benign", "benign", values)
    if fields.get("allocator", "").lower().endswith("cpu"):
        return Told("allocation_refused", "host_memory.allocation_refused", "supported", values)
    return Told("framework_out_of_memory", _OUT_OF_MEMORY, "consistent", values)


def tell_refused_call(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told:
    """A CUDA call refused for lack of memory, without numbers."""
    near = [
        other
        for other in scene.records
        if other is not record
        and hosts_fit(other.host, record.host)
        and order_of(record, other, skew_us=scene.context.skew_us) != "before"
    ]
    for story, tells in (("uncorrectable_ecc_text", _tells_of_ecc), ("ecc_count_shown", _shows_ecc)):
        if any(map(tells, near)):
            values = captures(scene, record)
            return Told(story, "gpu_hardware.uncorrectable_ecc", "consistent", values, role="downstream")
    story = "cuda_out_of_memory_call" if aftermath.steps_before(record) else "refused_before_first_step"
    return Told(story, _OUT_OF_MEMORY, "undecided", captures(scene, record))


def _shows_ecc(record: LogRecord) -> bool:
    """Whether a table of nvidia-smi shows uncorrected memory errors of a GPU."""
    return record.rule_id == "nvidia_smi.uncorrected_ecc"


def _tells_of_ecc(record: LogRecord) -> bool:
    """Whether a program was told of an uncorrectable memory error of its GPU."""
    if record.topic != "gpu.cuda_error":
        return False
    said = record.fields.get("cuda_error") or record.fields.get("nccl_cuda_error") or ""
    found = cuda_error(text=said, name=record.fields.get("cuda_name", ""))
    return found is not None and found.kind == "ecc"


def _numbers(scene: Scene, record: LogRecord, numbers: Allocation) -> str:
    said = [
        say(scene.lang, "memory", name, size=record.fields[name])
        for name in ("total", "free", "allowed", "process_in_use", "allocated", "reserved", "cached", "unallocated")
        if name in record.fields
    ]
    share = numbers.others_share
    # What the process holds outside its allocator is only told apart from others where the message states the whole.
    least = _LEAST_OTHERS if "process_in_use" in record.fields else threshold("oom_other_process_share").value
    if share is not None and share >= least:
        said.append(say(scene.lang, "memory", "others", percent=f"{100 * share:.0f}"))
    return ", ".join(said) or say(scene.lang, "memory", "nothing")
