from pathlib import Path

import polars as pl
import pytest

import crashlens as cl
from crashlens.errors import NoSuchInputError
from crashlens.schemas import Tables

OOM = "CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.fixture
def empty(tmp_path: Path) -> cl.Case:
    (tmp_path / "in").mkdir()
    return cl.read(tmp_path / "in")


@pytest.fixture
def case(tmp_path: Path) -> cl.Case:
    (tmp_path / "job.log").write_text(f"2026-10-01T10:00:00Z n1 app[7]: {OOM}\nstep 1 loss 2.0\n", encoding="utf-8")
    return cl.read(str(tmp_path / "job.log"))


def test_every_table_is_a_property(case: cl.Case) -> None:
    for name in Tables.names():
        assert isinstance(getattr(case, name), pl.DataFrame)
        assert getattr(case, name).equals(case.table(name))


def test_an_empty_case_says_what_it_cannot_decide(empty: cl.Case) -> None:
    text = repr(empty)
    assert text.startswith("Nothing was recognised in what was given; no conclusion can be drawn from it.")
    assert "Which error came first?" in " ".join(text.split())
    bundle = empty._repr_mimebundle_()
    assert bundle["text/plain"] == text
    assert bundle["text/html"].startswith('<div class="crashlens">')
    assert "application/vnd.crashlens.table+json" in bundle


def test_every_verb_works_on_an_empty_case(empty: cl.Case) -> None:
    assert set(empty.coverage_rows().columns) >= {"question", "signal"}
    assert {finding.verdict for finding in empty.findings()} <= {"undecided"}
    assert empty.answer().to_json()["schema"] == "crashlens.findings/1"
    assert empty.answer_text().startswith("[crashlens findings]\n")
    for view in (
        empty.coverage(),
        empty.scope(),
        empty.read_sources(),
        empty.digests(),
        empty.clock_table(),
        empty.versions(),
    ):
        assert view._repr_mimebundle_()["text/plain"]
    assert repr(empty.window("2026-10-01T10:00:00Z", "2026-10-01T11:00:00Z"))


def test_reading_takes_a_path_a_text_or_several(case: cl.Case, tmp_path: Path) -> None:
    for paths in (tmp_path / "job.log", [tmp_path / "job.log"], (str(tmp_path / "job.log"), tmp_path)):
        assert cl.read(paths).events.equals(case.events)


def test_reading_twice_gives_the_same_tables(case: cl.Case, tmp_path: Path) -> None:
    again = cl.read(tmp_path / "job.log")
    for name in Tables.names():
        assert getattr(again, name).equals(getattr(case, name))


def test_a_window_is_a_case_with_its_own_conclusions(case: cl.Case) -> None:
    assert isinstance(case.window("2026-10-01T10:00:00Z/2026-10-01T11:00:00Z"), cl.Case)
    later = case.window("2026-10-01T11:00:00Z/2026-10-01T12:00:00Z")
    assert (case.events.height, later.events.height) == (1, 0)
    assert [finding.cause for finding in case.findings()] != [finding.cause for finding in later.findings()]


def test_a_saved_case_is_opened_as_a_case(case: cl.Case, tmp_path: Path) -> None:
    opened = cl.open(case.save(tmp_path / "saved"))
    assert isinstance(opened, cl.Case)
    assert opened.answer().to_json() == case.answer().to_json()
    assert repr(opened) == repr(case)


def test_the_shipped_samples_are_found_by_name() -> None:
    assert cl.sample("throttled_then_xid94").is_dir()
    with pytest.raises(NoSuchInputError) as caught:
        cl.sample("nothing")
    assert str(caught.value).startswith('There is no sample "nothing".\n  known  ')
    assert "throttled_then_xid94" in str(caught.value)


def test_no_control_character_of_a_log_reaches_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(f"\x1b[31mRuntimeError: {OOM}\x07\u202e evil\x1b]0;t\x07\n", encoding="utf-8")
    text = cl.read(tmp_path).answer_text()
    assert OOM in text
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or char in "\u202e\x7f"]
