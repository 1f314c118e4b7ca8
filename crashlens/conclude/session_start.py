"""Does every start of a program pay for the creation of its session: graph optimization, engines, search of algorithms?

One slow start says nothing of the next: engines are kept. So at least two starts must be there, and each of them slow.
A start that had to build anew since an engine did not fit is another question.
"""

from collections.abc import Iterator

from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.of_records import Reading, finding_of, of_rules
from crashlens.conclude.scene import Scene
from crashlens.conclude.wording import span
from crashlens.findings import Finding

_BEGINS = "Initializing session"
_REBUILT = ("tensorrt.version_mismatch", "tensorrt.device_mismatch", "tensorrt.load_failed", "ort.trt_cache")


def conclude_session_start(scene: Scene) -> list[Finding]:
    """A finding where each of several starts took long to create its session."""
    records = sorted(scene.records, key=sort_key)
    if of_rules(records, *_REBUILT):
        return []
    states = of_rules(records, "ort.session_state")
    starts: dict[tuple[int, int | None], list[LogRecord]] = {}
    for record in states:
        starts.setdefault((record.source_id, record.pid), []).append(record)
    took = [(own, max(lengths)) for own in starts.values() if (lengths := list(_creations_s(own)))]
    least = threshold("session_start_slow_s").value
    if len(took) < 2 or any(seconds < least for _, seconds in took):
        return []
    lengths = [seconds for _, seconds in took]
    values: dict[str, object] = {
        "starts": len(took),
        "shortest": span(scene.lang, min(lengths)),
        "longest": span(scene.lang, max(lengths)),
    }
    reading = Reading(
        "session_start_slow", "runtime.slow_session_start", "consistent", values, ("session_start_slow_s",)
    )
    built = of_rules(records, "tensorrt.engine_built")
    said = [record for own, _ in took for record in own]
    return [finding_of(scene, reading, said[0], context=[*said, *built])]


def _creations_s(states: list[LogRecord]) -> Iterator[float]:
    """How long each session of one start took from its first line to the one that says it is ready."""
    began: LogRecord | None = None
    for record in states:
        if record.fields["state"] == _BEGINS:
            began = record
        elif began is not None:
            seconds = seconds_between(began.written, record.written)
            if seconds is not None and seconds >= 0:
                yield seconds
            began = None
