import polars as pl
import pytest

from crashlens.errors import MissingColumnError
from crashlens.views.coverage import answerable, coverage_view


def test_one_row_per_question(made) -> None:
    assert coverage_view(made.coverage).rows == (
        ("thermal", "yes", "memory_temperature_c (not supported)", "none", "none", "none"),
        (
            "memory heat",
            "no",
            "memory_temperature_c (not supported)\nsm_clock_mhz (in part, 52.0% of samples)",
            "memory_heat stays open.",
            "memory_heat in words.",
            "collect memory_temperature_c\ncollect sm_clock_mhz",
        ),
    )


def test_the_question_is_asked_in_words_where_there_are_some(made) -> None:
    asked = made.coverage.with_columns(asks=pl.lit("Was it hot?"))
    assert [one.question for one in answerable(asked)] == ["Was it hot?", "Was it hot?"]


def test_a_column_that_is_not_there_raises(made) -> None:
    with pytest.raises(MissingColumnError):
        coverage_view(made.coverage.drop("state"))


def test_no_question_is_no_row(made) -> None:
    assert coverage_view(made.coverage.clear()).rows == ()
