"""What did the program itself report: a GPU exception, an exception of its own, a loss that is no number?"""

import polars as pl

from crashlens.analysis.records import LogRecord
from crashlens.catalog.cuda_errors import cuda_error
from crashlens.conclude.aftermath import Aftermath
from crashlens.conclude.gpu_memory import tell_refused_call
from crashlens.conclude.scene import Scene
from crashlens.conclude.told import Told, captures
from crashlens.conclude.wording import say

_UNKNOWN = "unknown.insufficient_evidence"
# Exceptions that only pass on what happened in another process, or that somebody asked for.
_WRAPPERS = {
    "DistBackendError", "ChildFailedError", "SystemExit", "KeyboardInterrupt", "EngineDeadError", "RayActorError",
    "ActorDiedError", "ActorUnavailableError", "RayTaskError", "WorkerCrashedError", "TrainingFailedError",
    "ProcessRaisedException", "ProcessExitedException", "CalledProcessError", "SignalException", "BrokenProcessPool",
    "ExceptionGroup", "BaseExceptionGroup", "GeneratorExit", "CancelledError", "TaskGroupError",
}  # fmt: skip
# Exceptions that say that the other end of a connection went away: told only where nothing else is.
_ECHOES = {
    "BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "ConnectionAbortedError", "EOFError",
    "DistNetworkError", "DistStoreError", "IncompleteReadError",
}  # fmt: skip
# Ways of a program to branch; what is raised while they are handled is the error.
_CONTROL_FLOW = {"Empty", "Full", "StopIteration", "StopAsyncIteration"}
_NO_MEMORY = ("ALLOC_FAILED", "MEMORY_ALLOCATION_ERR", "MEMORY_ALLOCATION_ERROR", "NO_MEMORY_ERR", "NO_MEMORY_ERROR")


def tell_cuda_error(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told | None:
    """The answer of a CUDA call."""
    if aftermath.went_on(record):
        return None
    fields = record.fields
    said = (fields.get("cuda_error") or fields.get("nccl_cuda_error") or "").strip()
    name = fields.get("cuda_name", "")
    code = fields.get("cuda_code")
    found = cuda_error(text=said, name=name, code=int(code) if code else None)
    values = captures(scene, record, what=said or name or say(scene.lang, "how", "cuda_code", code=code))
    match found.kind if found else "other":
        case "memory":
            return tell_refused_call(scene, aftermath, record)
        case "ecc":
            return Told("uncorrectable_ecc_text", "gpu_hardware.uncorrectable_ecc", "consistent", values)
        case "nvlink":
            return Told("nvlink_text", "fabric.nvlink_error", "consistent", values)
        case "exception":
            return Told("gpu_exception_text", "application.gpu_exception", "consistent", values)
        case _:
            return Told("cuda_error_other", _UNKNOWN, "undecided", values)


def tell_assertion(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told | None:
    """A condition that code on the GPU checked and that did not hold."""
    if aftermath.went_on(record):
        return None
    what = say(scene.lang, "how", "assertion", assertion=record.fields.get("assertion", ""))
    return Told("gpu_exception_text", "application.gpu_exception", "consistent", captures(scene, record, what=what))


def tell_library(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told | None:
    """The status of a CUDA library: without memory it is mostly a full device, otherwise it decides nothing."""
    if aftermath.went_on(record):
        return None
    status = record.fields.get("status", "")
    values = captures(scene, record, what=status)
    if status.endswith(_NO_MEMORY):
        return Told("library_alloc_failed", "gpu_memory.out_of_memory", "undecided", values)
    return Told("cuda_error_other", _UNKNOWN, "undecided", values)


def tell_exception(scene: Scene, aftermath: Aftermath, record: LogRecord) -> Told | None:
    """An exception that ended the program; None where it was survived, cut off, or passes on another one."""
    name = record.fields.get("exception")
    if not name or record.fields.get("record_ended") == "no" or exception_is(name, _WRAPPERS | _CONTROL_FLOW):
        return None
    if aftermath.went_on(record):
        return None
    of_rank = "" if record.rank is None else say(scene.lang, "words", "on_rank", rank=record.rank)
    values = captures(scene, record, exception=name, of_rank=of_rank)
    ended = aftermath.ended(record)
    cause = "application.unhandled_exception"
    if exception_is(name, _ECHOES):
        return Told("exception_open", cause, "undecided", values)
    if ended is None and aftermath.far_from_the_end(record):
        return Told("exception_open", cause, "undecided", values, ("exception_before_end_lines",))
    if record.rule_id == "python.exception_line":
        if ended is None:
            return Told("exception_open", cause, "undecided", values)
        return Told("unhandled_exception", cause, "consistent", values)
    return Told("unhandled_exception", cause, "consistent" if ended is None else "supported", values)


def is_echo(record: LogRecord) -> bool:
    """Whether an exception says only that the other end of a connection went away."""
    return exception_is(record.fields.get("exception", ""), _ECHOES)


def exception_is(name: str, names: set[str]) -> bool:
    """Whether the last part of a dotted exception name is one of `names`."""
    return name.rsplit(".", 1)[-1] in names


def tell_not_a_number(scene: Scene, record: LogRecord) -> Told:
    """A loss or gradient that is no finite number; one that is finite again later was a skipped step."""
    values = captures(scene, record)
    if _finite_later(scene, record):
        return Told("nan_passed", "none.benign", "benign", values)
    fields = record.fields
    if "loss_value" not in fields and ("infinite_loss" in fields or "grad_value" in fields):
        return Told("nan_gradient", "application.numerical_divergence", "consistent", values)
    return Told("nan_loss", "application.numerical_divergence", "supported", values)


def _finite_later(scene: Scene, record: LogRecord) -> bool:
    """Whether a step behind every such record of the file has a finite loss."""
    last = max(
        other.place.line
        for other in scene.records
        if other.source_id == record.source_id and other.rule_id == record.rule_id
    )
    steps = scene.tables.steps
    later = steps.filter(
        (pl.col("source_id") == record.source_id) & (pl.col("line") > last) & pl.col("loss").is_not_null()
    )
    return later.height > 0
