"""Writes docs/reference/ from the package's own data: `python docs/build_reference.py`.

A page is made for each part that is there (tables, signals, rules). tests/test_docs.py fails when one is not current.
"""

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from crashlens.schemas import BASE_SCHEMAS, SCHEMA_VERSION

FOLDER = Path(__file__).parent / "reference"
MADE = "Made by `python docs/build_reference.py` from the package's own data; do not edit.\n"


def escape(text: str) -> str:
    """`text` as one line of Markdown that shows as it stands."""
    one_line = " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())
    return re.sub(r"([|*\[\]\\]|(?<!\w)_|_(?!\w))", r"\\\1", one_line)


def code(text: str) -> str:
    """`text` as inline code."""
    return f"`{' '.join(text.split())}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; of cells in backticks only `|` is escaped, of all others everything that acts."""
    lines = [head, *([cell.replace("|", "\\|") if cell[:1] == "`" else escape(cell) for cell in row] for row in rows)]
    body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([body[0], "|" + "---|" * len(head), *body[1:]]) + "\n"


def tables_page() -> str:
    """Every table with its columns, types, units and meanings."""
    head = (
        f"# Tables\n\n{MADE}\n"
        f"Version `{SCHEMA_VERSION}`. A null never means zero: the reason a value is missing is a row of `gaps`.\n"
        "`samples` has one more column per row of the signal catalog.\n"
    )
    parts = [head]
    for schema in BASE_SCHEMAS.values():
        rows = [(code(c.name), code(str(c.dtype)), c.unit, c.meaning) for c in schema.columns]
        parts.append(f"## {schema.name}\n\n{table(['column', 'type', 'unit', 'meaning'], rows)}")
    return "\n".join(parts)


def signals_page(signals: Iterable[Any]) -> str:
    """Every wide signal of `samples` with unit, kind, meaning and source."""
    rows = [
        (code(signal.name), signal.unit or "", signal.kind, signal.meaning, str(signal.source)) for signal in signals
    ]
    return (
        f"# Signals\n\n{MADE}\n"
        "The columns of `samples` that hold telemetry. A source fills those it has; the others stay absent.\n\n"
        + table(["signal", "unit", "kind", "meaning", "source"], rows)
    )


def rules_page(rule_set: Any) -> str:
    """Every line rule, step line, sequence and harmless row with what it says and what it does not prove."""
    head = (
        f"# Rules\n\n{MADE}\n"
        "A line rule states what one record says, never why it stands there. A sequence states how records relate.\n"
        "A step line is how a training step is printed. A harmless row: words that sound like a failure and are none.\n"
    )
    rules = [rule_section(rule) for rule in sorted(rule_set.rules, key=lambda rule: rule.id)]
    sequences = [sequence_section(item) for item in sorted(rule_set.sequences, key=lambda item: item.id)]
    steps = [step_line_section(item) for item in sorted(rule_set.step_lines, key=lambda item: item.id)]
    harmless = [harmless_section(item) for item in sorted(rule_set.harmless, key=lambda item: item.id)]
    return "\n".join([head, *rules, *sequences, *steps, *harmless])


def rule_section(rule: Any) -> str:
    """One line rule: what it says, what it does not prove, what to check next, one line it matches."""
    facts = [
        f"* topic {code(rule.topic)}, severity {rule.severity}, status {rule.status}",
        f"* read in messages of: {', '.join(code(name) for name in sorted(rule.applies_to)) or 'any component'}",
        *(f"* does not prove: {escape(text)}" for text in rule.does_not_prove),
        *(f"* also stands there without a failure: {escape(text)}" for text in rule.false_positives),
        *(f"* next check: {escape(check.question)} ({code(check.how)})" for check in rule.next_checks),
        *(f"* source: {escape(text)}" for text in rule.references),
    ]
    example = "".join(f"\n```text\n{line}\n```\n" for line in rule.matches[:1])
    return f"## {escape(rule.id)}\n\n{escape(rule.means)}\n\n" + "\n".join(facts) + "\n" + example


def sequence_section(sequence: Any) -> str:
    """One sequence: which records, within which time, by which mechanism, and what speaks against it."""
    facts = [
        f"* at least one equal and none different: {', '.join(sequence.same)}",
        f"* mechanism: {escape(sequence.mechanism)}",
        *(f"* speaks against it: {code(name)}" for name in sequence.against),
        *(f"* source: {escape(text)}" for text in sequence.references),
    ]
    return (
        f"## {escape(sequence.id)}\n\nSequence: {kinds(sequence.first)}, then {kinds(sequence.then)}, "
        f"within {sequence.within_s:g} s.\n\n" + "\n".join(facts) + "\n"
    )


def step_line_section(item: Any) -> str:
    """One shape of a training step: what it captures and one line it matches."""
    captured = dict.fromkeys(name for pattern in (item.pattern, *item.captures) for name in pattern.groupindex)
    facts = [
        f"* captures: {', '.join(map(code, captured))}",
        *(f"* source: {escape(text)}" for text in item.references),
    ]
    return f"## {escape(item.id)}\n\nStep line.\n\n" + "\n".join(facts) + f"\n\n```text\n{item.matches[0]}\n```\n"


def harmless_section(item: Any) -> str:
    """One kind of words that sound like a failure and are none."""
    facts = [
        f"* kind: {item.kind}",
        f"* looked for in messages of: {', '.join(code(name) for name in sorted(item.applies_to))}",
        *(f"* source: {escape(text)}" for text in item.references),
    ]
    example = f"\n```text\n{item.matches[0]}\n```\n"
    return f"## {escape(item.id)}\n\nHarmless: {escape(item.means)}\n\n" + "\n".join(facts) + "\n" + example


def kinds(steps: Iterable[Any]) -> str:
    """The records of one side of a sequence, in words."""
    return " or ".join(
        code(step.rule) + (f" with Xid {', '.join(map(str, sorted(step.xids)))}" if step.xids else "") for step in steps
    )


def part(module: str, name: str) -> Any:
    """What `module.name()` returns, or None while that module is not there."""
    try:
        there = find_spec(module) is not None
    except ModuleNotFoundError:
        there = False
    return getattr(import_module(module), name)() if there else None


def pages() -> dict[str, str]:
    """File name to text of every reference page."""
    made = {"tables.md": tables_page()}
    signals, rule_set = part("crashlens.catalog.signals", "signals"), part("crashlens.rules.load", "shipped_rules")
    if signals is not None:
        made["signals.md"] = signals_page(signals)
    if rule_set is not None:
        made["rules.md"] = rules_page(rule_set)
    links = [f"* [{name.removesuffix('.md').capitalize()}]({name})" for name in made]
    made["index.md"] = "\n".join([f"# Reference\n\n{MADE}", *links]) + "\n"
    return made


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file_name, text in pages().items():
        (FOLDER / file_name).write_text(text, encoding="utf-8")
        print(f"docs/reference/{file_name}: {len(text.splitlines())} lines")
