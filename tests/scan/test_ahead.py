import gzip
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crashlens.rules.load import shipped_rules
from crashlens.scan import ahead
from crashlens.scan.ahead import PROCESSES, blocks_ahead, usable_processes
from crashlens.scan.member import Block, Member
from crashlens.scan.records import RecordReader

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="helper processes need Linux")

XID = b"[12.345678] NVRM: Xid (PCI:0000:65:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n"
SEARCHES = RecordReader(shipped_rules()).searches
ODD = b"\x1b[31mred\x1b[0m\n" + b"caf\xe9 rror\n" + b"\x00\x00zeros\r\n" + b"x" * 1_500_000 + b"\n"


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that is long enough, with a record every 40,000 lines and a last line without LF."""
    file = tmp_path_factory.mktemp("long") / "job.log"
    calm = b"".join(b"step %d of the run went well and nothing is to be said\n" % n for n in range(40_000))
    with file.open("wb") as out:
        while out.tell() < ahead.LEAST_PLAIN + 10_000_000:
            out.write(calm + XID)
        out.write(ODD + calm)
        out.write(b"the end: error")
    return file


def read(blocks: Iterator[Block]) -> tuple[list[tuple[str, int, str]], tuple[int, int, list[int]]]:
    reader = RecordReader(shipped_rules())
    hits = [(hit.rule.id, hit.line, hit.text) for hit in reader.read(blocks)]
    return hits, (reader.counts.matched, reader.counts.error_like, reader.counts.error_lines)


def slowly(blocks: Iterator[Block]) -> Iterator[Block]:
    """As somebody takes them who has work to do: who waits for blocks gets them unsearched."""
    for number, block in enumerate(blocks):
        if number > ahead.ALONE:
            time.sleep(0.005)
        yield block


def state(member: Member) -> tuple[object, ...]:
    return member.lines, member.sha256, member.notices, member.complete, member.packing


@pytest.mark.parametrize("packing", ["", "gzip"])
@pytest.mark.parametrize("searches", [SEARCHES, None], ids=["searched there", "searched here"])
def test_two_processes_give_what_one_gives(
    long_log: Path,
    packing: str,
    searches: ahead.Searches | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "LEAST_PACKED", 100_000)
    file = long_log
    if packing:
        file = long_log.with_suffix(".log.gz")
        file.write_bytes(gzip.compress(long_log.read_bytes(), 1))
    alone, helped = Member("job.log", file, ["It was cut."]), Member("job.log", file, ["It was cut."])
    alone.complete = helped.complete = False
    expected = read(blocks_ahead(alone, searches, processes=1))
    blocks = list(slowly(blocks_ahead(helped, searches, processes=2)))
    assert any(block.searched for block in blocks) == (searches is not None)
    assert read(iter(blocks)) == expected
    assert state(helped) == state(alone)
    assert helped.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert expected[0][0][:2] == ("kernel.xid", 40_001)
    assert helped.packing == packing
    assert len(helped.notices) == 2  # what was known before, and the line that is too long


def killed_after(count: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[Block]], Iterator[Block]]:
    """Kill the helper when so many blocks came."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **named: started.append(popen(*args, **named)) or started[-1]
    )

    def passed_on(blocks: Iterator[Block]) -> Iterator[Block]:
        for number, block in enumerate(blocks):
            if number == count:
                os.kill(started[0].pid, signal.SIGKILL)
                started[0].wait()
            yield block

    return passed_on


def test_what_was_left_out_by_the_helper_is_said(long_log: Path) -> None:
    member = Member("job.log", long_log)
    assert sum(1 for _ in blocks_ahead(member, None, processes=2)) > ahead.ALONE
    assert not member.complete


@pytest.mark.parametrize("count", [3, ahead.ALONE + 2, ahead.ALONE + 90])
def test_a_helper_that_dies_costs_nothing(long_log: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, helped = Member("job.log", long_log), Member("job.log", long_log)
    expected = read(alone.blocks())
    killed = killed_after(count, monkeypatch)
    assert read(killed(blocks_ahead(helped, SEARCHES, processes=2))) == expected
    assert state(helped) == state(alone)


def test_where_the_system_gives_no_process_the_file_is_read_here(
    long_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_args: object, **_named: object) -> None:
        raise OSError("no process")

    monkeypatch.setattr(subprocess, "Popen", refused)
    member = Member("job.log", long_log)
    assert sum(len(block.data) for block in blocks_ahead(member, SEARCHES, processes=2)) > ahead.LEAST_PLAIN
    assert member.sha256


def test_a_reader_that_stops_early_ends_the_helper(long_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **named: started.append(popen(*args, **named)) or started[-1]
    )
    blocks = blocks_ahead(Member("job.log", long_log), SEARCHES, processes=2)
    for _ in range(ahead.ALONE + 20):
        next(blocks)
    blocks.close()  # type: ignore[attr-defined]
    assert [process.poll() is not None for process in started] == [True]


def test_a_short_file_and_what_is_no_file_start_no_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_args: object, **_named: object) -> None:
        raise AssertionError("a helper was started")

    monkeypatch.setattr(subprocess, "Popen", refused)
    file = tmp_path / "short.log"
    file.write_bytes(XID * 1000)
    assert len(read(blocks_ahead(Member("short.log", file), SEARCHES, processes=2))[0]) == 1000
    with pytest.raises(FileNotFoundError):
        next(blocks_ahead(Member("gone.log", tmp_path / "gone.log"), SEARCHES, processes=2))


def test_no_module_is_taken_from_the_working_folder(long_log: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "evidence"
    hostile.mkdir()
    for name in ("json", "types", "re", "hyperscan", "crashlens", "numpy"):
        (hostile / f"{name}.py").write_text("import os\nos.write(2, b'taken')\nos._exit(9)\n", "utf-8")
    root = Path(ahead.__file__).parents[2]
    code = (
        "import sys, os, time\n"
        f"sys.path.insert(0, {str(root)!r})\n"
        "from pathlib import Path\n"
        "from crashlens.scan.ahead import blocks_ahead\n"
        "from crashlens.scan.member import Member\n"
        f"os.chdir({str(hostile)!r})\n"
        "sys.path.insert(0, '')\n"
        f"member = Member('job.log', Path({str(long_log)!r}))\n"
        "blocks = blocks_ahead(member, ([['went well']], ['went well']), processes=2)\n"
        "print(any(block.searched or time.sleep(0.005) for block in blocks))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert (ran.stdout.strip(), ran.stderr) == ("True", "")


def test_the_number_of_processes_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSES, "1")
    assert usable_processes() == 1
    monkeypatch.setenv(PROCESSES, "64")
    assert usable_processes() == 2
    monkeypatch.setenv(PROCESSES, "many")
    assert 1 <= usable_processes() <= 2
