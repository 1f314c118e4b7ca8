import re
import time

import pytest

from crashlens.rules.lint import lint_pattern
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import Harmless, Rule, StepLine
from crashlens.scan.masking import secrets

RULES = shipped_rules()
ITEMS: tuple[Rule | StepLine, ...] = (*RULES.rules, *RULES.step_lines)


def patterns_of(item: Rule | StepLine) -> list[re.Pattern[str]]:
    record = item.record if isinstance(item, Rule) else None
    return [item.pattern, *item.captures, *([record.ends] if record else [])]


@pytest.mark.parametrize("item", ITEMS, ids=[item.id for item in ITEMS])
def test_no_pattern_of_a_rule_is_slower_than_linear(item: Rule | StepLine) -> None:
    assert [fault for pattern in patterns_of(item) if (fault := lint_pattern(pattern))] == []


@pytest.mark.parametrize("pattern", [secret.pattern for secret in secrets()], ids=[one.id for one in secrets()])
def test_no_pattern_of_a_secret_is_slower_than_linear(pattern: re.Pattern[str]) -> None:
    assert lint_pattern(pattern) is None


@pytest.mark.parametrize("row", RULES.harmless, ids=[row.id for row in RULES.harmless])
def test_no_pattern_of_a_harmless_row_is_slower_than_linear(row: Harmless) -> None:
    assert lint_pattern(row.pattern, examples=row.matches) is None


@pytest.mark.parametrize("item", ITEMS, ids=[item.id for item in ITEMS])
def test_no_pattern_slows_down_behind_the_start_of_its_own_example(item: Rule | StepLine) -> None:
    """The lint knows the literal start of a pattern only; here its examples lead into every part of it."""

    def best(pattern: re.Pattern[str], line: str) -> float:
        times = []
        for _ in range(2):
            begun = time.thread_time()
            pattern.search(line)
            times.append(time.thread_time() - begun)
        return min(times)

    for pattern in patterns_of(item):
        example = item.matches[0]
        for cut in range(0, len(example), max(1, len(example) // 8)):
            for piece in ("a", "0", " ", "1.", example[cut : cut + 6] or "x"):
                line = example[:cut] + piece * (24_000 // len(piece))
                if (slow := best(pattern, line)) > 0.02:
                    assert slow < 9 * best(pattern, example[:cut] + piece * (6_000 // len(piece))), (cut, piece)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (r"\w+=\d", "slower than linear"),
        (r"\s+$", "slower than linear"),
        (r"(\d+)*x", "far slower than linear"),
        (r"(a|a)*b", "far slower than linear"),
        (r"NVRM: [a-z]*[a-y]*[a-x]*!", "far slower than linear"),
    ],
)
def test_the_lint_can_fail(source: str, says: str) -> None:
    fault = lint_pattern(re.compile(source))
    assert fault is not None
    assert fault.startswith(says)
