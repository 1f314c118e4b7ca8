"""Rules of somebody's own: how they stand beside the shipped ones, and what a hostile rule file cannot do."""

import os
import re
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.errors import DataFileError, NoSuchInputError
from crashlens.rules.lint import lint_pattern
from crashlens.rules.load import shipped_rules
from crashlens.rules.own import LONGEST_PATTERN, MOST_BYTES, MOST_ROWS, only_own, own_rules

RULE = """[[rule]]
id = "site.fan"
status = "stable"
topic = "host.cooling"
severity = "error"
applies_to = ["process"]
literals = ["fan stopped"]
pattern = 'fan stopped: (?P<fan>\\d{1,3})'
means = "A fan stopped."
does_not_prove = ["heat"]
references = ["our daemon"]
matches = ["fan stopped: 3"]
rejects = ["fan started: 3"]
"""
HARMLESS = """[[harmless]]
id = "site.selftest"
kind = "quotation"
applies_to = ["process"]
literals = ["selftest: "]
pattern = '^selftest: injected [^\\n]{0,200}'
means = "A self-test prints what it injects."
matches = ["selftest: injected error"]
rejects = ["error"]
references = ["our self-test"]
"""


def faults(*texts: str) -> list[str]:
    with pytest.raises(DataFileError) as caught:
        own_rules([(f"{chr(97 + number)}.toml", text) for number, text in enumerate(texts)])
    return list(caught.value.faults)


def test_own_rules_stand_behind_the_shipped_ones_and_are_marked(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text(RULE + HARMLESS)
    rules = cl.rules.load(file)
    assert rules.own == {"site.fan", "site.selftest"}
    assert [rule.id for rule in rules.rules] == [*(rule.id for rule in shipped_rules().rules), "site.fan"]
    assert rules.rules[-1].place == f"{file}:1"
    assert rules.own_files == ((str(file), RULE + HARMLESS),)
    assert [rule.id for rule in only_own(rules).rules] == ["site.fan"]


def test_without_a_file_it_is_the_shipped_rules() -> None:
    assert cl.rules.load() is cl.rules.shipped()


def test_the_digest_is_of_both() -> None:
    digest = own_rules([("a.toml", RULE)]).digest
    assert re.fullmatch(r"[0-9a-f]{16}", digest)
    assert len({digest, shipped_rules().digest, own_rules([("a.toml", RULE.replace("A fan", "One fan"))]).digest}) == 3
    assert own_rules([("b.toml", RULE)]).digest == digest


def test_a_rule_takes_the_place_of_the_one_it_replaces() -> None:
    rules = own_rules([("a.toml", RULE + 'replaces = ["cuda.error"]\n')])
    assert "cuda.error" not in {rule.id for rule in rules.rules}
    assert rules.rule("cuda.error") is rules.rule("site.fan")


def test_a_shipped_id_is_taken_unless_it_is_replaced() -> None:
    (fault,) = faults(RULE.replace("site.fan", "cuda.error"))
    assert re.fullmatch(r"a\.toml:1: cuda\.error: the id is taken by \w+\.toml:\d+", fault)
    assert own_rules([("a.toml", RULE.replace("site.fan", "cuda.error") + 'replaces = ["cuda.error"]\n')])


def test_an_own_sequence_may_name_shipped_rules() -> None:
    sequence = """[[sequence]]
id = "site.fan_then_xid"
status = "experimental"
first = [{ rule = "site.fan" }]
then = [{ rule = "kernel.xid" }]
same = ["host"]
within_s = 60
mechanism = "m"
mechanism_ko = "m"
against = []
references = ["none"]
"""
    assert own_rules([("a.toml", RULE + sequence)]).sequences[-1].id == "site.fan_then_xid"


def test_all_faults_of_all_files_are_told_at_once() -> None:
    slow = RULE.replace("'fan stopped: (?P<fan>\\d{1,3})'", "'fan stopped: (\\d+)*x'")
    got = faults(slow, RULE.replace("site.fan", "Site Fan").replace('["process"]', '["moon"]'))
    assert got[0].startswith("a.toml:1: site.fan: pattern is far slower than linear on ")
    assert got[1] == "b.toml:1: Site Fan: an id is words of a-z, 0-9 and _ joined by dots: team.what"
    assert got[2] == "b.toml:1: Site Fan: applies_to is moon, not some of c10d, kernel, nccl, process"
    assert len(got) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (RULE + 'replaces = ["cuda.none"]\n', "replaces cuda.none, which is no shipped rule"),
        (RULE.replace("'fan stopped: (?P<fan>\\d{1,3})'", "'(?:fan stopped)?'"), "pattern matches an empty line"),
        (RULE.replace("fan stopped: (", "x" * LONGEST_PATTERN + "("), f"at most {LONGEST_PATTERN:,} are used"),
        (RULE.replace('["process"]', "[]"), "applies_to is empty"),
        (RULE + "record = { ends = 'x', within_lines = 100000 }\n", "record.within_lines is not between"),
        (RULE + "captures = ['(a|a)*b']\n", "captures is far slower than linear"),
        (RULE + "record = { ends = '(a|a)*b', within_lines = 10 }\n", "record.ends is far slower than linear"),
        (HARMLESS.replace("^selftest: injected [^\\n]{0,200}", "(a|a)*b"), "pattern is far slower than linear"),
        (RULE.replace("'fan stopped: (?P<fan>\\d{1,3})'", "'" + "(" * 3000 + "'"), "does not compile"),
        (RULE + "x = " + "[" * 5000, "a.toml: "),
        (RULE + "x = " + "9" * 6000, "a.toml: "),
        ("\x00", "a.toml: "),
        ("#" * (MOST_BYTES + 1), f"a.toml: it holds more than {MOST_BYTES:,} bytes"),
        ("".join(RULE.replace("site.fan", f"site.fan{n}") for n in range(MOST_ROWS + 1)), f"at most {MOST_ROWS} are"),
    ],
)
def test_a_hostile_rule_file_is_refused_with_the_reason(text: str, says: str) -> None:
    assert any(says in fault for fault in faults(text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchInputError, match=r"gone\.toml"):
        cl.rules.load(tmp_path / "gone.toml")
    with pytest.raises(NoSuchInputError, match="cannot be read"):
        cl.rules.load(tmp_path)
    file = tmp_path / "latin.toml"
    file.write_bytes(b"# caf\xe9\n")
    with pytest.raises(DataFileError, match="not UTF-8"):
        cl.rules.load(file)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "huge.toml"
    with file.open("wb") as out:
        os.truncate(out.fileno(), 1 << 34)
    with pytest.raises(DataFileError, match="more than"):
        cl.rules.load(file)


@pytest.mark.parametrize("source", [r"(x+x+)+y", r"(?:abc|abc)*!", r"(?:foo)*(?:foo)*(?:foo)*(?:foo)*!", r"Q+Q+Q+Q+;"])
def test_the_words_of_a_pattern_are_repeated_too(source: str) -> None:
    assert lint_pattern(re.compile(source), examples=["fan stopped"]) is not None


def test_a_shipped_pattern_passes_the_stricter_lint() -> None:
    slow = {rule.id: lint_pattern(rule.pattern, examples=rule.matches) for rule in shipped_rules().rules[:12]}
    assert {rule_id: said for rule_id, said in slow.items() if said} == {}
