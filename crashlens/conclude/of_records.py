"""A finding that rests on log records: the one that is named first, and in which role the others stand beside it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crashlens.analysis.records import LogRecord
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, used, window_of
from crashlens.conclude.told import captures
from crashlens.conclude.wording import compose, number_ranges, say
from crashlens.findings import Finding, Verdict


@dataclass(frozen=True, slots=True)
class Reading:
    """How records are read: the story that words them, the cause, the verdict, and what fills the story in.

    Attributes:
        story: `[story.NAME]` of the wording files.
        cause: Cause id.
        verdict: Verdict.
        values: What the placeholders of the story stand for, beside the captures of the first record.
        thresholds: Names of the thresholds that were used.
        first_named: Whether the finding may name its first record as the first event.
    """

    story: str
    cause: str
    verdict: Verdict
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    thresholds: tuple[str, ...] = ()
    first_named: bool = True


def finding_of(
    scene: Scene,
    reading: Reading,
    first: LogRecord,
    *,
    context: Iterable[LogRecord] = (),
    downstream: Iterable[LogRecord] = (),
) -> Finding:
    """The finding on `first`, with what stands beside it and what followed; a record in several roles has the first."""
    context = [record for record in context if record is not first]
    downstream = [record for record in downstream if record is not first and record not in context]
    records = [first, *context, *downstream]
    ranks = sorted({record.rank for record in records if record.rank is not None})
    more = {"at_time": scene.when(first), "ranks": number_ranges(ranks) or say(scene.lang, "words", "unknown")}
    values = captures(scene, first, **(more | dict(reading.values)))
    return compose(
        scene.lang, reading.story, reading.cause, reading.verdict, values,
        first_event=first.place if reading.first_named else None,
        evidence=evidence_list(
            scene,
            first,
            [
                Part(first, "first"),
                *(Part(record, "context") for record in context),
                *(Part(record, "downstream") for record in downstream),
            ],
        ),
        window=window_of([first, *context]),
        hosts=hosts_of(records),
        devices=scene.devices([record.gpu_key for record in records]),
        ranks=tuple(ranks),
        rule_ids=tuple(dict.fromkeys(record.rule_id for record in records)),
        thresholds=used(*reading.thresholds),
    )  # fmt: skip


def of_rules(records: Iterable[LogRecord], *rule_ids: str) -> list[LogRecord]:
    """The records of these rules, in their order."""
    return [record for record in records if record.rule_id in rule_ids]
