"""No rule is dead: each is tried on its own examples, is looked at by something, and stands in the reference."""

import ast
import importlib.util
import re
from contextlib import chdir
from functools import cache
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.catalog.record_causes import record_causes
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import Rule

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "crashlens"
RULES = shipped_rules()
CASES = [*(ROOT / "tests" / "incidents").glob("*/expected.toml"), *(ROOT / "sample_data").glob("*/README.md")]
TOLD_BY_ITSELF = {"info", "warning"}  # a record that nothing is concluded from; it is a row of `events`
SAYS_NOTHING_NEW = (
    ".message",
    ".messenger",
    ".wrapper",
    ".teardown",
)  # topics of what repeats or follows another record
# Rules of errors whose records are read and from which nothing is concluded yet. Take one out when something is.
NOT_YET = {"elastic.failure_table", "ort.trt_cache"}
FAMILIES_OF_RULES = {"kernel", "nccl", "c10d", "cuda", "elastic", "torch", "slurm", "k8s"}  # no causes begin like these


def constants(*packages: str) -> set[str]:
    """Every text that stands in the code of these packages."""
    files = [file for package in packages for file in (PACKAGE / package).rglob("*.py")]
    assert len(files) > 10, "too few modules were found: the test looks at nothing"
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@cache
def looked_at() -> frozenset[str]:
    """Ids and topics that a question, a sequence or a row of record_causes.toml names."""
    steps = {step.rule for sequence in RULES.sequences for step in (*sequence.first, *sequence.then)}
    return frozenset(constants("conclude", "analysis") | steps | set(record_causes()))


@cache
def shown() -> frozenset[str]:
    """Rules whose records are evidence of a finding of an incident of ours."""
    found: set[str] = set()
    for case in CASES:
        with chdir(case.parent):
            files = [path.name for path in case.parent.iterdir() if path.name != case.name]
            findings = cl.read(sorted(files), tz="UTC").findings()
            found |= {item.rule_id or "" for finding in findings for item in finding.evidence}
    return frozenset(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        rule
        for rule in RULES.rules
        if not (rule.severity in TOLD_BY_ITSELF or rule.fallback or rule.topic.endswith(SAYS_NOTHING_NEW))
    ],
    ids=lambda rule: rule.id,
)
def test_a_rule_of_an_error_is_looked_at(rule: Rule) -> None:
    if rule.id not in looked_at() | NOT_YET and rule.topic not in looked_at():
        assert rule.id in shown(), (
            f"{rule.id} ({rule.topic}) is in no question, sequence or row of record_causes.toml, and no incident shows "
            "it: conclude something from it, tell an incident with it, or say that its severity is info or warning"
        )


def test_what_the_code_asks_for_is_there() -> None:
    families = {rule.id.split(".")[0] for rule in RULES.rules}
    known = {rule.id for rule in RULES.rules} | {rule.topic for rule in RULES.rules}
    ids = re.compile(f"(?:{'|'.join(sorted(families & FAMILIES_OF_RULES))})\\.[a-z0-9_]+")
    asked = {text for text in constants("conclude", "analysis") if ids.fullmatch(text)}
    assert asked
    assert asked - known == set()


def test_the_reference_has_every_row() -> None:
    spec = importlib.util.spec_from_file_location("build_reference", ROOT / "docs" / "build_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    heads = {line[3:].replace("\\", "") for line in module.pages()["rules.md"].split("\n") if line.startswith("## ")}
    rows = (*RULES.rules, *RULES.step_lines, *RULES.sequences, *RULES.harmless)
    assert {row.id for row in rows} - heads == set()
