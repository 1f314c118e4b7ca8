"""Search on further cores: a helper process names the candidates of the blocks ahead, while records are made here.

Threads do not help: with the search they would share the lock of Python. The helper gets each block through memory that
both share and answers through a pipe. It reads nothing else, writes nothing, and ends when its input ends.
"""

import json
import mmap
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import IO, Any

from crashlens.rules.fast_matcher import HyperscanMatcher, fast_engine
from crashlens.rules.matcher import Candidate, LiteralMatcher, Matcher
from crashlens.scan.envelope import strip_unprinted
from crashlens.scan.member import Block, count_lines

PROCESSES = "CRASHLENS_PROCESSES"  # environment variable: how many processes search, this one included
MOST_PROCESSES = 2  # one helper keeps the making of records busy; each costs some 60 MB
SLOT = 2 * 1024 * 1024  # bytes that one block may have; a longer one is searched here
SLOTS = 12  # blocks that one helper may have
TOGETHER = 4  # blocks of one request: to wake a process costs as much as to search a tenth of a block
END_S = 5  # that a helper gets to end
_LENGTH = Struct("<I")
_READY = b"+"
# The path is set before anything is imported: the folder of the evidence may stand in it. The package itself is not
# imported, since that would read the tables' libraries.
_START = """
import json, sys, types
paths, package = json.loads(sys.argv[1])
sys.path[:] = paths
crashlens = sys.modules["crashlens"] = types.ModuleType("crashlens")
crashlens.__path__ = [package]
from crashlens.scan.search_process import serve
serve(int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
"""

# The data of a block as it is searched, its candidates, and how many lines of the block stand before each.
Searched = tuple[bytes, list[Candidate], list[int]]


def search(data: bytes, matcher: Matcher) -> Searched:
    """The candidates of the data of one block."""
    searched = strip_unprinted(data)
    candidates = list(matcher.candidates(searched))
    at = line = 0
    lines: list[int] = []
    for one in candidates:
        line += count_lines(searched, at, one.start)
        at = one.start
        lines.append(line)
    return searched, candidates, lines


def usable_processes() -> int:
    """How many processes are worth it here: the cores this one may use, up to `MOST_PROCESSES`; 1 without helpers."""
    if not hasattr(os, "memfd_create"):  # other systems than Linux
        return 1
    given = os.environ.get(PROCESSES, "")
    if given.isdecimal():
        return max(1, min(int(given), MOST_PROCESSES))
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


@contextmanager
def search_processes(
    literals: Sequence[Sequence[str]], patterns: Sequence[str], count: int
) -> Generator[list["SearchProcess"]]:
    """Start `count` helpers, fewer where the system gives none, and end them behind the block."""
    with ExitStack() as stack:
        helpers: list[SearchProcess] = []
        with suppress(OSError):
            for _ in range(count):
                helper = SearchProcess(literals, patterns)
                stack.callback(helper.close)
                helpers.append(helper)
        yield helpers


class SearchProcess:
    """One helper. It is used by one thread.

    Args:
        literals: The literals of each item (rule or step line), in the order that numbers them.
        patterns: The pattern of each; empty for one that only its literals find.

    Raises:
        OSError: The system gives no memory or no process.
    """

    def __init__(self, literals: Sequence[Sequence[str]], patterns: Sequence[str]) -> None:
        self._taken: deque[tuple[Block, int]] = deque()
        self._free = list(range(SLOTS))
        self._unsent: list[tuple[int, int]] = []
        self._answered: deque[Any] = deque()
        self._is_ready = self._is_lost = False
        shared = os.memfd_create("crashlens-search")
        try:
            os.ftruncate(shared, SLOT * SLOTS)
            self._memory = mmap.mmap(shared, SLOT * SLOTS)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps(_where()), str(shared)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[shared],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                bufsize=0,  # `select` sees what was not read yet, and nothing that was
            )  # fmt: skip
        finally:
            os.close(shared)
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise OSError("no pipe to the helper")
        self._requests, self._answers = requests, answers
        with self._losing():
            _send(self._requests, (list(map(list, literals)), list(patterns)))

    def takes(self, block: Block) -> bool:
        """Whether it took this block; see `ahead.Helper`."""
        if self._is_lost or not self._free or len(block.data) > SLOT:
            return False
        if not self._is_ready:
            if not self._has_answer():
                return False
            with self._losing():
                self._is_ready = self._answers.read(1) == _READY
                self._is_lost = not self._is_ready
            if self._is_lost:
                return False
        slot = self._free.pop()
        self._memory[slot * SLOT : slot * SLOT + len(block.data)] = block.data
        self._taken.append((block, slot))
        self._unsent.append((slot * SLOT, len(block.data)))
        if len(self._unsent) in {TOGETHER, len(self._taken)}:  # enough, or it has nothing to do
            self._send()
        return True

    def has_done(self) -> bool:
        """Whether `result` would answer at once."""
        return self._is_lost or bool(self._answered) or self._has_answer()

    def result(self) -> Searched | None:
        """What `search` answers for the first block that was taken and not answered yet; None: the helper is lost."""
        block, slot = self._taken.popleft()
        self._free.append(slot)
        if not self._answered and len(self._unsent) == len(self._taken) + 1:
            self._send()
        with self._losing():
            if not self._answered and not self._is_lost:
                self._answered.extend(_received(self._answers))
        if not self._answered:
            return None
        changed, found, lines = self._answered.popleft()
        candidates = [Candidate(start, end, tuple(items), error) for start, end, items, error in found]
        return strip_unprinted(block.data) if changed else block.data, candidates, lines

    def _send(self) -> None:
        with self._losing():
            _send(self._requests, self._unsent)
        self._unsent = []

    def close(self) -> None:
        """End the helper."""
        with suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(0 if self._taken else END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        self._memory.close()

    def _has_answer(self) -> bool:
        return bool(select.select([self._answers], [], [], 0)[0])

    @contextmanager
    def _losing(self) -> Generator[None]:
        try:
            yield
        except (OSError, EOFError, ValueError, TypeError):
            self._is_lost = True


def serve(shared: int, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Be the helper: answer each block in the shared memory with its candidates, until the requests end."""
    import_module("numpy")  # for count_lines; it is paid back by the first 100 MB
    memory = mmap.mmap(shared, SLOT * SLOTS)
    try:
        matcher = _matcher(*_received(requests))
        _write(answers, _READY)
        while True:
            places = _received(requests)
            _send(answers, [_answer(memory[start : start + length], matcher) for start, length in places])
    except (EOFError, BrokenPipeError):
        return


def _answer(data: bytes, matcher: Matcher) -> tuple[bool, list[tuple[int, int, tuple[int, ...], bool]], list[int]]:
    searched, candidates, lines = search(data, matcher)
    return searched is not data, [(one.start, one.end, one.items, one.error) for one in candidates], lines


def _matcher(literals: Sequence[Sequence[str]], patterns: Sequence[str]) -> Matcher:
    return LiteralMatcher(literals) if fast_engine() is None else HyperscanMatcher(literals, patterns)


def _where() -> tuple[list[str], str]:
    """Where the helper finds its modules: what was relative, the working folder too, is left out."""
    return [path for path in sys.path if Path(path).is_absolute()], str(Path(__file__).parents[1])


def _send(file: IO[bytes], said: object) -> None:
    data = json.dumps(said, separators=(",", ":")).encode()
    _write(file, _LENGTH.pack(len(data)) + data)


def _write(file: IO[bytes], data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    file.flush()


def _received(file: IO[bytes]) -> Any:
    (length,) = _LENGTH.unpack(_read(file, _LENGTH.size))
    return json.loads(_read(file, length))


def _read(file: IO[bytes], size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = file.read(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
