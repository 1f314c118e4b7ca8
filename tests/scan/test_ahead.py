from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest

from crashlens.scan.ahead import MOST_WAITING, work_ahead


def square(number: int) -> int:
    return number * number


class Fake:
    """A helper that squares: it takes so many blocks at a time, gets ready late, is slow, and may be lost."""

    def __init__(self, room: int = 3, ready_after: int = 0, done_after: int = 0, lost_after: int = 10**9) -> None:
        self.room, self.ready_after, self.done_after, self.left = room, ready_after, done_after, lost_after
        self.taken: deque[int] = deque()
        self.took: list[int] = []
        self.asked = 0
        self.ended = False

    def takes(self, block: int) -> bool:
        self.ready_after -= 1
        if self.ready_after >= 0 or len(self.taken) >= self.room or self.left <= 0:
            return False
        self.taken.append(block)
        self.took.append(block)
        return True

    def has_done(self) -> bool:
        self.asked += 1
        return self.left <= 0 or self.asked > self.done_after

    def result(self) -> int | None:
        self.asked = 0
        block = self.taken.popleft()
        self.left -= 1
        return None if self.left < 0 else square(block)


def started(*helpers: Fake) -> "Starter":
    return Starter(helpers)


class Starter:
    def __init__(self, helpers: Sequence[Fake]) -> None:
        self.helpers, self.times = helpers, 0

    def __call__(self) -> AbstractContextManager[Sequence[Fake]]:
        return self._running()

    @contextmanager
    def _running(self) -> Iterator[Sequence[Fake]]:
        self.times += 1
        try:
            yield self.helpers
        finally:
            for helper in self.helpers:
                helper.ended = True


@pytest.mark.parametrize("count", [0, 1, 4, 5, 6, 200])
@pytest.mark.parametrize(
    "helpers",
    [
        (),
        (Fake(),),
        (Fake(room=1), Fake(room=5)),
        (Fake(ready_after=30),),
        (Fake(done_after=7),),
        (Fake(done_after=10**6),),  # so slow that each result is waited for
        (Fake(lost_after=9), Fake(done_after=3)),
        (Fake(lost_after=0),),
    ],
)
def test_every_block_comes_once_in_order_with_its_result(count: int, helpers: tuple[Fake, ...]) -> None:
    helpers = tuple(Fake(one.room, one.ready_after, one.done_after, one.left) for one in helpers)
    got = list(work_ahead(range(count), square, alone=4, helpers=started(*helpers)))
    assert got == [(n, n * n) for n in range(count)]


def test_a_short_source_starts_no_helper_and_without_a_number_none_does() -> None:
    start = started(Fake())
    list(work_ahead(range(4), square, alone=4, helpers=start))
    list(work_ahead(range(400), square, alone=None, helpers=start))
    assert start.times == 0


def test_a_quick_helper_gets_nearly_all_blocks_and_a_slow_one_few() -> None:
    quick, slow = Fake(), Fake(done_after=9)
    for helper in (quick, slow):
        list(work_ahead(range(300), square, alone=0, helpers=started(helper)))
    assert len(quick.took) > 250
    assert 25 < len(slow.took) < 150


def test_a_fault_of_the_source_comes_behind_the_blocks_before_it() -> None:
    def blocks() -> Iterator[int]:
        yield from range(11)
        raise OSError("gone")

    got: list[int] = []
    with pytest.raises(OSError, match="gone"):
        got.extend(block for block, _ in work_ahead(blocks(), square, alone=4, helpers=started(Fake())))
    assert got == list(range(11))


def test_no_more_blocks_are_read_than_may_wait() -> None:
    read = 0

    def blocks() -> Iterator[int]:
        nonlocal read
        for number in range(300):
            read = number + 1
            yield number

    for number, _ in work_ahead(blocks(), square, alone=4, helpers=started(Fake(done_after=10**6))):
        assert read - number <= MOST_WAITING + 1


def test_a_reader_that_stops_early_ends_the_helpers() -> None:
    helper = Fake()
    ahead = work_ahead(range(100), square, alone=4, helpers=started(helper))
    for _ in range(20):
        next(ahead)
    ahead.close()  # type: ignore[attr-defined]
    assert helper.ended
