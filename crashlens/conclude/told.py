"""How is one log record concluded: which story does it tell, for which cause, how surely?"""

from dataclasses import dataclass, field

from crashlens.analysis.records import LogRecord
from crashlens.conclude.scene import Scene
from crashlens.conclude.wording import say
from crashlens.findings import Role, Verdict


@dataclass(frozen=True, slots=True)
class Told:
    """Story, cause, verdict and values of one record.

    Attributes:
        story: Templates of wording.*.toml.
        cause: Cause id.
        verdict: How surely.
        values: What the templates are filled with.
        thresholds: Names of the thresholds it rests on.
        role: How the record is listed where another one of its story comes first.
        unknown: Sentences on what else the input leaves open.
        undated_first: Whether a record without a time may be named as the first event.
        follows: Whether another record of the story was raised before it.
    """

    story: str
    cause: str
    verdict: Verdict
    values: dict[str, object]
    thresholds: tuple[str, ...] = ()
    role: Role = "context"
    unknown: tuple[str, ...] = ()
    undated_first: bool = field(default=True)
    follows: bool = field(default=False)


class Captures(dict[str, object]):
    """What a record says, for a template; what it does not say is worded as unknown."""

    def __init__(self, known: dict[str, object], unknown: str) -> None:
        super().__init__(known)
        self._unknown = unknown

    def __missing__(self, _key: str) -> object:
        return self._unknown


def captures(scene: Scene, record: LogRecord, **more: object) -> dict[str, object]:
    """What `record` says, by name, and `more`."""
    columns = {
        "host": record.host, "pid": record.pid, "rank": record.rank, "exit_code": record.exit_code,
        "job_id": record.job_id,
    }  # fmt: skip
    known: dict[str, object] = {
        **record.fields,
        **{name: value for name, value in columns.items() if value is not None},
        **more,
    }
    return Captures(known, say(scene.lang, "words", "unknown"))
