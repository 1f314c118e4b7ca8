"""How did a process end, and who ended it: a signal, an exit code, the kernel's own record of a kill?"""

import re
from dataclasses import replace
from signal import Signals

from crashlens.analysis.records import LogRecord, order_of, seconds_between
from crashlens.analysis.runs import hosts_fit
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.scene import Scene
from crashlens.conclude.told import Told, captures
from crashlens.conclude.wording import say

KERNEL_KILLS = ("kernel.oom_kill", "kernel.oom_victim")
_KILLS = (*KERNEL_KILLS, "ray.memory_kill")
_OF_THE_JOB = (
    "slurm.step_oom",
    "k8s.oom_killed",
    "container.oom_killed",
)  # say that the job or container was killed, not which process
_KILLED_CODES = {-9, 137}
_CRASH_CODES = {-11, 139, -7, 135, -4, 132, -8, 136}
_ABORT_CODES = {-6, 134}
_WRAPPER = "launcher.command_failed"  # Python's words for a child that ended
_SIGNALS = ("signal", "caught", "received", "stack_signal")
_KILLED = {"Killed", "SIGKILL"}
_CRASHED = {
    "Segmentation fault", "SIGSEGV", "Bus error", "SIGBUS", "Illegal instruction", "SIGILL", "Floating point exception",
    "SIGFPE",
}  # fmt: skip
_ABORTED = {"Aborted", "SIGABRT"}
_CRASH_WORDS = ("segmentation fault", "bus error", "illegal instruction", "floating point exception", "aborted")
_JOB = re.compile(r"(?:slurm[-_]|job[_-]?)(\d{2,12})")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f-_]{27})")


def tell_kill(scene: Scene, record: LogRecord) -> Told:
    """The kernel's record of a process that it killed for memory."""
    name = record.fields.get("process_name")
    pid = say(scene.lang, "words", "unknown") if record.pid is None else record.pid
    process = (
        say(scene.lang, "words", "process", pid=pid, name=name)
        if name
        else say(scene.lang, "words", "process_only", pid=pid)
    )
    values = captures(scene, record, process=process)
    # Kernels before 5.0 print no constraint; the sentence says which limit it was.
    limited = record.fields.get("constraint", "") == "CONSTRAINT_MEMCG" or "Memory cgroup out of memory" in record.text
    if limited:
        return Told("cgroup_oom", "host_memory.cgroup_oom", "supported", values)
    return Told("node_oom", "host_memory.node_oom", "supported", values)


def tell_end(scene: Scene, record: LogRecord) -> Told | None:
    """A process that got SIGKILL or ended in native code, by exit code or signal; None for ends that say nothing."""
    how = _how(scene, record)
    if how is None:
        return None
    kind, words = how
    values = captures(scene, record, how=words)
    if kind == "killed":
        kill = next((one for one in scene.records if one.rule_id in _KILLS and _is_of(scene, one, record)), None)
        if kill is not None:  # its record says who sent the signal
            return replace(tell_kill(scene, kill), role="downstream") if kill.rule_id in KERNEL_KILLS else None
        if any(one.rule_id in _OF_THE_JOB and one.source_id == record.source_id for one in scene.records):
            return None
        beside = _beside(scene, record)
        return Told("killed_unknown", "process.killed_sender_unknown", "supported", values, unknown=beside)
    if kind == "bus" and record.rule_id == "torch.dataloader_killed":
        return Told("shm_bus_error", "host_memory.shm_exhausted", "consistent", values)
    return Told("native_crash", "process.native_crash", "consistent", values)


def only_fallout(record: LogRecord) -> bool:
    """Whether an end only follows from an error told elsewhere: an abort, or a worker that is merely gone."""
    if record.rule_id in {"process.terminate_called", "ray.worker_died", "ray.node_lost", _WRAPPER}:
        return True
    if record.rule_id == "torch.dataloader_killed" and "gone" in record.fields:
        return True
    if record.rule_id == "python.fatal":
        return record.fields.get("what", "").lower().startswith("aborted")
    return _code(record) in _ABORT_CODES or _signal(record) in _ABORTED


def states_end(record: LogRecord) -> bool:
    """Whether a record states how a process ended."""
    ends = ("process.signal", "python.fatal", "process.terminate_called", "torch.dataloader_killed")
    return record.rule_id in {*ends, _WRAPPER} or record.topic.startswith("process.exit")


def _how(scene: Scene, record: LogRecord) -> tuple[str, str] | None:
    """Which end it was (killed, bus, crashed, aborted), and the words for it; None for ends that say nothing."""
    code, signal = _code(record), _signal(record)
    if record.rule_id == "python.fatal":
        what = record.fields.get("what", "").strip()
        words = say(scene.lang, "how", "signal", signal=what)
        return ("crashed", words) if what.lower().startswith(_CRASH_WORDS) else None
    if record.rule_id == "process.terminate_called":
        return "aborted", say(scene.lang, "how", "terminate", exception=record.fields.get("exception", "C++"))
    if signal is not None:
        words = say(scene.lang, "how", "signal", signal=signal)
        if signal in _KILLED:
            return "killed", words
        if signal in {"Bus error", "SIGBUS"}:
            return "bus", words
        if signal in _CRASHED:
            return "crashed", words
        return ("aborted", words) if signal in _ABORTED else None
    words = say(scene.lang, "how", "exit_code", exit_code=code)
    if code in _KILLED_CODES:
        return "killed", words
    if code in _CRASH_CODES:
        return "crashed", words
    return ("aborted", words) if code in _ABORT_CODES else None


def _code(record: LogRecord) -> int | None:
    stated = record.fields.get("worker_exit_code")
    return int(stated) if stated is not None else record.exit_code


def _signal(record: LogRecord) -> str | None:
    """The signal in words or by name; a launcher that states an exit code says the signal by it."""
    if record.rule_id in {"process.signal", "torch.dataloader_killed"}:
        return next((record.fields[name].strip() for name in _SIGNALS if name in record.fields), None)
    if not (record.topic.startswith("process.exit") or record.rule_id == _WRAPPER) or record.exit_code is not None:
        return None
    named = record.fields.get("signal") or record.fields.get("what", "")
    known = {str(one.value): one.name for one in Signals}
    return known.get(named, named) or None


def _is_of(scene: Scene, kill: LogRecord, end: LogRecord) -> bool:
    """Whether a kill names the process that ended, or the job or pod whose log states the end."""
    if not hosts_fit(kill.host, end.host) or order_of(end, kill, skew_us=scene.context.skew_us) == "before":
        return False
    if kill.pid is not None and kill.pid == end.pid:
        return True
    group = " ".join(kill.fields.get(name, "") for name in ("memcg", "task_memcg", "oom_memcg"))
    named = {*_JOB.findall(group), *_POD.findall(group)}
    return bool(named & _groups_of(scene, end))


def _groups_of(scene: Scene, end: LogRecord) -> set[str]:
    """Jobs and pods that the file of a record is of: its name, or what its records state."""
    found = {*_JOB.findall(end.place.source), *_POD.findall(end.place.source)}
    for record in scene.records:
        if record.source_id == end.source_id:
            stated = (record.job_id or "", record.fields.get("job_id", ""), record.fields.get("pod_uid", ""))
            found |= {name.partition(".")[0] for name in stated if name}
    return found


def _beside(scene: Scene, end: LogRecord) -> tuple[str, ...]:
    """That the kernel killed another process number about then: inside a container a process has another number."""
    near_s = threshold("kill_noticed_within_s").value
    for kill in scene.records:
        if kill.rule_id not in KERNEL_KILLS or not hosts_fit(kill.host, end.host):
            continue
        distance_s = seconds_between(kill.written, end.written)
        if distance_s is not None and not -1.0 <= distance_s <= near_s:
            continue
        pid = say(scene.lang, "words", "unknown") if kill.pid is None else kill.pid
        place = f"{kill.place.source}:{kill.place.line}"
        return (say(scene.lang, "counter", "another_number", pid=pid, place=place),)
    return ()
