import re
from importlib import resources

import pytest

from crashlens.errors import DataFileError
from crashlens.rules.load import LEAST_LITERAL, load_rules, shipped_rules
from crashlens.rules.model import Rule, StepLine
from crashlens.scan.member import Block
from crashlens.scan.records import Hit, RecordReader

RULES = shipped_rules()
ITEMS: tuple[Rule | StepLine, ...] = (*RULES.rules, *RULES.step_lines)
ENVELOPES = {
    "kernel": "Oct  1 09:18:40 node7 kernel: [ 4242.123456] ",
    "c10d": "[rank3]:[E1001 09:18:40.715298746 ProcessGroupNCCL.cpp:607] ",
    "nccl": "node7:48213:48377 [5] NCCL WARN ",
    "process": "2026-10-01 09:18:40,123 ",
}
# What ends the record of a rule that reads on.
ENDINGS = {
    "kernel.fell_off_bus_probe": [
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    ],
    "c10d.desync_report": ["     [1] finished collective #2, but didn't join collective #3 (count from 1)"],
    "elastic.failure_table": [
        "  exitcode  : -9 (pid: 14750)",
        "  traceback : Signal 9 (SIGKILL) received by PID 14750",
    ],
    "torch.dist_backend_error": ["ncclSystemError: System call (e.g. socket, malloc) failed"],
    "python.exception": ['  File "train.py", line 3, in <module>', "ValueError: bad batch"],
}


def read(*lines: str) -> list[Hit]:
    return list(RecordReader(RULES).read([Block(1, "".join(f"{line}\n" for line in lines).encode())]))


def component(item: Rule | StepLine) -> str:
    return min(item.applies_to) if isinstance(item, Rule) else "process"


def examples(kind: str) -> list[object]:
    return [
        pytest.param(item, text, id=f"{item.id}-{n}")
        for item in ITEMS
        for n, text in enumerate(item.matches if kind == "matches" else item.rejects)
    ]


def enveloped(item: Rule | StepLine, text: str) -> str:
    begins_itself = re.match(r"\d{4}-\d\d-\d\d|\[\d{4}-|[EWI]\d{4} |\S+:\d+:\d+ \[|\[rank|NCCL WARN", text)
    return text if begins_itself else ENVELOPES[component(item)] + text


@pytest.mark.parametrize(("item", "text"), examples("matches"))
def test_a_match_fires_exactly_its_rule(item: Rule | StepLine, text: str) -> None:
    envelope = "" if enveloped(item, text) == text else ENVELOPES[component(item)]
    hits = read(enveloped(item, text), *(envelope + line for line in ENDINGS.get(item.id, [])))
    assert {hit.rule.id for hit in hits} == {item.id}
    assert {hit.n for hit in hits} == set(range(len(hits)))


@pytest.mark.parametrize(("item", "text"), examples("rejects"))
def test_a_reject_does_not_fire_its_rule(item: Rule | StepLine, text: str) -> None:
    lines = [text, *(envelope + text for envelope in ENVELOPES.values())]
    assert item.id not in {hit.rule.id for line in lines for hit in read(line)}


@pytest.mark.parametrize(
    "item", [rule for rule in RULES.rules if "kernel" in rule.applies_to], ids=lambda rule: rule.id
)
def test_the_words_of_a_kernel_rule_in_a_job_log_are_a_quotation(item: Rule) -> None:
    for text in item.matches:
        assert read(f'2026-10-01 09:18:40,123 INFO prompt: explain "{text}"') == []
        assert item.id not in {hit.rule.id for hit in read("node3 said: " + text)}


def test_ids_are_unique_and_never_taken_twice() -> None:
    ids = [item.id for item in (*ITEMS, *RULES.sequences)]
    ids += [old for rule in RULES.rules for old in rule.replaces]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)
def test_a_rule_says_what_it_means_and_what_it_does_not_prove(rule: Rule) -> None:
    assert rule.means.endswith(".")
    assert rule.does_not_prove
    assert rule.references
    assert rule.matches
    assert rule.rejects
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", rule.added)
    assert all(len(literal) >= LEAST_LITERAL for literal in rule.literals)
    if rule.marks == "end":
        assert rule.length_field in rule.pattern.groupindex
    captured = {name for pattern in (rule.pattern, *rule.captures) for name in pattern.groupindex}
    for check in rule.next_checks:
        asked = set(re.findall(r"\{(\w+)\}", check.question + check.how + check.some + check.none))
        assert asked <= captured


def test_there_are_about_fifteen_rules_and_at_least_three_sequences() -> None:
    assert len(RULES.rules) >= 15
    assert len(RULES.sequences) >= 3


def test_sequences_join_existing_rules_and_have_references() -> None:
    for sequence in RULES.sequences:
        assert sequence.first
        assert sequence.then
        assert sequence.references
        assert sequence.within_s > 0
        assert sequence.same
        assert sequence.mechanism
        assert sequence.mechanism_ko
        for step in (*sequence.first, *sequence.then):
            assert RULES.rule(step.rule) is not None


RULE = """[[rule]]
id = "a.one"
status = "stable"
topic = "t"
severity = "error"
applies_to = ["process"]
literals = ["needle"]
pattern = 'needle'
means = "It says needle."
does_not_prove = ["anything"]
references = ["none"]
matches = ["a needle"]
rejects = ["a pin"]
"""
SEQUENCE = """[[sequence]]
id = "s.one"
status = "stable"
first = [{ rule = "a.one" }]
then = [{ rule = "a.one", xid = [1, 2] }]
same = ["pid"]
within_s = 60
mechanism = "m"
mechanism_ko = "m"
against = []
references = ["none"]
"""


def faults(*texts: str) -> list[str]:
    with pytest.raises(DataFileError) as caught:
        load_rules((f"{chr(97 + number)}.toml", text) for number, text in enumerate(texts))
    return list(caught.value.faults)


def test_a_good_file_loads() -> None:
    rules = load_rules([("a.toml", RULE), ("b.toml", SEQUENCE)])
    assert [rule.id for rule in rules.rules] == ["a.one"]
    assert rules.rules[0].place == "a.toml:1"
    assert rules.sequences[0].then[0].xids == frozenset({1, 2})


def test_the_digest_is_of_the_rules() -> None:
    digest = load_rules([("a.toml", RULE)]).digest
    assert re.fullmatch(r"[0-9a-f]{16}", digest)
    assert load_rules([("a.toml", RULE)]).digest == digest
    assert load_rules([("a.toml", RULE.replace("It says", "This says"))]).digest != digest
    assert load_rules([("a.toml", RULE), ("b.toml", SEQUENCE)]).digest != digest


def test_all_faults_of_all_files_are_told_at_once() -> None:
    broken = RULE.replace('severity = "error"', 'severity = "bad"')
    second = RULE.replace('id = "a.one"', 'id = "a.two"').replace("means =", "meens =")
    third = RULE.replace('id = "a.one"', 'id = "a.three"').replace("'needle'", "'(needle'")
    got = faults("# comment\n\n" + broken + "\n" + second, third, "x = [", "[other]\n")
    assert got[0] == "a.toml:3: a.one: severity is 'bad', not one of error, fatal, info, warning"
    assert got[1:3] == ["a.toml:17: a.two: means is missing", "a.toml:17: a.two: meens is not a known key"]
    assert got[3].startswith("b.toml:1: a.three: pattern does not compile: ")
    assert got[4].startswith("c.toml: ")
    assert got[5] == "d.toml: unknown table [[other]]"
    assert len(got) == 6


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (RULE + RULE, "a.toml:14: a.one: the id is taken by a.toml:1"),
        (RULE + SEQUENCE.replace('first = [{ rule = "a.one" }]', 'first = [{ rule = "a.x" }]'), "a.toml:14: s.one: there is no rule a.x"),
        (RULE + SEQUENCE.replace('"pid"', '"shoe"'), "a.toml:14: s.one: same is 'shoe', not one of gpu, host, pid, run"),
        (RULE + SEQUENCE.replace("against = []", 'against = ["x"]'), "a.toml:14: s.one: against is 'x', not one of started_again, step_after"),
        (RULE + SEQUENCE.replace('{ rule = "a.one" }', "{ xid = 3 }"), "a.toml:14: s.one: a table inside it lacks 'rule'"),
        (RULE.replace('literals = ["needle"]', "literals = []"), "a.toml:1: a.one: literals need at least one string, each of 5 characters or more: []"),
        (RULE.replace('literals = ["needle"]', 'literals = ["pin"]'), "a.toml:1: a.one: literals need at least one string, each of 5 characters or more: ['pin']"),
        (RULE.replace('matches = ["a needle"]', 'matches = ["a pin"]'), "a.toml:1: a.one: no literal stands in the example 'a pin'"),
        (RULE.replace('matches = ["a needle"]', "matches = []"), "a.toml:1: a.one: it has no example"),
        (RULE.replace('means = "It says needle."', "means = 3"), "a.toml:1: a.one: means is not a str"),
        (RULE.replace('status = "stable"', 'status = "old"'), "a.toml:1: a.one: status is 'old', not one of deprecated, experimental, stable"),
        (RULE + "time = { marks = 'start' }\n", "a.toml:1: a.one: time.marks is 'start', not one of end, moment"),
        (RULE + "record = { within_lines = 3 }\n", "a.toml:1: a.one: a table inside it lacks 'ends'"),
        (RULE + "record = { ends = 'x', within_lines = 3, unended = 'lose' }\n", "a.toml:1: a.one: record.unended is 'lose', not one of drop, keep"),
        (RULE.replace("[[rule]]", "[rule]"), "a.toml: rule is not a list of tables: write [[rule]]"),
        ("rule = [3]\n", "a.toml: rule is not a list of tables: write [[rule]]"),
        ("[[step_line]]\nid = 'x.y'\nliterals = ['needle']\npattern = 'needle'\nmatches = ['needle']\nrejects = []\nreferences = []\n", "a.toml:1: x.y: pattern captures no (?P<step>...)"),
    ],
)  # fmt: skip
def test_a_faulty_row_is_named_by_file_and_line(text: str, fault: str) -> None:
    assert fault in faults(text)


@pytest.mark.parametrize(
    "more", ["next_checks = [{ questoin = 'x' }]\n", "record = { ends = 3, within_lines = 3 }\n", "record = { ends = 'x', within_lines = 'many' }\n", "next_checks = [3]\n"]
)  # fmt: skip
def test_a_value_of_the_wrong_type_inside_a_row_is_a_fault_too(more: str) -> None:
    (fault,) = faults(RULE + more)
    assert fault.startswith("a.toml:1: a.one: a value inside it has the wrong type: ")


@pytest.mark.parametrize("head", ["[[ rule ]]", "[[rule]]  # first", "  [[rule]]"])
def test_a_head_may_be_written_in_every_way_that_toml_knows(head: str) -> None:
    assert load_rules([("a.toml", "\n" + RULE.replace("[[rule]]", head))]).rules[0].place == "a.toml:2"


def test_a_renamed_rule_is_found_by_its_old_id() -> None:
    rules = load_rules([("a.toml", RULE + 'replaces = ["a.old"]\n')])
    assert rules.rule("a.old") is rules.rule("a.one")
    assert rules.rule("a.never") is None


def test_the_message_of_a_faulty_rule_set_reads_well() -> None:
    with pytest.raises(DataFileError) as caught:
        load_rules([("a.toml", RULE.replace('severity = "error"', 'severity = "bad"'))])
    assert str(caught.value).split("\n")[0] == "The rule set has 1 fault(s); nothing of it was loaded."
    assert "a.toml:1: a.one: severity" in str(caught.value)


def test_every_shipped_file_is_read() -> None:
    names = {
        item.name for item in (resources.files("crashlens.rules") / "data").iterdir() if item.name.endswith(".toml")
    }
    assert {
        place.split(":")[0] for place in [item.place for item in (*ITEMS, *RULES.sequences, *RULES.harmless)]
    } == names
