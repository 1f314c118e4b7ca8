"""Chains of exceptions as Python, torch and the C++ run time print them: which record follows which."""

from pathlib import Path

import crashlens as cl
from crashlens.analysis.exceptions import ignored, raised_before
from crashlens.analysis.records import LogRecord, log_records

TRACEBACK = "Traceback (most recent call last):"
FRAME = '  File "/app/train.py", line 12, in step'


def records(folder: Path, *lines: str) -> list[LogRecord]:
    (folder / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    case = cl.read(folder)
    return log_records(case.events, case.sources)


def followers(found: list[LogRecord]) -> dict[int, int]:
    """Line of each record that follows another one, to the line of the one that was raised first."""
    return {line: leader.place.line for (_, line, _), leader in raised_before(found).items()}


def test_of_a_chain_the_first_traceback_counts(tmp_path: Path) -> None:
    during = "During handling of the above exception, another exception occurred:"
    direct = "The above exception was the direct cause of the following exception:"
    found = records(
        tmp_path, TRACEBACK, FRAME, "KeyError: 'a'", "", during, "",
        TRACEBACK, FRAME, "ValueError: no a", "", direct, "", TRACEBACK, FRAME, "RuntimeError: cannot read",
    )  # fmt: skip
    assert followers(found) == {9: 3, 15: 3}


def test_two_tracebacks_without_a_link_stand_alone(tmp_path: Path) -> None:
    assert followers(records(tmp_path, TRACEBACK, FRAME, "KeyError: 'a'", TRACEBACK, FRAME, "ValueError: b")) == {}


def test_chains_of_two_ranks_are_kept_apart(tmp_path: Path) -> None:
    during = "During handling of the above exception, another exception occurred:"
    found = records(
        tmp_path, f"[rank0]: {TRACEBACK}", f"[rank1]: {TRACEBACK}", "[rank1]: IndexError: 7", "[rank0]: KeyError: 'a'",
        f"[rank0]: {during}", f"[rank0]: {TRACEBACK}", "[rank0]: RuntimeError: cannot read",
    )  # fmt: skip
    assert followers(found) == {7: 4}


def test_what_a_worker_raised_comes_before_what_passes_it_on(tmp_path: Path) -> None:
    found = records(
        tmp_path, TRACEBACK, FRAME, "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 0.",
        f"Original {TRACEBACK}", FRAME, "FileNotFoundError: [Errno 2] No such file or directory: '/data/1.jpg'",
    )  # fmt: skip
    assert followers(found) == {3: 6}


def test_what_the_run_time_throws_again_follows_what_it_quotes(tmp_path: Path) -> None:
    found = records(
        tmp_path, "terminate called after throwing an instance of 'c10::CUDAError'",
        "  what():  CUDA error: an illegal memory access was encountered",
    )  # fmt: skip
    assert followers(found) == {1: 2}


def test_an_exception_that_python_ignored_is_no_end(tmp_path: Path) -> None:
    found = records(
        tmp_path, "Exception ignored in: <function Client.__del__ at 0x7f1c2b3d4e50>", TRACEBACK, FRAME,
        "AttributeError: 'NoneType' object has no attribute 'close'",
    )  # fmt: skip
    assert [line for _, line, _ in ignored(found)] == [4]
    assert ignored(records(tmp_path, TRACEBACK, FRAME, "ValueError: b")) == set()
