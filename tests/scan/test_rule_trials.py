"""The trial of a rule file: examples are read as a log is, and a file shows what the rules find in it."""

from pathlib import Path

import pytest

from crashlens.errors import NoSuchInputError
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import Rule, StepLine
from crashlens.rules.own import own_rules
from crashlens.scan.rule_trials import sightings, try_rules

RULE = """[[rule]]
id = "site.fan"
status = "stable"
topic = "host.cooling"
severity = "error"
applies_to = ["kernel", "process"]
literals = ["fan stopped", "fan slow"]
pattern = 'fan (?:stopped|slow): (?P<fan>\\d{1,3})'
means = "A fan stopped."
does_not_prove = ["heat"]
references = ["our daemon"]
matches = ["fan stopped: 3", "fan slow: seven"]
rejects = ["fan started: 3", "the fan stopped: 3 times"]
"""
RULES = own_rules([("site.toml", RULE)])
ITEMS: list[Rule | StepLine] = [*shipped_rules().rules, *shipped_rules().step_lines]


def test_an_example_that_does_not_do_as_promised_is_named() -> None:
    (trial,) = try_rules(RULES, [RULES.rules[-1]])
    assert (trial.missed, trial.fired, trial.held) == (("fan slow: seven",), ("the fan stopped: 3 times",), False)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_every_shipped_rule_passes_the_trial_that_users_run(item: Rule | StepLine) -> None:
    (trial,) = try_rules(shipped_rules(), [item])
    assert (trial.missed, trial.fired) == ((), ())


def test_what_own_rules_find_is_told_with_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text(
        "fine\nfan stopped: 3\nif you see fan stopped: 3, call us\nRuntimeError: CUDA error: x\n"
    )
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7")
    found = [
        (one.path, one.hit and (one.hit.line, one.hit.rule.id), one.why) for one in sightings(RULES, ["a.log", "b.pdf"])
    ]
    assert found == [("a.log", (2, "site.fan"), ""), ("b.pdf", None, "it is a PDF")]


def test_a_path_that_is_not_there_is_an_error() -> None:
    with pytest.raises(NoSuchInputError):
        list(sightings(RULES, ["gone.log"]))
