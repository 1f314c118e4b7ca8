"""What do rules of somebody's own call an error? Their records are told, and nothing is concluded from them.

Nobody reviewed such a rule here: what it says of a line is taken as said, why the line stands there stays open.
"""

from dataclasses import replace

from crashlens.analysis.records import LogRecord, earliest, sort_key
from crashlens.conclude.scene import Part, Scene, evidence_list, hosts_of, window_of
from crashlens.conclude.wording import compose, listed
from crashlens.findings import Evidence, Finding, NextCheck
from crashlens.rules.model import Rule, RuleSet

_TOLD = {"error", "fatal"}
MOST_CHECKS = 4
MOST_LIMITS = 6


def conclude_own_rules(scene: Scene, rule_set: RuleSet) -> list[Finding]:
    """One finding for all records of error and fatal rules that do not come with crashlens; none where there are none.

    A record whose writer says that it went on is not told.
    """
    own = {rule.id: rule for rule in rule_set.rules if rule.id in rule_set.own and rule.severity in _TOLD}
    records = [record for record in scene.records if record.rule_id in own and "handled" not in record.fields]
    if not records:
        return []
    by_rule: dict[str, list[LogRecord]] = {}
    for record in sorted(records, key=sort_key):
        by_rule.setdefault(record.rule_id, []).append(record)
    rules = [own[rule_id] for rule_id in by_rule]
    first = earliest(records, skew_us=scene.context.skew_us)
    parts = [Part(record, "first" if record is first else "context") for record in records]
    numbers = {rule_id: len(found) + _left_out(scene, rule_id) for rule_id, found in by_rule.items()}
    rules_said = listed(scene.lang, [f"{rule_id} ({number})" for rule_id, number in numbers.items()])
    told = compose(
        scene.lang, "own_rules", "unknown.insufficient_evidence", "undecided",
        {"records": sum(numbers.values()), "rules": rules_said},
        first_event=None if first is None else first.place,
        evidence=_noted(evidence_list(scene, first, parts), own),
        window=window_of(records),
        hosts=hosts_of(records),
        devices=scene.devices([record.gpu_key for record in records]),
        ranks=tuple(sorted({record.rank for record in records if record.rank is not None})),
        rule_ids=tuple(by_rule),
    )  # fmt: skip
    limits = dict.fromkeys(text for rule in rules for text in rule.does_not_prove)
    checks = [_check(rule, by_rule[rule.id][0]) for rule in rules if rule.next_checks]
    return [
        replace(
            told,
            does_not_prove=(*told.does_not_prove, *list(limits)[:MOST_LIMITS]),
            next_checks=(*checks[:MOST_CHECKS], *told.next_checks),
        )
    ]


def _left_out(scene: Scene, rule_id: str) -> int:
    return sum(number for (name, _), number in scene.left_out.items() if name == rule_id)


def _noted(evidence: tuple[Evidence, ...], own: dict[str, Rule]) -> tuple[Evidence, ...]:
    """Each line with what its rule says of it, once per rule."""
    said: set[str | None] = set()
    noted: list[Evidence] = []
    for item in evidence:
        means = own[item.rule_id].means if item.rule_id in own and item.rule_id not in said else ""
        said.add(item.rule_id)
        noted.append(replace(item, note=f"{means} {item.note}".strip()))
    return tuple(noted)


def _check(rule: Rule, record: LogRecord) -> NextCheck:
    """The first check of a rule, with the captures of its first record filled in."""
    check = rule.next_checks[0]
    captured = {**record.fields, "host": record.host, "rank": record.rank, "pid": record.pid}

    def filled(text: str) -> str:
        for name, value in captured.items():
            text = text.replace(f"{{{name}}}", str(value)) if value is not None else text
        return text

    return NextCheck(filled(check.question), filled(check.how), filled(check.some), filled(check.none))
