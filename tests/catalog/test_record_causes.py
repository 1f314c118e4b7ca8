"""The rows that turn a log record into a finding name rules, captures, stories and causes that exist."""

from crashlens.catalog.causes import cause
from crashlens.catalog.record_causes import record_cause, record_causes
from crashlens.conclude.wording import wording
from crashlens.rules.load import shipped_rules

ROWS = [row for rows in record_causes().values() for row in rows]


def test_every_row_names_a_rule_a_story_and_a_cause() -> None:
    assert ROWS
    assert [row.rule for row in ROWS if shipped_rules().rule(row.rule) is None] == []
    assert [row.story for row in ROWS if row.story not in wording("en")["story"]] == []
    assert all(cause(row.cause).id == row.cause for row in ROWS)


def test_every_condition_names_a_capture_of_its_rule() -> None:
    for row in ROWS:
        rule = shipped_rules().rule(row.rule)
        assert rule is not None
        patterns = [rule.pattern, *rule.captures, *([rule.record.ends] if rule.record else [])]
        captures = {name for pattern in patterns for name in pattern.groupindex}
        assert (row.where.keys() | row.unless.keys()) <= captures, row


def test_no_row_stands_behind_one_that_fits_everything_it_fits() -> None:
    for rows in record_causes().values():
        for number, row in enumerate(rows):
            assert all(earlier.where or earlier.unless for earlier in rows[:number]), row


def test_a_flushed_completion_is_no_finding_and_a_retry_error_is_one() -> None:
    # 5 = IBV_WC_WR_FLUSH_ERR, 12 = IBV_WC_RETRY_EXC_ERR (rdma-core, verbs.h)
    assert record_cause("nccl.ib_completion", {"ib_status": "5"}) is None
    found = record_cause("nccl.ib_completion", {"ib_status": "12"})
    assert found is not None
    assert found.cause == "network.rdma_link"
