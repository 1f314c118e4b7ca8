"""Xid facts: what is known, where sources disagree, who may be named first, and that the unknown stays unknown."""

import csv
from pathlib import Path

import pytest

from crashlens.catalog.rows import RowFile
from crashlens.catalog.xids import parse_xids, source_text, xid, xids
from crashlens.errors import DataFileError

# Decision table T7, by hand.
T7 = {
    1: {79, 167, 176, 54},
    2: {48, 171, 172, 95, 64, 140},
    3: {74, 144, 145, 146, 147, 148, 149, 150},
    4: {119, 120, 62, 109, 158, 143},
    5: {94},
    6: {13, 31, 32, 69},
    "never_first": {45, 43, 154, 63, 121, 92, 106, 107},
}


def test_a_contained_memory_error_ends_one_application_and_the_sources_disagree_on_what_to_do() -> None:
    fact = xid(94)
    assert fact is not None
    assert (fact.mnemonic, fact.category) == ("ROBUST_CHANNEL_CONTAINED_ERROR", "hardware_memory")
    assert (fact.immediate_action, fact.investigatory_action) == ("RESTART_APP", "IGNORE (sympathetic)")
    assert (fact.ends_process, fact.ends_process_note) == ("yes", "yes (that application only)")
    assert (fact.parents, fact.children) == ((48, 144, 146, 171, 172), (45, 63, 64, 154))
    assert fact.sources_disagree.startswith("gpud: Fatal, reboot; catalog RESTART_APP; DCGM WARN.")
    assert source_text(fact.sources[0]).startswith("NVIDIA Xid catalog for Ampere and newer")


@pytest.mark.parametrize("number", [0, 177, 184, 999, -1])
def test_a_number_outside_the_catalog_stays_unknown(number: int) -> None:
    assert xid(number) is None


def test_the_catalog_holds_1_to_176_and_185() -> None:
    assert [fact.number for fact in xids()] == [*range(1, 177), 185]
    assert source_text("S99") == "S99"


@pytest.mark.parametrize("rank", T7)
def test_the_first_cause_class_of_the_decision_table(rank: int | str) -> None:
    assert {
        fact.number for fact in xids() if fact.first_cause_basis.startswith("T7") and fact.first_cause_class == rank
    } == T7[rank]


def test_a_rank_outside_the_table_is_marked_as_an_inference() -> None:
    named = set().union(*T7.values())
    assert all(fact.first_cause_basis.startswith("[inference] ") for fact in xids() if fact.number not in named)


def test_what_ends_no_process_is_never_named_first() -> None:
    quiet = [fact for fact in xids() if fact.ends_process == "no"]
    assert {fact.first_cause_class for fact in quiet} == {"never_first"}
    assert len(quiet) > 20


def test_an_empty_bucket_is_unknown_and_not_ignore() -> None:
    assert [fact.number for fact in xids() if not fact.immediate_action] == [*range(162, 177), 185]


def test_relatives_are_known_numbers_and_154_never_stands_before_anything() -> None:
    known = {fact.number for fact in xids()}
    for fact in xids():
        assert set(fact.parents) | set(fact.children) <= known, fact.number
        assert 154 not in fact.parents, fact.number
        assert fact.number not in fact.parents, fact.number


def test_numbers_that_stand_on_another_device_say_so() -> None:
    nvlink, bus = xid(74), xid(79)
    assert nvlink is not None
    assert bus is not None
    assert (nvlink.parents, nvlink.parents_note) == ((79, 48), "on the peer; also a fatal SXid")
    assert bus.children_note.startswith("74 on peers")


def test_marks_of_uncertainty_are_kept() -> None:
    fact = xid(119)
    assert fact is not None
    assert (fact.ends_process, fact.ends_process_note) == ("usually", "usually [inference]")


def test_a_wrong_file_is_refused_with_every_fault() -> None:
    row = """\
[[xid]]
xid = 7
mnemonic = "M"
meaning = "m"
category = "driver"
status = "rumoured"
immediate_action = ""
investigatory_action = ""
advice = ""
ends_process = "no"
first_cause_class = 7
first_cause_basis = "T7"
parents = ["8"]
children = []
applies_to = []
sources = ["S2"]
"""
    with pytest.raises(DataFileError) as caught:
        parse_xids(RowFile("x.toml", '[sources]\nS1 = "one"\n' + row + row, "xid"))
    assert caught.value.faults[:4] == (
        'x.toml:3: status = "rumoured" is none of documented, unused, name_only',
        "x.toml:3: first_cause_class = 7 is neither 1 to 6 nor never_first",
        "x.toml:3: parents must be a list of whole numbers",
        "x.toml:3: source S2 is not in [sources]",
    )
    assert "x.toml:19: xid 7 stands twice or out of order" in caught.value.faults


@pytest.mark.shared_data
def test_numbers_actions_and_sources_are_those_of_the_reviewed_table(shared: Path) -> None:
    with (shared / "knowledge" / "xid.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [
        (str(fact.number), fact.category, fact.status, fact.immediate_action, ";".join(fact.sources)) for fact in xids()
    ] == [(row["xid"], row["category"], row["status"], row["immediate_action"], row["sources"]) for row in rows]
    assert [row["xid"] for row in rows if row["sources_disagree"] and not xid(int(row["xid"])).sources_disagree] == []  # pyright: ignore[reportOptionalMemberAccess]
