"""SXid facts: every number has a reading, every reading a conclusion, and the unknown stays unknown."""

import csv
from pathlib import Path

import pytest

from crashlens.catalog.causes import cause
from crashlens.catalog.rows import RowFile
from crashlens.catalog.sxids import READINGS, parse_sxids, sxid, sxid_cause, sxid_causes, sxids
from crashlens.conclude.wording import wording
from crashlens.errors import DataFileError


def test_a_number_outside_the_catalog_stays_unknown() -> None:
    assert sxid(98765) is None
    assert len(sxids()) == 400


@pytest.mark.parametrize(
    ("number", "word", "told"),
    [
        (20034, "Fatal", ("sxid_fatal", "fabric.nvlink_error", "consistent")),  # potentially fatal in the guide
        (12028, "Fatal", ("sxid_fatal", "fabric.nvlink_error", "consistent")),  # the word of the driver goes first
        (12028, "Non-fatal", ("sxid_benign", "none.benign", "benign")),  # white-listed by one H100 fleet
        (11004, "Non-fatal", ("sxid_open", "unknown.insufficient_evidence", "undecided")),  # the sources disagree
        (98765, "Fatal", ("sxid_fatal", "fabric.nvlink_error", "consistent")),  # a number that nobody listed
        (98765, "Non-fatal", ("sxid_open", "unknown.insufficient_evidence", "undecided")),
        (20034, "", ("sxid_open", "unknown.insufficient_evidence", "undecided")),  # only the data line is there
    ],
)
def test_the_word_goes_first_and_then_the_reading(number: int, word: str, told: tuple[str, str, str]) -> None:
    row = sxid_cause({"sxid": str(number), "fatality": word})
    assert (row.story, row.cause, row.verdict) == told


def test_what_the_guide_calls_always_fatal_is_named_before_other_fatal_numbers() -> None:
    assert sxid_cause({"sxid": "22003", "fatality": "Fatal"}).rank == 1
    assert sxid_cause({"sxid": "20034", "fatality": "Fatal"}).rank == 3
    assert sxid_cause({"sxid": "11001", "fatality": "fatal"}).rank == 3
    assert sxid_cause({"sxid": "12028", "fatality": "Non-fatal"}).rank == 9


def test_every_reading_is_concluded_under_every_word_exactly_once() -> None:
    known = {*READINGS, "unknown"}
    for word in ("fatal", "non-fatal", ""):
        said = [reading for row in sxid_causes() if row.fatality == word for reading in row.readings]
        assert sorted(said) == sorted(known), word


def test_no_reading_is_dead_and_every_conclusion_exists() -> None:
    assert {one.reading for one in sxids()} == set(READINGS)
    for row in sxid_causes():
        assert row.story in wording("en")["story"]
        assert cause(row.cause).id == row.cause


def test_a_number_on_which_the_sources_disagree_is_never_called_harmless_but_for_the_white_list() -> None:
    disputed = {one.number for one in sxids() if one.sources_disagree}
    assert disputed == {11004, 12028, 19084, 20012}
    assert {one.number for one in sxids() if one.sources_disagree and one.reading != "disputed"} == {12028}


def test_a_wrong_file_is_refused_with_every_fault() -> None:
    row = '[[sxid]]\nsxid = 7\nmnemonic = "M"\nunit = "U"\ncategory = "c"\nreading = "bad"\nsources = ["S9"]\n'
    with pytest.raises(DataFileError) as caught:
        parse_sxids(RowFile("x.toml", '[sources]\nS1 = "one"\n' + row + row, "sxid"))
    assert "x.toml:3: source S9 is not in [sources]" in caught.value.faults
    assert any("none of always_fatal" in fault for fault in caught.value.faults)
    assert "x.toml:10: sxid 7 stands twice or out of order" in caught.value.faults


@pytest.mark.shared_data
def test_numbers_severities_and_actions_are_those_of_the_reviewed_table(shared: Path) -> None:
    with (shared / "knowledge" / "sxid.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    keys = ("sxid", "mnemonic", "unit", "category", "fm_guide_severity", "nvsentinel_action", "sources_disagree")
    assert [
        (str(o.number), o.mnemonic, o.unit, o.category, o.guide_severity, o.action, o.sources_disagree) for o in sxids()
    ] == [tuple(row[key] for key in keys) for row in rows]
