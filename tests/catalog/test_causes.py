"""The causes are those of the case bank's vocabulary, with a title in both languages."""

import re
import tomllib
from pathlib import Path

import pytest

from crashlens.catalog.causes import cause, causes, family_text, parse_causes
from crashlens.catalog.rows import RowFile
from crashlens.errors import DataFileError


def test_a_cause_says_what_it_claims_and_how_far_it_may_go() -> None:
    fault = cause("gpu_hardware.repeating_fault")
    assert (fault.family, fault.state, fault.ceiling) == ("gpu_hardware", False, "consistent")
    assert fault.confused_with == ("application.gpu_exception", "one record collected several times")
    assert (cause("communication.collective_hang").state, cause("thermal.slowdown").ceiling) == (True, "supported")
    assert family_text("thermal") == "clocks reduced by temperature"
    assert family_text("weather") == "weather"


def test_there_are_72_causes_and_each_has_a_short_title_of_its_own_in_both_languages() -> None:
    found = causes()
    assert len(found) == len({one.id for one in found}) == 72
    assert len({one.title for one in found}) == len({one.title_ko for one in found}) == 72
    for one in found:
        assert len(one.title) <= 60, one.id
        assert not one.title.endswith("."), one.id
        assert one.title[0].isupper(), one.id
        assert re.search("[가-힣]", one.title_ko), one.id
        assert len(one.title_ko) <= 40, one.id


def test_a_confusion_that_looks_like_a_cause_is_one() -> None:
    known = {one.id for one in causes()}
    for one in causes():
        for other in one.confused_with:
            named = re.match(r"[a-z_]+\.[a-z_]+", other)
            assert not named or named[0] in known, (one.id, other)


def test_an_unknown_id_is_a_data_error_that_names_the_closest() -> None:
    with pytest.raises(DataFileError, match=r'no cause is called "thermal.slow" \(thermal.slowdown\)'):
        cause("thermal.slow")


def test_a_file_with_a_foreign_family_or_an_id_twice_is_refused() -> None:
    row = (
        '[[cause]]\nid = "a.b"\ntitle = "T"\ntitle_ko = "가"\ndefinition = "D."\nstate = false\n'
        'ceiling = "certain"\nconfused_with = []\n'
    )
    with pytest.raises(DataFileError) as caught:
        parse_causes(RowFile("c.toml", '[families]\nz = "z"\n' + row + row, "cause"))
    assert caught.value.faults == (
        'c.toml:3: "a.b" is not family.specific with a family of [families]',
        'c.toml:3: ceiling = "certain" is none of supported, consistent',
        'c.toml:11: "a.b" is not family.specific with a family of [families]',
        "c.toml:11: a.b stands twice",
        'c.toml:11: ceiling = "certain" is none of supported, consistent',
    )


@pytest.mark.shared_data
def test_the_ids_flags_and_ceilings_are_those_of_the_vocabulary(shared: Path) -> None:
    vocabulary = tomllib.loads((shared / "cases" / "VOCABULARY.toml").read_text(encoding="utf-8"))
    assert [(one.id, one.state, one.ceiling, one.confused_with) for one in causes()] == [
        (row["id"], row.get("state", False), row.get("ceiling", "supported"), tuple(row["confused_with"]))
        for row in vocabulary["class"]
    ]
    assert {name: family_text(name) for name in vocabulary["families"]} == vocabulary["families"]
