"""Rule files to a checked rule set: every fault of every file is reported at once, as `file:line`."""

import hashlib
import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import lru_cache
from importlib import resources
from typing import Any, TypeVar, cast

from crashlens.catalog.toml_text import toml_document
from crashlens.errors import DataFileError
from crashlens.rules.late_pattern import LatePattern
from crashlens.rules.model import (
    Harmless,
    Joins,
    Metric,
    Record,
    Rule,
    RuleCheck,
    RuleSet,
    Sequence,
    SequenceStep,
    Severity,
    StepLine,
)

_TEXT, _LIST = str, list
_SHAPES: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "rule": (
        {
            "id": _TEXT, "status": _TEXT, "topic": _TEXT, "severity": _TEXT, "applies_to": _LIST, "literals": _LIST,
            "pattern": _TEXT, "means": _TEXT, "does_not_prove": _LIST, "references": _LIST, "matches": _LIST,
            "rejects": _LIST,
        },
        {
            "added": object, "replaces": _LIST, "time": dict, "record": dict, "fallback": bool,
            "false_positives": _LIST, "next_checks": _LIST, "captures": _LIST, "joins": dict, "metrics": dict,
            "reads": _TEXT,
        },
    ),
    "step_line": (
        {"id": _TEXT, "literals": _LIST, "pattern": _TEXT, "matches": _LIST, "rejects": _LIST, "references": _LIST},
        {"captures": _LIST},
    ),
    "sequence": (
        {
            "id": _TEXT, "status": _TEXT, "first": _LIST, "then": _LIST, "same": _LIST, "within_s": object,
            "mechanism": _TEXT, "mechanism_ko": _TEXT, "against": _LIST, "references": _LIST,
        },
        {"concerns": _TEXT},
    ),
    "harmless": (
        {
            "id": _TEXT, "kind": _TEXT, "applies_to": _LIST, "literals": _LIST, "pattern": _TEXT, "means": _TEXT,
            "matches": _LIST, "rejects": _LIST, "references": _LIST,
        },
        {"opens": _LIST},
    ),
}  # fmt: skip
_SEVERITIES = {"info", "warning", "error", "fatal"}
_STATUSES = {"experimental", "stable", "deprecated"}
_IDENTITIES = {"pid", "gpu", "run", "host"}
_CONCERNS = {"process", "gpu"}
_AGAINST = {"step_after", "started_again"}
_KINDS = {"advice", "help", "quotation", "config", "code", "zero", "handled"}
COMPONENTS = frozenset({"kernel", "nccl", "c10d", "process"})

LEAST_LITERAL = 5  # shorter literals stand in too many lines to be worth looking for
_T = TypeVar("_T")
_COMPILED_LATER = ContextVar("_COMPILED_LATER", default=False)


class _FaultyRowError(Exception):
    """One row is wrong; the message says how."""


@lru_cache(maxsize=1)
def shipped_rules() -> RuleSet:
    """The rules that come with crashlens.

    Raises:
        DataFileError: A shipped file is wrong; every fault is named.
    """
    folder = resources.files("crashlens.rules") / "data"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    token = _COMPILED_LATER.set(True)  # the tests compile every shipped pattern; a scan needs few of them
    try:
        return load_rules((item.name, item.read_text(encoding="utf-8")) for item in files)
    finally:
        _COMPILED_LATER.reset(token)


def load_rules(files: Iterable[tuple[str, str]], *, beside: RuleSet | None = None) -> RuleSet:
    """A rule set from `(name, TOML text)` pairs.

    Args:
        files: Names, as faults show them, and texts.
        beside: Rules that will be used together with these: an id is taken only once, and sequences may name them.

    Raises:
        DataFileError: Something is wrong; `faults` names every fault of every file as `file:line: what`.
    """
    faults: list[str] = []
    rules: list[Rule] = []
    step_lines: list[StepLine] = []
    sequences: list[Sequence] = []
    harmless: list[Harmless] = []
    digest = hashlib.sha256()
    for name, text in files:
        digest.update(text.encode())
        try:
            document = toml_document(text)
        except (ValueError, RecursionError) as error:  # TOMLDecodeError is one; so is a number of too many digits
            faults.append(f"{name}: {error}")
            continue
        file = (name, text, document)
        faults += [f"{name}: unknown table [[{key}]]" for key in document if key not in _SHAPES]
        rules += _rows(file, "rule", _rule, faults)
        step_lines += _rows(file, "step_line", _step_line, faults)
        sequences += _rows(file, "sequence", _sequence, faults)
        harmless += _rows(file, "harmless", _harmless, faults)
    faults += _cross_faults(rules, step_lines, sequences, harmless, beside)
    if faults:
        raise DataFileError("The rule set", faults)
    return RuleSet(tuple(rules), tuple(step_lines), tuple(sequences), digest.hexdigest()[:16], tuple(harmless))


def _rows(
    file: tuple[str, str, dict[str, Any]],
    table: str,
    build: Callable[[dict[str, Any], str], _T],
    faults: list[str],
) -> list[_T]:
    name, text, document = file
    head = re.compile(rf"\s*\[\[\s*{table}\s*\]\]\s*(?:#.*)?")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if head.fullmatch(line)]
    found = document.get(table, [])
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in cast("list[object]", found)):
        faults.append(f"{name}: {table} is not a list of tables: write [[{table}]]")
        return []
    rows: list[_T] = []
    for number, row in enumerate(cast("list[dict[str, Any]]", found)):
        # Written inline, or inside a text that looks like a head, the rows cannot be told apart by line.
        place = f"{name}:{lines[number]}" if len(lines) == len(cast("list[object]", found)) else f"{name}:?"
        wrong = _shape_faults(row, table)
        if not wrong:
            try:
                rows.append(build(row, place))
            except _FaultyRowError as error:
                wrong = [str(error)]
            except KeyError as error:
                wrong = [f"a table inside it lacks {error}"]
            except (AttributeError, TypeError, ValueError) as error:
                wrong = [f"a value inside it has the wrong type: {error}"]
        faults += [f"{place}: {row.get('id', '(no id)')}: {what}" for what in wrong]
    return rows


def _shape_faults(row: dict[str, Any], table: str) -> list[str]:
    required, optional = _SHAPES[table]
    known = required | optional
    return [
        *(f"{key} is missing" for key in required if key not in row),
        *(f"{key} is not a known key" for key in row if key not in known),
        *(
            f"{key} is not a {known[key].__name__}"
            for key, value in row.items()
            if not isinstance(value, known.get(key, object))
        ),
    ]


def _compile(pattern: str, what: str) -> re.Pattern[str]:
    if _COMPILED_LATER.get():
        return cast("re.Pattern[str]", LatePattern(pattern))
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise _FaultyRowError(f"{what} does not compile: {error}") from None


def _one_of(value: str, allowed: set[str], what: str) -> str:
    if value not in allowed:
        raise _FaultyRowError(f"{what} is {value!r}, not one of {', '.join(sorted(allowed))}")
    return value


def _texts(row: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(str(item) for item in row.get(key, ()))


def _literals(row: dict[str, Any]) -> tuple[str, ...]:
    literals = _texts(row, "literals")
    short = [literal for literal in literals if len(literal) < LEAST_LITERAL]
    if not literals or short:
        raise _FaultyRowError(f"literals need at least one string, each of {LEAST_LITERAL} characters or more: {short}")
    return literals


def _rule(row: dict[str, Any], place: str) -> Rule:
    time: dict[str, str] = row.get("time", {})
    record: dict[str, Any] | None = row.get("record")
    return Rule(
        id=row["id"],
        status=_one_of(row["status"], _STATUSES, "status"),
        added=str(row.get("added", "")),
        topic=row["topic"],
        severity=cast("Severity", _one_of(row["severity"], _SEVERITIES, "severity")),
        applies_to=frozenset(_texts(row, "applies_to")),
        literals=_literals(row),
        pattern=_compile(row["pattern"], "pattern"),
        captures=tuple(_compile(text, "captures") for text in _texts(row, "captures")),
        marks=cast("Any", _one_of(time.get("marks", "moment"), {"moment", "end"}, "time.marks")),
        length_field=time.get("length_field", ""),
        record=None if record is None else _record(record),
        joins=None if "joins" not in row else _joins(row["joins"]),
        reads=cast("Any", _one_of(row.get("reads", "message"), {"message", "line"}, "reads")),
        fallback=row.get("fallback", False),
        means=row["means"],
        does_not_prove=_texts(row, "does_not_prove"),
        false_positives=_texts(row, "false_positives"),
        next_checks=tuple(RuleCheck(**check) for check in row.get("next_checks", ())),
        references=_texts(row, "references"),
        matches=_texts(row, "matches"),
        rejects=_texts(row, "rejects"),
        replaces=_texts(row, "replaces"),
        metrics=_metrics(row.get("metrics", {})),
        place=place,
    )


def _metrics(table: dict[str, Any]) -> dict[str, Metric]:
    """Captures to what they measure: `capture = { name, unit, factor }`; the factor is 1 where none is given."""
    return {
        capture: Metric(cell["name"], cell["unit"], float(cell.get("factor", 1.0))) for capture, cell in table.items()
    }


def _joins(joins: dict[str, Any]) -> Joins:
    keep = cast("Any", _one_of(joins.get("keep", "first"), {"first", "last"}, "joins.keep"))
    return Joins(tuple(joins["same"]), int(joins["within_lines"]), keep)


def _record(record: dict[str, Any]) -> Record:
    return Record(
        ends=_compile(record["ends"], "record.ends"),
        also=_compile(record["also"], "record.also") if "also" in record else None,
        same=tuple(record.get("same", ())),
        within_lines=int(record["within_lines"]),
        unended=cast("Any", _one_of(record.get("unended", "drop"), {"keep", "drop"}, "record.unended")),
        key=cast("Any", _one_of(record.get("key", "start"), {"start", "end"}, "record.key")),
    )


def _step_line(row: dict[str, Any], place: str) -> StepLine:
    pattern = _compile(row["pattern"], "pattern")
    if not {"step", "epoch"} & pattern.groupindex.keys():
        raise _FaultyRowError("pattern captures no (?P<step>...)")  # or how many epochs are done, where that is all
    return StepLine(
        id=row["id"],
        literals=_literals(row),
        pattern=pattern,
        captures=tuple(_compile(text, "captures") for text in _texts(row, "captures")),
        matches=_texts(row, "matches"),
        rejects=_texts(row, "rejects"),
        references=_texts(row, "references"),
        place=place,
    )


def _harmless(row: dict[str, Any], place: str) -> Harmless:
    literals = _texts(row, "literals")
    if not all(literals) or not literals:
        raise _FaultyRowError("literals need at least one string, and none that is empty")
    return Harmless(
        id=row["id"],
        kind=cast("Any", _one_of(row["kind"], _KINDS, "kind")),
        applies_to=frozenset(_texts(row, "applies_to")),
        literals=literals,
        pattern=_compile(row["pattern"], "pattern"),
        opens=_texts(row, "opens"),
        means=row["means"],
        references=_texts(row, "references"),
        matches=_texts(row, "matches"),
        rejects=_texts(row, "rejects"),
        place=place,
    )


def _sequence(row: dict[str, Any], place: str) -> Sequence:
    for identity in _texts(row, "same"):
        _one_of(identity, _IDENTITIES, "same")
    for check in _texts(row, "against"):
        _one_of(check, _AGAINST, "against")
    return Sequence(
        id=row["id"],
        status=_one_of(row["status"], _STATUSES, "status"),
        first=tuple(_sequence_step(step) for step in row["first"]),
        then=tuple(_sequence_step(step) for step in row["then"]),
        same=_texts(row, "same"),
        concerns=_one_of(row.get("concerns", "process"), _CONCERNS, "concerns"),
        within_s=float(row["within_s"]),
        mechanism=row["mechanism"],
        mechanism_ko=row["mechanism_ko"],
        against=_texts(row, "against"),
        references=_texts(row, "references"),
        place=place,
    )


def _sequence_step(step: dict[str, Any]) -> SequenceStep:
    rest = {key: str(value) for key, value in step.items() if key not in {"rule", "xid"}}
    xid: int | list[int] = step.get("xid", [])
    return SequenceStep(str(step["rule"]), frozenset([xid] if isinstance(xid, int) else xid), rest)


def _cross_faults(
    rules: list[Rule],
    step_lines: list[StepLine],
    sequences: list[Sequence],
    harmless: list[Harmless],
    beside: RuleSet | None,
) -> list[str]:
    faults: list[str] = []
    replaced = {old for rule in rules for old in rule.replaces}
    others = (*beside.rules, *beside.step_lines, *beside.sequences, *beside.harmless) if beside else ()
    seen: dict[str, str] = {item.id: item.place for item in others if item.id not in replaced}
    for item in (*rules, *step_lines, *sequences, *harmless):
        if item.id in seen:
            faults.append(f"{item.place}: {item.id}: the id is taken by {seen[item.id]}")
        seen[item.id] = item.place
    known = {rule.id for rule in (*rules, *(beside.rules if beside else ()))}
    for sequence in sequences:
        faults += [
            f"{sequence.place}: {sequence.id}: there is no rule {step.rule}"
            for step in (*sequence.first, *sequence.then)
            if step.rule not in known
        ]
    faults += [
        f"{item.place}: {item.id}: no literal stands in the example {example[:60]!r}"
        for item in (*rules, *step_lines, *harmless)
        for example in item.matches
        if not any(literal in example for literal in item.literals)
    ]
    faults += [
        f"{rule.place}: {rule.id}: metrics names {capture!r}, which nothing captures"
        for rule in rules
        for capture in rule.metrics
        if not any(capture in pattern.groupindex for pattern in (rule.pattern, *rule.captures))
    ]
    faults += [
        f"{item.place}: {item.id}: it has no example" for item in (*rules, *step_lines, *harmless) if not item.matches
    ]
    return faults
