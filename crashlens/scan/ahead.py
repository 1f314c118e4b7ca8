"""Work on the blocks that come, in their order: helpers take blocks ahead, and who would have to wait works himself."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Generic, Protocol, TypeVar

MOST_WAITING = 24  # blocks whose results wait, or that helpers have

_Block = TypeVar("_Block")
_Done = TypeVar("_Done")
_Taken_contra = TypeVar("_Taken_contra", contravariant=True)
_Answer_co = TypeVar("_Answer_co", covariant=True)


class Helper(Protocol, Generic[_Taken_contra, _Answer_co]):
    """Does the work on blocks elsewhere, one after the other."""

    def takes(self, block: _Taken_contra) -> bool:
        """Whether it took this block: it is ready, has room for it, and is not lost."""
        ...

    def has_done(self) -> bool:
        """Whether `result` would answer at once."""
        ...

    def result(self) -> _Answer_co | None:
        """The result of the first block that it took and did not answer yet, waited for; None: it is lost."""
        ...


# A block, who has it, and what was made of it where that was done here.
_Waiting = tuple[_Block, Helper[_Block, _Done] | None, _Done | None]


def work_ahead(
    blocks: Iterable[_Block],
    work: Callable[[_Block], _Done],
    *,
    alone: int | None,
    helpers: Callable[[], AbstractContextManager[Sequence[Helper[_Block, _Done]]]],
) -> Iterator[tuple[_Block, _Done]]:
    """Each block with what `work` made of it, in order. What a block or its work raises comes after those before it.

    Args:
        blocks: The source.
        work: What is done with each block, here.
        alone: So many blocks are worked on before helpers are started: a short source is done by then. None: all.
        helpers: Starts them. They may be fewer than wanted, get ready late and be lost; the results are the same.
    """
    rest = iter(blocks)
    for block in islice(rest, alone):
        yield block, work(block)
    fault: list[Exception] = []
    more = _told(rest, fault)
    first = next(more, None)
    if first is not None:
        with helpers() as ready:
            yield first, work(first)
            yield from _shared(more, work, ready)
    if fault:
        raise fault[0]


def _shared(
    more: Iterator[_Block], work: Callable[[_Block], _Done], helpers: Sequence[Helper[_Block, _Done]]
) -> Iterator[tuple[_Block, _Done]]:
    waiting: deque[_Waiting[_Block, _Done]] = deque()
    for block in more:
        helper = _taker(helpers, block)
        # A helper that waits for more is worse than a result that waits: blocks are given away before one is taken.
        while helper is None and waiting and (len(waiting) >= MOST_WAITING or _is_done(waiting[0])):
            yield _first(waiting, work)
            helper = _taker(helpers, block)
        waiting.append((block, helper, work(block) if helper is None else None))
    while waiting:
        yield _first(waiting, work)


def _taker(helpers: Sequence[Helper[_Block, _Done]], block: _Block) -> Helper[_Block, _Done] | None:
    return next((one for one in helpers if one.takes(block)), None)


def _is_done(waiting: _Waiting[_Block, _Done]) -> bool:
    return waiting[1] is None or waiting[1].has_done()


def _first(waiting: deque[_Waiting[_Block, _Done]], work: Callable[[_Block], _Done]) -> tuple[_Block, _Done]:
    block, helper, done = waiting.popleft()
    if helper is not None:
        done = helper.result()
    return block, work(block) if done is None else done


def _told(blocks: Iterator[_Block], fault: list[Exception]) -> Iterator[_Block]:
    """The blocks up to the one that cannot be had; why stands in `fault`."""
    try:
        yield from blocks
    except Exception as error:  # noqa: BLE001 - it is raised again once the blocks before it were worked on
        fault.append(error)
