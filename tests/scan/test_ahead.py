import threading
import time
from collections.abc import Iterator

import pytest

from crashlens.scan.ahead import AHEAD, ALONE, MOST_THREADS, THREADS, usable_threads, work_ahead


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("count", [0, 1, ALONE, ALONE + 1, 5 * ALONE])
def test_the_order_is_kept(threads: int, count: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))  # so that later blocks are done before earlier ones
        return number * number

    assert list(work_ahead(range(count), work, threads=threads)) == [(n, n * n) for n in range(count)]


def test_a_fault_of_the_source_comes_behind_the_blocks_before_it() -> None:
    def blocks() -> Iterator[int]:
        yield from range(ALONE + 3)
        raise OSError("gone")

    got: list[int] = []
    with pytest.raises(OSError, match="gone"):
        got.extend(block for block, _ in work_ahead(blocks(), lambda number: number, threads=2))
    assert got == list(range(ALONE + 3))


def test_no_more_blocks_are_read_than_may_wait() -> None:
    read = 0

    def blocks() -> Iterator[int]:
        nonlocal read
        for number in range(200):
            read = number + 1
            yield number

    for number, _ in work_ahead(blocks(), lambda block: block, threads=2):
        assert read - number <= 2 + 2 * AHEAD


def test_a_reader_that_stops_early_leaves_no_thread() -> None:
    before = threading.active_count()
    ahead = work_ahead(range(10 * ALONE), lambda block: block, threads=4)
    for _ in range(2 * ALONE):
        next(ahead)
    ahead.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_the_number_of_threads_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "1")
    assert usable_threads() == 1
    monkeypatch.setenv(THREADS, "64")
    assert usable_threads() == MOST_THREADS
    monkeypatch.setenv(THREADS, "many")
    assert 1 <= usable_threads() <= MOST_THREADS
