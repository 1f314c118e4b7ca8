"""Both ways: every Xid of the catalog is concluded by data, and no row of that data is dead."""

import pytest

from crashlens.catalog.causes import cause
from crashlens.catalog.xid_causes import XidCause, cause_of, xid_causes, xid_readings
from crashlens.catalog.xids import xids
from crashlens.conclude.wording import wording
from crashlens.rules.load import shipped_rules

KNOWN = {one.number for one in xids()}
OF_A_CAUSE = {number for row in xid_causes() for number in row.xids}
OF_NONE = [number for row in xid_readings() for number in row.xids]


def test_every_number_of_the_catalog_stands_for_a_cause_or_is_said_to_stand_for_none() -> None:
    assert OF_A_CAUSE | set(OF_NONE) == KNOWN
    assert OF_A_CAUSE & set(OF_NONE) == set()
    assert len(OF_NONE) == len(set(OF_NONE))


def test_what_only_reports_is_downstream_and_never_named_first() -> None:
    downstream = {number for row in xid_readings() if row.reading == "downstream" for number in row.xids}
    assert downstream == {45, 174}
    assert {one.first_cause_class for one in xids() if one.number in downstream} == {"never_first"}


def test_a_number_without_an_action_in_the_catalog_is_open_unless_its_name_is_the_definition_of_a_cause() -> None:
    # 171 and 172 detail Xid 48; 167 and 176 are PCIe errors by name: claimed as "consistent" at most.
    empty = {one.number for one in xids() if not one.immediate_action}
    assert empty & OF_A_CAUSE == {167, 171, 172, 176}


def test_what_the_catalog_calls_harmless_is_benign_only_where_it_ends_no_process() -> None:
    quiet = {number for row in xid_causes() if row.verdict == "benign" for number in row.xids}
    by_number = {one.number: one for one in xids()}
    assert quiet
    assert [n for n in quiet if by_number[n].immediate_action != "IGNORE"] == []
    assert [n for n in quiet if by_number[n].ends_process in {"yes", "usually"}] == []


@pytest.mark.parametrize("row", xid_causes(), ids=lambda row: f"{row.story}-{row.verdict}")
def test_no_row_is_dead_and_all_it_names_exists(row: XidCause) -> None:
    assert row.xids or row.rules
    fields = {key: min(values) for key, values in row.where.items()}
    for number in row.xids:
        assert cause_of(number, "kernel.xid", fields) is row
    for rule_id in row.rules:
        rule = shipped_rules().rule(rule_id)
        assert rule is not None
        assert cause_of(None, rule_id, fields) is row
        named = {name for pattern in (rule.pattern, *rule.captures) for name in pattern.groupindex}
        assert row.where.keys() <= named
    assert row.story in wording("en")["story"]
    assert cause(row.cause).id == row.cause


def test_a_wish_taken_back_stands_for_nothing_and_a_non_fatal_link_for_less() -> None:
    assert cause_of(154, "kernel.xid", {"recovery_action": "0x0 (None)"}) is None
    verdicts = {word: cause_of(145, "kernel.xid", {"fatality": word}) for word in ("Nonfatal", "Fatal")}
    assert {word: row and row.verdict for word, row in verdicts.items()} == {
        "Nonfatal": "consistent",
        "Fatal": "supported",
    }
