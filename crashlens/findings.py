"""What crashlens concludes: a finding with its evidence, its limits and its next check, and the JSON form of it.

The JSON form is public as `crashlens.findings/1`; `catalog/findings.schema.json` describes it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from crashlens.timebase import Window

SCHEMA = "crashlens.findings/1"
MOST_FINDINGS = 8  # an answer longer than this is padding; the case keeps every event

Verdict = Literal["supported", "consistent", "undecided", "benign"]
Role = Literal["first", "downstream", "context", "counter"]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of an input: path as given, line counted from 1 after decompression and decoding."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One record or sample that a finding rests on.

    Attributes:
        place: Where it stands.
        role: `first` (where it began, as far as the input shows), `downstream` (what followed), `context`, `counter`
            (speaks against the finding).
        text: The record as it stands there, secrets masked.
        rule_id: The rule that matched it; None for a telemetry sample.
        time_utc: When, where the clock could be placed.
        note: One short clause on why it is listed.
    """

    place: Place
    role: Role
    text: str
    rule_id: str | None = None
    time_utc: datetime | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class NextCheck:
    """A check that would settle something: what to ask, what to run, what each outcome would say."""

    question: str
    command: str | None
    expect: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class Effect:
    """A measured before/after pair.

    Attributes:
        metric: Name with its unit, such as `tokens_per_s` or `sm_clock_mhz`.
        before: Value in the reference window.
        after: Value in the window of the finding.
        ratio: after / before.
        interval: Lower and upper bound of the ratio, or None where too few values allow none.
        windows: Reference window and window of the finding.
        n: Number of values in each of them.
        method: How the interval was made, in words.
        seed: Seed of the resampling, or None.
        subject: What was measured: a GPU, a run.
    """

    metric: str
    before: float
    after: float
    ratio: float
    interval: tuple[float, float] | None
    windows: tuple[Window, Window] | None
    n: tuple[int, int]
    method: str
    seed: int | None = None
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A rival explanation and what would separate it from the finding."""

    cause: str
    separated_by: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that the finding was judged by: name in catalog/thresholds.toml, value, unit, source."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion.

    Attributes:
        cause: `family.specific` of catalog/causes.toml.
        verdict: How well the input carries it.
        summary: One sentence without a causal verb.
        causal: The one causal sentence, present only where order beyond clock uncertainty, identity and a known
            mechanism all hold.
        first_event: Where it began, or None where naming a line would be dishonest.
        evidence: Records and samples, most telling first.
        window: When, in UTC, or None.
        hosts: Hosts concerned, as the records name them.
        devices: GPUs concerned: UUID, else PCI bus id, else the label of the source.
        ranks: Global ranks concerned.
        effects: Measured before/after pairs.
        alternatives: Rival causes and what separates them.
        does_not_prove: What must not be read into it.
        unknown: What the input does not show.
        next_checks: What to do next, first thing first.
        rule_ids: Rules and sequences used.
        thresholds: Numbers used.
        id: `F-01` and on, given when the list is ordered.
    """

    cause: str
    verdict: Verdict
    summary: str
    first_event: Place | None
    evidence: tuple[Evidence, ...]
    does_not_prove: tuple[str, ...]
    next_checks: tuple[NextCheck, ...]
    unknown: tuple[str, ...] = ()
    causal: str | None = None
    window: Window | None = None
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    effects: tuple[Effect, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    rule_ids: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    id: str = ""

    @property
    def fingerprint(self) -> str:
        """The same for the same conclusion from the same lines, whatever else was read or in which order."""
        places = sorted(str(item.place) for item in self.evidence)
        return hashlib.sha256("\n".join([self.cause, self.verdict, *places]).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON types, shape `crashlens.findings/1`."""
        first = self.effects[0] if self.effects else None
        document: dict[str, Any] = {
            "id": self.id,
            "cause": self.cause,
            "verdict": self.verdict,
            "summary": self.summary,
            "causal": self.causal,
            "first_event": _place(self.first_event),
            "evidence": [
                {
                    **(_place(item.place) or {}),
                    "role": item.role,
                    "text": item.text,
                    "rule_id": item.rule_id,
                    "time_utc": item.time_utc.isoformat() if item.time_utc else None,
                    "note": item.note,
                }
                for item in self.evidence
            ],
            "does_not_prove": list(self.does_not_prove),
            "unknown": list(self.unknown),
            "next_checks": [
                {"question": c.question, "command": c.command, "expect": c.expect, "otherwise": c.otherwise}
                for c in self.next_checks
            ],
            "window": _window(self.window),
            "hosts": list(self.hosts),
            "devices": list(self.devices),
            "ranks": list(self.ranks),
            "effects": [_effect(item) for item in self.effects],
            "alternatives": [{"cause": a.cause, "separated_by": a.separated_by} for a in self.alternatives],
            "rule_ids": list(self.rule_ids),
            "thresholds": [
                {"name": t.name, "value": t.value, "unit": t.unit, "source": t.source} for t in self.thresholds
            ],
            "fingerprint": self.fingerprint,
        }
        return document | ({"effect": _effect(first)} if first else {})


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything one reading of a case says: findings in order of importance, coverage rows, source rows."""

    findings: tuple[Finding, ...]
    coverage: tuple[dict[str, Any], ...] = field(default=())
    sources: tuple[dict[str, Any], ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The whole answer, shape `crashlens.findings/1`."""
        return {
            "schema": SCHEMA,
            "findings": [finding.to_json() for finding in self.findings],
            "coverage": list(self.coverage),
            "sources": list(self.sources),
        }


def exit_status(findings: Sequence[Finding]) -> int:
    """Exit status of `scan`: 1 a supported or consistent finding, 0 all benign, 3 otherwise. Unknown is never 0."""
    verdicts = {finding.verdict for finding in findings}
    if verdicts & {"supported", "consistent"}:
        return 1
    return 0 if verdicts == {"benign"} else 3


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else {"source": place.source, "line": place.line}


def _window(window: Window | None) -> list[str] | None:
    return None if window is None else [window.start.isoformat(), window.end.isoformat()]


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "metric": effect.metric,
        "subject": effect.subject,
        "before": effect.before,
        "after": effect.after,
        "ratio": effect.ratio,
        "interval": list(effect.interval) if effect.interval else None,
        "windows": [_window(window) for window in effect.windows] if effect.windows else None,
        "n": list(effect.n),
        "method": effect.method,
        "seed": effect.seed,
    }
