"""How does a rule read to an operator? Lists, the whole of one rule, and how the trial of a rule file went."""

from collections.abc import Iterable, Sequence
from typing import Any

from crashlens.catalog.record_causes import record_causes
from crashlens.rules.model import Harmless, Rule, RuleSet, StepLine
from crashlens.rules.model import Sequence as Relation
from crashlens.scan.masking import mask_secrets
from crashlens.scan.rule_trials import Sighting, Trial
from crashlens.views.terminal import printable_lines
from crashlens.views.visible import visible

TEXT_WIDTH = 100
SHOWN_SIGHTINGS = 20  # records of one rule that are named; the rest is counted
LONGEST_SIGHTING = 160

Item = Rule | StepLine | Relation | Harmless
_WORDS = {Rule: "rule", StepLine: "step line", Relation: "sequence", Harmless: "harmless"}

_KEYS = {  # what a label is called in the TOML table and in JSON
    "says": "means",
    "also without fault": "false_positives",
    "read in": "applies_to",
    "words are": "harmless_kind",
    "its time is": "time",
    "goes on": "record",
    "in sequences": "sequences",
    "stands for": "causes",
    "next check": "next_checks",
    "within": "within_s",
}


def listed_items(rule_set: RuleSet, topic: str) -> list[Item]:
    """The rows of a rule set by id; with a topic only line rules of it or of one below it."""
    if topic:
        return sorted((rule for rule in rule_set.rules if f"{rule.topic}.".startswith(f"{topic}.")), key=_id)
    return sorted((*rule_set.rules, *rule_set.step_lines, *rule_set.sequences, *rule_set.harmless), key=_id)


def item_called(rule_set: RuleSet, item_id: str) -> Item | None:
    """The row with this id, or the rule that replaces it."""
    found = next((item for item in listed_items(rule_set, "") if item.id == item_id), None)
    return found or rule_set.rule(item_id)


def rules_text(rule_set: RuleSet, items: Sequence[Item]) -> str:
    """One line per row: id, kind, severity, topic, who writes it, and where a row of somebody's own stands."""
    rows = [("id", "kind", "severity", "topic", "read in", "from")]
    for item in items:
        severity, topic = (item.severity, item.topic) if isinstance(item, Rule) else ("", "")
        kind = item.kind if isinstance(item, Harmless) else ""
        readers = ", ".join(sorted(item.applies_to)) if isinstance(item, Rule | Harmless) else ""
        origin = item.place if item.id in rule_set.own else "crashlens"
        rows.append((item.id, _WORDS[type(item)], severity, topic or kind, readers, origin))
    said = f"{len(items)} rows, {len(rule_set.own)} of them your own; digest {rule_set.digest}"
    return "\n".join([*_columns(rows), "", said])


def rules_json(rule_set: RuleSet, items: Iterable[Item]) -> list[dict[str, Any]]:
    """Each row as plain JSON types, patterns as text."""
    return [item_json(rule_set, item) for item in items]


def item_json(rule_set: RuleSet, item: Item) -> dict[str, Any]:
    """One row as plain JSON types: everything its table says."""
    origin = "own" if item.id in rule_set.own else "crashlens"
    about: dict[str, Any] = {"id": item.id, "kind": _WORDS[type(item)], "from": origin, "place": item.place}
    for label, value in _facts(rule_set, item):
        about[_KEYS.get(label, label.replace(" ", "_"))] = value
    return about


def item_text(rule_set: RuleSet, item: Item) -> str:
    """Everything that a row says, as an operator reads it."""
    origin = "your own" if item.id in rule_set.own else "comes with crashlens"
    lines = [visible(item.id), visible(f"  {_WORDS[type(item)]}, {origin}, {item.place}")]
    for label, value in _facts(rule_set, item):
        for text in [value] if isinstance(value, str) else value:
            lines += printable_lines(text, width=TEXT_WIDTH, first=f"  {label:<20}") if text else []
    return "\n".join(lines)


def trials_text(trials: Sequence[Trial]) -> str:
    """How the examples of each rule went, one line per rule, then every example that went wrong."""
    rows = [("id", "matches", "rejects", "pattern", "result")]
    for trial in trials:
        item = trial.item
        matched, rejected = len(item.matches) - len(trial.missed), len(item.rejects) - len(trial.fired)
        counts = (f"{matched}/{len(item.matches)}", f"{rejected}/{len(item.rejects)}")
        rows.append((item.id, *counts, "linear", "ok" if trial.held else "FAILED"))
    lines = _columns(rows)
    for trial in trials:
        place = f"{trial.item.place}: {trial.item.id}"
        wrong = [f"{place}: does not match its example {text!r}" for text in trial.missed]
        wrong += [f"{place}: matches {text!r}, which it must not" for text in trial.fired]
        wrong += [f"{place}: its examples are matched by {', '.join(trial.others)} too"] if trial.others else []
        lines += [line for text in wrong for line in printable_lines(text, width=TEXT_WIDTH)]
    failed = sum(not trial.held for trial in trials)
    return "\n".join([*lines, "", f"{len(trials)} rules tried, {failed} failed"])


def sightings_text(sightings: Iterable[Sighting]) -> str:
    """What the rules found, as `path:line rule fields text`; of one rule the first ones, the rest counted."""
    lines: list[str] = []
    counts: dict[str, int] = {}
    for path, hit, why in sightings:
        if hit is None:
            lines.append(visible(f"{path}: not read: {why}"))
            continue
        counts[hit.rule.id] = counts.get(hit.rule.id, 0) + 1
        if counts[hit.rule.id] <= SHOWN_SIGHTINGS:
            fields = " ".join(f"{name}={value}" for name, value in hit.groups.items())
            text = mask_secrets(f"{path}:{hit.line} {hit.rule.id} {fields}".rstrip() + f" | {hit.text.strip()}")
            lines.append(visible(text.replace("\n", " "))[:LONGEST_SIGHTING])
    lines += [
        f"{rule_id}: {count - SHOWN_SIGHTINGS:,} more records"
        for rule_id, count in counts.items()
        if count > SHOWN_SIGHTINGS
    ]
    said = ", ".join(f"{rule_id} {count:,}" for rule_id, count in sorted(counts.items())) or "none"
    return "\n".join([*lines, f"records found: {said}"])


def _facts(rule_set: RuleSet, item: Item) -> list[tuple[str, str | list[str]]]:
    """Label and text of everything a row says, in reading order."""
    if isinstance(item, Rule):
        return _rule_facts(rule_set, item)
    if isinstance(item, Relation):
        return [
            ("status", item.status),
            ("first", [step.rule + _xids(step.xids) for step in item.first]),
            ("then", [step.rule + _xids(step.xids) for step in item.then]),
            ("same", ", ".join(item.same)),
            ("within", f"{item.within_s:g} s"),
            ("mechanism", item.mechanism),
            ("against", list(item.against)),
            ("references", list(item.references)),
        ]
    facts: list[tuple[str, str | list[str]]] = []
    if isinstance(item, Harmless):
        facts = [("says", item.means), ("words are", item.kind), ("read in", ", ".join(sorted(item.applies_to)))]
        facts += [("opens", list(item.opens))]
    return [
        *facts,
        ("literals", list(item.literals)),
        ("pattern", item.pattern.pattern),
        ("matches", list(item.matches)),
        ("rejects", list(item.rejects)),
        ("references", list(item.references)),
    ]


def _rule_facts(rule_set: RuleSet, rule: Rule) -> list[tuple[str, str | list[str]]]:
    record = rule.record
    goes_on = f"until {record.ends.pattern} within {record.within_lines} lines, else {record.unended}" if record else ""
    waits = f"of the end of a wait of {rule.length_field}" if rule.marks == "end" else ""
    joins = rule.joins
    joined = f"further ones within {joins.within_lines} lines, the {joins.keep} is kept" if joins else ""
    checks = [f"{c.question} {c.how} | if so: {c.some} | if not: {c.none}" for c in rule.next_checks]
    used = [item.id for item in rule_set.sequences if rule.id in {step.rule for step in (*item.first, *item.then)}]
    causes = [f"{row.cause} ({row.verdict})" for row in record_causes().get(rule.id, ())]
    return [
        ("says", rule.means),
        ("does not prove", list(rule.does_not_prove)),
        ("also without fault", list(rule.false_positives)),
        ("topic", rule.topic),
        ("severity", rule.severity),
        ("status", " ".join(part for part in (rule.status, rule.added and f"since {rule.added}") if part)),
        ("read in", ", ".join(sorted(rule.applies_to))),
        ("literals", list(rule.literals)),
        ("pattern", rule.pattern.pattern),
        ("captures", [capture.pattern for capture in rule.captures]),
        ("its time is", waits),
        ("goes on", goes_on),
        ("also along the way", record.also.pattern if record and record.also else ""),
        ("counts as one", joined),
        ("reads", "the whole line, envelopes too" if rule.reads == "line" else ""),
        ("fallback", "only for lines that no other rule claims" if rule.fallback else ""),
        ("replaces", list(rule.replaces)),
        ("in sequences", used),
        ("stands for", causes),
        ("next check", checks),
        ("matches", list(rule.matches)),
        ("rejects", list(rule.rejects)),
        ("references", list(rule.references)),
    ]


def _xids(xids: frozenset[int]) -> str:
    return f" with Xid {', '.join(map(str, sorted(xids)))}" if xids else ""


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def _id(item: Item) -> str:
    return item.id
