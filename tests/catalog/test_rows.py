"""A catalog file that is wrong says everything that is wrong, with the line, and loads nothing."""

import pytest

from crashlens.catalog.rows import RowFile
from crashlens.catalog.thresholds import parse_thresholds
from crashlens.errors import DataFileError

TWO_BAD_ROWS = """\
# a comment

[[threshold]]
name = "a_s"
value = "3"
unit = "s"
meaning = "m"
source = "s"

  [[ threshold ]]
name = "b_s"
value = true
unit = 1
meaning = "m"
source = "s"
sauce = "x"
"""


def faults(text: str) -> list[str]:
    with pytest.raises(DataFileError) as caught:
        parse_thresholds(RowFile("t.toml", text, "threshold"))
    return sorted(caught.value.faults)


def test_every_fault_of_a_file_is_reported_with_the_line_of_its_row() -> None:
    assert faults(TWO_BAD_ROWS) == [
        "t.toml:10: sauce is not a key of this table",
        "t.toml:10: unit must be text",
        "t.toml:10: value must be a number",
        "t.toml:3: value must be a number",
    ]


def test_a_file_without_rows_is_a_fault_and_not_an_empty_catalog() -> None:
    assert faults("# nothing\n") == ["t.toml:1: there is no [[threshold]]"]
    assert faults('threshold = "no array"\n') == ["t.toml:1: there is no [[threshold]]"]


def test_an_array_of_something_else_is_a_fault() -> None:
    assert faults("threshold = [1, 2]\n") == ["t.toml:1: there is no [[threshold]]"]


def test_a_file_that_is_no_toml_says_so() -> None:
    with pytest.raises(DataFileError) as caught:
        RowFile("t.toml", "[[threshold]]\nname = \n", "threshold")
    assert caught.value.faults[0].startswith("t.toml: Invalid value (at line 2")
