"""The shapes of a line rule, a step line and a sequence: what a reviewed row may say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error", "fatal"]
HarmlessKind = Literal["advice", "help", "quotation", "config", "code", "zero", "handled"]


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """A next check that a rule offers; `{name}` stands for a captured field."""

    question: str
    how: str
    some: str
    none: str


@dataclass(frozen=True, slots=True)
class Record:
    """How a record goes on over the following lines of the same stream.

    Attributes:
        ends: The line that ends it; its captures belong to the record.
        also: Lines on the way whose captures belong to it too, or None.
        same: Captures that a later line must repeat, where it names them, to belong to it.
        within_lines: How many lines of that stream are read for it.
        unended: What becomes of a record whose end never comes: `keep` what the first line said, or `drop` it.
        key: Which line names the record, `start` or `end`.
    """

    ends: re.Pattern[str]
    also: re.Pattern[str] | None
    same: tuple[str, ...]
    within_lines: int
    unended: Literal["keep", "drop"]
    key: Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class Joins:
    """When further records of a rule are counted in the first one: an error that is handed up prints a line per call.

    Attributes:
        same: Captures that must agree; process and host must agree too.
        within_lines: How many lines behind the last one a further record may stand.
        keep: Which of them is the row: the `first`, or of a progress the `last`.
    """

    same: tuple[str, ...]
    within_lines: int
    keep: Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What one capture of a rule measures: its name among the metrics, its unit, and the factor to that unit."""

    name: str
    unit: str
    factor: float


@dataclass(frozen=True, slots=True)
class Rule:
    """What one record says.

    Attributes:
        id: Never reused; `replaces` keeps the old id of a renamed rule.
        status: experimental | stable | deprecated.
        added: ISO date.
        topic: Where it belongs. Not a cause.
        severity: What the writer of the line meant.
        applies_to: Components whose messages it reads; elsewhere the same words are a quotation.
        literals: Case-sensitive strings of which at least one stands in every line it matches.
        pattern: Searched in the message; named groups become columns or fields.
        captures: Further patterns searched in a message that matched; what they find is added, absent ones are null.
        marks: `moment`, or `end` when the record is written at the end of a wait of `length_field` milliseconds.
        length_field: The captured field with the length of that wait, or "".
        record: How it goes on over several lines, or None.
        joins: When further records of it are counted in the first one, or None.
        reads: `message`, or `line` where the words of an envelope decide too.
        fallback: Used only for lines that no other rule claims.
        means: What it says, one sentence.
        does_not_prove: What must not be read into it.
        false_positives: When it stands there without being a failure.
        next_checks: What would settle more.
        references: Where the shape or meaning was read.
        matches: Lines it must match.
        rejects: Lines it must not match.
        replaces: Earlier ids.
        metrics: Captures that are measurements: each becomes a row of `metrics` too.
        place: `file:line` of its table, for messages.
    """

    id: str
    status: str
    added: str
    topic: str
    severity: Severity
    applies_to: frozenset[str]
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    captures: tuple[re.Pattern[str], ...]
    marks: Literal["moment", "end"]
    length_field: str
    record: Record | None
    joins: Joins | None
    reads: Literal["message", "line"]
    fallback: bool
    means: str
    does_not_prove: tuple[str, ...]
    false_positives: tuple[str, ...]
    next_checks: tuple[RuleCheck, ...]
    references: tuple[str, ...]
    matches: tuple[str, ...]
    rejects: tuple[str, ...]
    replaces: tuple[str, ...]
    metrics: Mapping[str, Metric]
    place: str


@dataclass(frozen=True, slots=True)
class StepLine:
    """How one trainer prints a step.

    `pattern` finds the step number, `captures` the measurements; a line without any measurement is no step. Group
    names are columns of `steps`; `step_time_ms` and `mfu_percent` are converted.
    """

    id: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    captures: tuple[re.Pattern[str], ...]
    matches: tuple[str, ...]
    rejects: tuple[str, ...]
    references: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """One record of a sequence: a rule, and values that typed columns must have."""

    rule: str
    xids: frozenset[int]
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sequence:
    """How records relate.

    Attributes:
        id: Never reused.
        first: Kinds of record that can be the first.
        then: Kinds of record that follow from it.
        same: Identities of which at least one must be equal and none may differ: pid, gpu, run, host.
        concerns: What the first record is about: the `process` it names, or the whole `gpu`, where the process is only
            the one that asked.
        within_s: The second begins at most so many seconds after the first.
        mechanism: Why the second follows from the first, as a clause.
        against: Named checks that speak against it: `step_after` (the run made a step after the first record),
            `started_again` (the rank it concerns had a new process before the second).
        references: Where the mechanism was read.
        place: `file:line` of its table.
    """

    id: str
    status: str
    first: tuple[SequenceStep, ...]
    then: tuple[SequenceStep, ...]
    same: tuple[str, ...]
    concerns: str
    within_s: float
    mechanism: str
    mechanism_ko: str
    against: tuple[str, ...]
    references: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Harmless:
    """Words that sound like a failure and are none.

    Attributes:
        id: Never reused.
        kind: advice | help | quotation | config | code: the words are about a failure. zero: none is counted. handled:
            the writer of the line went on.
        applies_to: Components whose messages it is looked for in.
        literals: Case-sensitive strings of which at least one stands in every message it fits.
        pattern: The stretch of the message that is harmless.
        opens: Rules whose record begins on the next line and belongs to this one.
        means: What such words say, one sentence.
        references: Where the shape was read.
        matches: Messages whose error words it covers.
        rejects: Messages of which an error word stays uncovered, or that hold none of its shapes.
        place: `file:line` of its table.
    """

    id: str
    kind: HarmlessKind
    applies_to: frozenset[str]
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    opens: tuple[str, ...]
    means: str
    references: tuple[str, ...]
    matches: tuple[str, ...]
    rejects: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of one reading and the digest that identifies them.

    Attributes:
        rules: Line rules.
        step_lines: How training steps are printed.
        sequences: How records relate.
        digest: Identifies the texts they were loaded from.
        harmless: Words that sound like a failure and are none.
        own_files: Name and text of the rule files that do not come with crashlens.
        own: Ids of the rules, step lines and sequences that stand in them.
    """

    rules: tuple[Rule, ...]
    step_lines: tuple[StepLine, ...]
    sequences: tuple[Sequence, ...]
    digest: str
    harmless: tuple[Harmless, ...] = ()
    own_files: tuple[tuple[str, str], ...] = ()
    own: frozenset[str] = frozenset()

    def rule(self, rule_id: str) -> Rule | None:
        """The rule with this id, or with this id among those it replaces."""
        return next((rule for rule in self.rules if rule.id == rule_id or rule_id in rule.replaces), None)
