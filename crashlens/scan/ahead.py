"""A long file on two cores: a helper process reads, unpacks, digests and searches it, while records are made here.

Threads do not help: they would share the lock of Python. The helper hands over blocks through memory that both
share, and says through a pipe what it found in them. It writes nothing, and ends when nobody reads on. Where this
process would have to wait, it gets the next blocks at once and searches them itself.
"""

import json
import mmap
import os
import select
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import IO, Any

from crashlens.rules.fast_matcher import AutoMatcher
from crashlens.rules.matcher import Candidate, Matcher
from crashlens.scan.envelope import strip_unprinted
from crashlens.scan.member import Block, Member, Searched
from crashlens.scan.packed import BLOCK, open_stream
from crashlens.scan.search import search

PROCESSES = "CRASHLENS_PROCESSES"  # environment variable: how many processes read one file, 1 or 2
ALONE = 128  # blocks that are read here while the helper gets ready
LEAST_PLAIN = 2 * ALONE * BLOCK  # bytes of a file for which a helper is worth it
LEAST_PACKED = LEAST_PLAIN // 8
SLOT = 2 * 1024 * 1024  # bytes that one block may have; the longest has a line of 1 MiB and two halves of `BLOCK`
TOGETHER = 4  # blocks that are handed over at once: to say it takes as long as to search a fifth of a block
GROUPS = 12  # groups of blocks that were read and not taken yet
HUNGRY = 1  # so few of them, and the next is handed over unsearched
_STATE = ("notices", "lines", "sha256", "complete", "packing")  # what a member knows of its file once it was read
_LENGTH = Struct("<I")
_TAKEN = b"."
# The path is set before anything is imported: the folder of the evidence may stand in it. Two packages are not imported
# as such, since that would load the libraries for tables and all rules.
_START = """
import json, sys, types
paths, package = json.loads(sys.argv[1])
sys.path[:] = paths
for name in ("crashlens", "crashlens.rules"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [package + name[len("crashlens"):].replace(".", "/")]
from crashlens.scan.ahead import serve
serve(int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
"""

# No threads that are not needed; what is freed is kept for the next blocks, since each page given back is cleared anew.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "67108864", "MALLOC_MMAP_THRESHOLD_": "67108864"}
# The literals and the pattern of each item (rule or step line), as `AutoMatcher` takes them.
Searches = tuple[Sequence[Sequence[str]], Sequence[str]]


def usable_processes() -> int:
    """How many processes may read one file here: 2 on Linux with more than one usable core, unless it is given."""
    if not hasattr(os, "memfd_create"):
        return 1
    given = os.environ.get(PROCESSES, "")
    wanted = int(given) if given.isdecimal() else len(os.sched_getaffinity(0))
    return max(1, min(wanted, 2))


def blocks_ahead(member: Member, searches: Searches | None, *, processes: int | None = None) -> Iterator[Block]:
    """The blocks of a file, as `Member.blocks` gives them; those that the helper searched say so.

    The member is brought up to date as `Member.blocks` does. Where there is no helper, or it is lost, the file is read
    here.

    Args:
        member: The file.
        searches: What to search in the blocks; None for blocks that are not searched as they are.
        processes: How many processes may read it; None takes `usable_processes`.
    """
    if (usable_processes() if processes is None else processes) < 2 or not _is_long(member.file):
        yield from member.blocks()
        return
    done = 0
    with suppress(_LostError), _started(member, searches) as ahead:
        first = Member(member.path, member.file).blocks()
        for block in islice(first, ALONE):
            yield block
            done += 1
        for block in ahead.blocks():
            yield block
            done += 1
        ahead.finish(member)
        return
    yield from islice(member.blocks(), done, None)


def _is_long(file: Path) -> bool:
    """Whether a file is long enough; what is no regular file can be read once only."""
    with suppress(OSError):
        size = file.stat().st_size
        if file.is_file() and size >= LEAST_PACKED:
            with file.open("rb") as raw:
                return size >= (LEAST_PLAIN if open_stream(raw.read(BLOCK)) is None else LEAST_PACKED)
    return False


class _LostError(Exception):
    """The helper is not there, or no longer."""


@contextmanager
def _started(member: Member, searches: Searches | None) -> Generator["_Ahead"]:
    """Start a helper, and end it behind the block.

    Raises:
        _LostError: There is none.
    """
    if not sys.executable:  # Python inside another program
        raise _LostError
    try:
        shared = os.memfd_create("crashlens-ahead")
        try:
            os.ftruncate(shared, SLOT * TOGETHER * GROUPS)
            memory = mmap.mmap(shared, SLOT * TOGETHER * GROUPS)
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps(_where()), str(shared)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[shared],
                env=os.environ | _ENVIRONMENT,
            )  # fmt: skip
        finally:
            os.close(shared)
    except OSError as error:
        raise _LostError from error
    try:
        yield _Ahead(process, memory, (member.path, str(member.file.absolute())), searches)
    finally:
        process.kill()
        process.communicate()
        memory.close()


class _Ahead:
    """The helper as it is seen from here."""

    def __init__(
        self, process: subprocess.Popen[bytes], memory: mmap.mmap, file: tuple[str, str], searches: Searches | None
    ) -> None:
        if process.stdin is None or process.stdout is None:
            raise _LostError
        self._requests, self._answers = process.stdin, process.stdout
        self._memory = memory
        self._state: dict[str, Any] = {}
        with _losing():
            _send(self._requests, (*file, searches))

    def blocks(self) -> Iterator[Block]:
        """The blocks behind the first `ALONE`, up to the end of the file."""
        while True:
            with _losing():
                said = _received(self._answers)
                if isinstance(said, dict):
                    self._state = said
                    return
            for slot, length, line, found in said:
                with _losing():
                    data = self._memory[slot * SLOT : slot * SLOT + length]
                    block = Block(line, data, searched=None if found is None else _searched(data, *found))
                yield block
            with _losing():
                self._requests.write(_TAKEN)
                self._requests.flush()

    def finish(self, member: Member) -> None:
        """Let the member know what the helper knows of the file."""
        state = self._state
        member.lines, member.sha256, member.packing = state["lines"], state["sha256"], state["packing"]
        member.notices += state["notices"]  # behind what was known before it was read
        member.complete = member.complete and state["complete"]


def _searched(data: bytes, changed: bool, found: list[list[Any]], lines: list[int]) -> Searched:  # noqa: FBT001
    candidates = [Candidate(start, end, tuple(items), error) for start, end, items, error in found]
    return Searched(strip_unprinted(data) if changed else data, candidates, lines)


@contextmanager
def _losing() -> Generator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise _LostError from error


def serve(shared: int, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Be the helper: read the file that the first request names, and answer each of its blocks."""
    import_module("numpy")  # for count_lines; it is paid back by the first 100 MB
    with suppress(EOFError, BrokenPipeError):
        path, file, searches = _received(requests)
        member = Member(path, Path(file))
        find = None if searches is None else _finder(AutoMatcher(*searches, few_bytes=1))
        _hand_over(member, find, mmap.mmap(shared, SLOT * TOGETHER * GROUPS), requests, answers)
        _send(answers, {name: getattr(member, name) for name in _STATE})
        requests.read()  # until nobody reads on


def _hand_over(
    member: Member, find: Callable[[bytes], Any] | None, memory: mmap.mmap, requests: IO[bytes], answers: IO[bytes]
) -> None:
    free, given = list(range(GROUPS)), list[int]()
    blocks = islice(member.blocks(), ALONE, None)
    while group := list(islice(blocks, TOGETHER)):
        while not free or select.select([requests], [], [], 0)[0]:
            taken = len(os.read(requests.fileno(), GROUPS))  # past the buffer, which `select` does not see
            if not taken:
                raise EOFError
            free += given[:taken]
            del given[:taken]
        find_now = find if len(given) > HUNGRY else None
        given.append(free.pop())
        said: list[tuple[int, int, int, Any]] = []
        for slot, block in enumerate(group, given[-1] * TOGETHER):
            memory[slot * SLOT : slot * SLOT + len(block.data)] = block.data
            found = None if find_now is None else find_now(block.data)
            said.append((slot, len(block.data), block.first_line, found))
        _send(answers, said)


def _finder(matcher: Matcher) -> Callable[[bytes], Any]:
    def find(data: bytes) -> Any:
        one = search(data, matcher)
        return one.data is not data, [(c.start, c.end, c.items, c.error) for c in one.candidates], one.lines

    return find


def _where() -> tuple[list[str], str]:
    """Where the helper finds its modules: what was relative, the working folder too, is left out."""
    return [path for path in sys.path if Path(path).is_absolute()], str(Path(__file__).parents[1])


def _send(file: IO[bytes], said: object) -> None:
    data = json.dumps(said, separators=(",", ":")).encode()
    file.write(_LENGTH.pack(len(data)) + data)
    file.flush()


def _received(file: IO[bytes]) -> Any:
    (length,) = _LENGTH.unpack(_read(file, _LENGTH.size))
    return json.loads(_read(file, length))


def _read(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data
