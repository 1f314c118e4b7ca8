import polars as pl
import pytest

from crashlens.errors import MissingColumnError
from crashlens.views.coverage import answerable, collect_view, coverage_view


def test_one_row_per_question(made) -> None:
    assert coverage_view(made.coverage).rows == (
        ("thermal", "yes", "memory_temperature_c (not supported)", "none", "none"),
        (
            "memory heat",
            "no",
            "memory_temperature_c (not supported)\nsm_clock_mhz (in part, 52.0% of samples)",
            "memory_heat stays open.",
            "memory_heat in words.",
        ),
    )


def test_what_would_collect_it_is_listed_only_where_a_question_is_open(made) -> None:
    assert collect_view(made.coverage).rows == (("memory heat", "collect memory_temperature_c\ncollect sm_clock_mhz"),)


def test_a_signal_with_a_complete_stand_in_is_not_missing(made) -> None:
    grouped = made.coverage.with_columns(group=pl.lit("heat")).filter(pl.col("question") == "thermal")
    assert "ok" in grouped["state"].to_list()
    assert answerable(grouped)[0].missing == ()


def test_the_question_is_asked_in_words_where_there_are_some(made) -> None:
    asked = made.coverage.with_columns(asks=pl.lit("Was it hot?"))
    assert [one.question for one in answerable(asked)] == ["Was it hot?", "Was it hot?"]


def test_a_column_that_is_not_there_raises(made) -> None:
    with pytest.raises(MissingColumnError):
        coverage_view(made.coverage.drop("state"))


def test_no_question_is_no_row(made) -> None:
    assert coverage_view(made.coverage.clear()).rows == ()
