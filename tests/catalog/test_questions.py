import re

from crashlens.catalog.aliases import is_known_field
from crashlens.catalog.questions import enough_share, log_signs, questions

CAUSAL = re.compile(r"\b(causes?|caused|because|due to|leads? to)\b", re.IGNORECASE)


def test_every_question_has_something_that_decides_it_and_a_way_to_collect_it() -> None:
    for question in questions():
        assert any(need.decides for need in question.needs), question.id
        assert all(need.collect_with for need in question.needs), question.id
        assert question.asks.endswith("?"), question.id
        assert not CAUSAL.search(f"{question.asks} {question.leaves_open} {question.still_possible}"), question.id


def test_the_questions_of_the_brief_are_asked() -> None:
    assert {"thermal", "power", "memory", "communication", "input", "first_error_order", "throughput"} <= {
        question.id for question in questions()
    }


def test_every_field_in_a_query_command_is_one_that_is_read() -> None:
    commands = [need.collect_with for question in questions() for need in question.needs]
    fields = {
        name
        for command in commands
        for listed in re.findall(r"--query-gpu=(\S+)", command)
        for name in listed.split(",")
    }
    assert len(fields) > 15
    assert [name for name in sorted(fields) if not is_known_field("nvidia_smi_query", name)] == []


def test_members_of_one_group_agree_on_whether_they_decide() -> None:
    for question in questions():
        for group in {need.group for need in question.needs}:
            assert len({need.decides for need in question.needs if need.group == group}) == 1, (question.id, group)


def test_logs_are_recognised_and_the_share_is_a_share() -> None:
    assert "kernel" in log_signs("kernel_log").components
    assert "c10d" in log_signs("job_log").components
    assert 0 < enough_share() <= 1
