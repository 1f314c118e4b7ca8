import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashlens.rules.load import shipped_rules
from crashlens.rules.matcher import LiteralMatcher
from crashlens.scan import search_process
from crashlens.scan.member import Block
from crashlens.scan.records import RecordReader, searched_pattern
from crashlens.scan.search_process import (
    MOST_PROCESSES,
    PROCESSES,
    SLOT,
    SLOTS,
    SearchProcess,
    search,
    search_processes,
    usable_processes,
)

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="helper processes need Linux")

RULES = shipped_rules()
ITEMS = (*RULES.rules, *RULES.step_lines)
LITERALS = [item.literals for item in ITEMS]
PATTERNS = [searched_pattern(item) for item in ITEMS]
XID = b"[12.345678] NVRM: Xid (PCI:0000:65:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n"
READY_S = 60


def ready(helper: SearchProcess, block: Block) -> None:
    """Wait until it takes its first block."""
    end = time.monotonic() + READY_S
    while not helper.takes(block):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def helper() -> Iterator[SearchProcess]:
    with search_processes(LITERALS, PATTERNS, 1) as helpers:
        yield helpers[0]


def test_a_helper_names_the_candidates_that_the_search_here_names(helper: SearchProcess) -> None:
    blocks = [Block(1, b"fine\n" * n + XID + b"\x1b[31mfine\x1b[0m\n" * (n % 3) + XID) for n in range(10)]
    ready(helper, blocks[0])
    for block in blocks[1:]:
        assert helper.takes(block)
    reference = LiteralMatcher(LITERALS)
    for block in blocks:
        found = helper.result()
        assert found is not None
        data, candidates, lines = found
        expected = search(block.data, reference)
        assert data == expected[0]
        assert lines == expected[2]
        assert [(one.start, one.end, one.error) for one in candidates] == [
            (one.start, one.end, one.error) for one in expected[1]
        ]


def test_a_helper_takes_only_what_it_has_room_for(helper: SearchProcess) -> None:
    ready(helper, Block(1, XID))
    assert not helper.takes(Block(2, b"x" * (SLOT + 1)))
    assert helper.takes(Block(2, b"x" * SLOT))
    assert sum(helper.takes(Block(3, XID)) for _ in range(SLOTS)) == SLOTS - 2
    assert helper.result() is not None
    assert helper.takes(Block(4, XID))


def test_a_helper_that_dies_is_lost_and_so_are_the_blocks_it_has(helper: SearchProcess) -> None:
    ready(helper, Block(1, XID))
    assert helper.result() is not None
    os.kill(helper._process.pid, signal.SIGKILL)
    helper._process.wait()
    if helper.takes(Block(2, XID)):
        assert helper.result() is None
    assert helper.has_done()
    assert not helper.takes(Block(3, XID))


def test_a_helper_that_dies_costs_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crashlens.scan.records.SEARCHED_ALONE", 1)
    started: list[SearchProcess] = []
    monkeypatch.setattr(
        search_process, "SearchProcess", lambda *args: started.append(SearchProcess(*args)) or started[-1]
    )

    def blocks() -> Iterator[Block]:
        for number in range(400):
            if number == 150 and started:
                os.kill(started[0]._process.pid, signal.SIGKILL)
            if number == 10:
                time.sleep(1)  # the helper gets ready
            yield Block(1 + 3 * number, b"fine\n" + XID + b"fine\n")

    hits = list(RecordReader(RULES, processes=2).read(blocks()))
    assert len(started) == 1
    assert [hit.line for hit in hits] == [2 + 3 * number for number in range(400)]


def test_helpers_end_with_the_reading_of_them() -> None:
    with search_processes(LITERALS, PATTERNS, 2) as helpers:
        ready(helpers[1], Block(1, XID))
        processes = [one._process for one in helpers]
        assert len(processes) == 2
    assert all(process.poll() is not None for process in processes)


def test_no_module_is_taken_from_the_working_folder(tmp_path: Path) -> None:
    for name in ("json", "types", "re", "hyperscan", "crashlens", "numpy"):
        (tmp_path / f"{name}.py").write_text("import os\nos.write(2, b'taken')\nos._exit(9)\n", "utf-8")
    root = Path(search_process.__file__).parents[2]
    code = (
        "import sys, os, time\n"
        f"sys.path.insert(0, {str(root)!r})\n"
        "from crashlens.scan.search_process import search_processes\n"
        "from crashlens.scan.member import Block\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "sys.path.insert(0, '')\n"
        "with search_processes([['needle in hay']], ['needle in hay'], 1) as (helper,):\n"
        f"    end = time.monotonic() + {READY_S}\n"
        "    while not helper.takes(Block(1, b'a needle in hay')) and time.monotonic() < end:\n"
        "        time.sleep(0.01)\n"
        "    print(len(helper.result()[1]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert (ran.stdout.strip(), ran.stderr) == ("1", "")


def test_no_helper_is_started_where_the_system_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_args: object, **_kwargs: object) -> None:
        raise OSError("no process")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with search_processes(LITERALS, PATTERNS, 3) as helpers:
        assert helpers == []


def test_the_number_of_processes_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSES, "1")
    assert usable_processes() == 1
    monkeypatch.setenv(PROCESSES, "64")
    assert usable_processes() == MOST_PROCESSES
    monkeypatch.setenv(PROCESSES, "many")
    assert 1 <= usable_processes() <= MOST_PROCESSES
