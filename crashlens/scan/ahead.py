"""Work on the blocks that come, on several cores, in their order: while one block is taken, the next are worked on."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

THREADS = "CRASHLENS_THREADS"  # environment variable: how many threads search, beside the one that reads
MOST_THREADS = 4  # one reader keeps no more of them busy
ALONE = 16  # blocks that are worked on before threads are started: a short source is done by then
AHEAD = 2  # blocks per thread that wait

_Block = TypeVar("_Block")
_Done = TypeVar("_Done")


def usable_threads() -> int:
    """How many threads are worth it here: the cores this process may use, up to `MOST_THREADS`; 1 stands for none."""
    given = os.environ.get(THREADS, "")
    if given.isdecimal():
        return max(1, min(int(given), MOST_THREADS))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


def work_ahead(
    blocks: Iterable[_Block], work: Callable[[_Block], _Done], *, threads: int
) -> Iterator[tuple[_Block, _Done]]:
    """Each block with what `work` made of it, in order. What a block or its work raises comes after those before it.

    `work` must be safe in several threads. At most `threads * AHEAD` results wait, whatever the length of the source.
    """
    rest = iter(blocks)
    for block in rest if threads < 2 else islice(rest, ALONE):
        yield block, work(block)
    waiting: deque[tuple[_Block, Future[_Done]]] = deque()
    fault: list[Exception] = []
    more = _told(rest, fault)
    first = next(more, None)
    if first is not None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not needed for short sources

        with ThreadPoolExecutor(threads) as pool:
            waiting.append((first, pool.submit(work, first)))
            while waiting:
                for block in islice(more, 1 + threads * AHEAD - len(waiting)):
                    waiting.append((block, pool.submit(work, block)))
                block, done = waiting.popleft()
                yield block, done.result()
    if fault:
        raise fault[0]


def _told(blocks: Iterator[_Block], fault: list[Exception]) -> Iterator[_Block]:
    """The blocks up to the one that cannot be had; why stands in `fault`."""
    try:
        yield from blocks
    except Exception as error:  # noqa: BLE001 - it is raised again once the blocks before it were worked on
        fault.append(error)
