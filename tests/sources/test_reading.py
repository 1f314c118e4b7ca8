"""Bad input: the case opens, each problem is one row of `sources`, nothing raises."""

import gzip
import hashlib
import os
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crashlens as cl
from crashlens.errors import NoSuchInputError, UnknownTimeZoneError
from crashlens.scan.member import Member
from crashlens.schemas import Tables
from crashlens.sources import parsers, reading
from crashlens.sources.format import Format
from crashlens.sources.writer import TableWriter

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"


def source(path: Path, data: bytes, **how: Any) -> tuple[dict[str, Any], cl.Case]:
    path.write_bytes(data)
    case = cl.read(path, **how)
    (row,) = case.sources.to_dicts()
    return row, case


def test_an_empty_folder_is_a_case_without_sources(tmp_path: Path) -> None:
    case = cl.read(tmp_path)
    assert [getattr(case, name).height for name in Tables.names()] == [0] * len(Tables.names())
    assert {finding.verdict for finding in case.findings()} <= {"undecided"}


@pytest.mark.parametrize(
    ("name", "data", "state", "notice"),
    [
        ("empty.log", b"", "not_read", "The file is empty."),
        ("nul.log", b"\x00" * 5000, "not_read", "It holds nothing but NUL bytes."),
        ("a.pdf", b"%PDF-1.7 CUDA out of memory", "not_read", "It is a PDF, which is not read."),
        ("trace.pkl", b"\x80\x02}q", "not_read", "It is a Python pickle (never loaded), which is not read."),
        ("a.gz", gzip.compress(b"x", mtime=0)[:9], "not_read", "No format was recognised. The gzip stream ends early; the lines up to there were read."),
        ("blank.log", b"\n\n  \n", "not_read", "No format was recognised."),
        ("plain.log", b"hello\nworld\n", "read", "No rule matched a line of it."),
    ],
)  # fmt: skip
def test_each_problem_is_one_row_with_one_sentence(
    tmp_path: Path, name: str, data: bytes, state: str, notice: str
) -> None:
    row, case = source(tmp_path / name, data)
    assert (row["path"], row["state"], row["notices"], row["bytes"]) == (name, state, [notice], len(data))
    assert row["sha256"] == hashlib.sha256(data).hexdigest()
    assert case.events.height == 0
    assert notice in " ".join(str(case).split()) or state == "read"


def test_binary_junk_is_no_text(tmp_path: Path) -> None:
    junk = random.Random(1).randbytes(100_000)
    row, _ = source(tmp_path / "core", b"\x00" + junk)
    assert (row["state"], row["notices"]) == ("not_read", ["It is no text and no known format."])


def test_a_truncated_gzip_yields_its_lines(tmp_path: Path) -> None:
    lines = "".join(f"{hashlib.sha256(b'%d' % n).hexdigest()}\n" for n in range(9000))
    row, case = source(tmp_path / "a.log.gz", gzip.compress(f"{OOM}\n{lines}".encode())[:-9000])
    assert (row["state"], row["notices"]) == (
        "partly_read",
        ["The gzip stream ends early; the lines up to there were read."],
    )
    assert case.events["line"].to_list() == [1]
    assert row["lines"] > 1000


def test_a_line_of_5_mb_costs_its_middle(tmp_path: Path) -> None:
    row, case = source(tmp_path / "a.log", b"start\n" + b"#" * 5_000_000 + f" {OOM}\n{OOM}\n".encode())
    assert row["state"] == "partly_read"
    assert row["notices"][0].startswith("Line 2 is longer than 1024 KiB; ")
    assert case.events["line"].to_list() == [2, 3]
    assert row["lines"] == 3


def test_nul_bytes_are_said_and_move_no_line(tmp_path: Path) -> None:
    row, case = source(tmp_path / "a.log", f"start\n\x00\x00\x00\n{OOM[:9]}\x00{OOM[9:]}\n".encode())
    assert (row["state"], row["notices"]) == (
        "read",
        ["It holds NUL bytes (4 in its first 64 KiB): something was lost there."],
    )
    assert case.events["line"].to_list() == [3]


def test_a_log_behind_a_hole_is_read(tmp_path: Path) -> None:
    row, case = source(tmp_path / "rotated.log", b"\x00" * 400_000 + f"\n{OOM}\n".encode())
    assert row["state"] == "read"
    assert row["notices"] == ["It starts with 400,000 NUL bytes: what stood there is lost."]
    assert case.events["line"].to_list() == [2]


def test_progress_bars_are_one_line(tmp_path: Path) -> None:
    row, case = source(
        tmp_path / "a.log",
        "".join(f"\r{n}/100 [00:01<00:09]" for n in range(100)).encode() + f"\r{OOM}\r\n{OOM}\r\n".encode(),
    )
    assert (row["lines"], row["notices"]) == (2, [])
    assert case.events.select("line", "text").rows() == [(1, OOM), (2, OOM)]


def test_utf_16_is_read(tmp_path: Path) -> None:
    row, case = source(tmp_path / "a.log", b"\xff\xfe" + f"줄\r\n{OOM}\r\n".encode("utf-16-le"))
    assert (row["state"], row["lines"], case.events["line"].to_list()) == ("read", 2, [2])


def test_a_file_that_cannot_be_opened_is_one_row(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root opens every file")
    (tmp_path / "a.log").write_text(f"{OOM}\n", encoding="utf-8")
    (tmp_path / "a.log").chmod(0)
    (row,) = cl.read(tmp_path).sources.to_dicts()
    assert (row["state"], row["notices"]) == ("not_read", ["It cannot be read (Permission denied)."])


def test_a_file_that_fails_while_it_is_read_is_one_row() -> None:
    memory = Path("/proc/self/mem")  # opens, and refuses to be read at 0
    if not memory.exists():
        pytest.skip("no /proc on this machine")
    (row,) = cl.read(memory).sources.to_dicts()
    assert row["state"] == "not_read"
    assert len(row["notices"]) == 1


def test_a_parser_that_fails_costs_its_own_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(_member: Member, _out: TableWriter) -> None:
        raise ZeroDivisionError("no width")

    mine = Format("mine", "a format of another package", lambda head: float(head.startswith(b"MINE")), parse, ())
    monkeypatch.setattr(reading, "formats", lambda: (mine, *parsers.SHIPPED))
    (tmp_path / "a.mine").write_text("MINE\n")
    (tmp_path / "b.log").write_text(
        "2026-10-01T09:08:25+00:00 node7 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=1, x\n"
    )
    case = cl.read(tmp_path)
    assert case.sources.select("state", "notices").rows()[0] == (
        "partly_read",
        ["The parser mine failed on it (ZeroDivisionError: no width); please report this."],
    )
    assert case.sources["sha256"][0] == hashlib.sha256(b"MINE\n").hexdigest()
    assert case.events["xid"].to_list() == [79]


def test_what_is_left_out_of_a_folder_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    (tmp_path / "in" / "a.log").write_text(f"{OOM}\n", encoding="utf-8")
    (tmp_path / "in" / os.fsdecode(b"\xff.log")).write_text(f"{OOM}\n", encoding="utf-8")
    os.mkfifo(tmp_path / "in" / "pipe")
    case = cl.read(tmp_path / "in")
    assert set(case.sources.select("path", "state").rows()) == {
        ("in/.hidden", "skipped"), ("in/a.log", "read"), ("in/\\xff.log", "read"), ("in/pipe", "skipped"),
    }  # fmt: skip
    assert case.sources.filter(pl.col("path") == "in/pipe")["notices"].to_list() == [
        ["It was left out: not a regular file."]
    ]
    assert case.events.height == 2


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoSuchInputError):
        cl.read(tmp_path / "gone")


def test_a_zone_that_is_not_known_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    seen: list[str] = []
    with pytest.raises(UnknownTimeZoneError, match='"Asia/Soul" is not a time zone known here'):
        cl.read(tmp_path, tz="Asia/Soul", progress=seen.append)
    with pytest.raises(UnknownTimeZoneError, match=r"given by  tz\['node17\*'\]"):
        cl.read(tmp_path, tz={"node17*": "Asia/Soul"}, progress=seen.append)
    assert seen == []


def test_zones_are_given_by_glob(tmp_path: Path) -> None:
    for name in ("node1.log", "node2.log", "sub/node1.log", "other.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"2026-10-01 12:00:00 n app[1]: {OOM}\n", encoding="utf-8")
    case = cl.read(tmp_path, tz={"node1*": "Asia/Seoul", "*/node2.log": "Europe/Berlin"})
    name = tmp_path.name
    hours = {
        path: None if time is None else time.hour
        for path, time in case.events.join(case.sources, on="source_id").select("path", "time_utc").rows()
    }
    assert hours == {
        f"{name}/node1.log": 3,
        f"{name}/sub/node1.log": 3,
        f"{name}/node2.log": 10,
        f"{name}/other.log": None,
    }
    zones = dict(case.sources.select("path", "zone").rows())
    assert zones[f"{name}/other.log"] is None
    assert zones[f"{name}/node2.log"] == "Europe/Berlin"


def test_progress_names_each_file_before_it_is_read(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    seen: list[str] = []
    cl.read([tmp_path / "b.log", tmp_path], progress=seen.append)
    assert seen == ["b.log", f"{tmp_path.name}/a.log"]


def test_sources_count_lines(tmp_path: Path) -> None:
    row, _ = source(tmp_path / "a.log", f"{OOM}\nfine\nit failed\nstep 1 loss 2.0\n".encode())
    assert (row["lines"], row["lines_matched"], row["lines_error_like"]) == (4, 2, 1)
    assert len(row["rules_digest"]) == 16


SECRET = "Zq7Xw2Lm9Kp4Vt8R"


def test_no_secret_reaches_any_table(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [
        f"{OOM} token=hf_{SECRET} a@{SECRET}.example.org",
        f"[PG ID 0 PG GUID hf_{SECRET} Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 600000 milliseconds",
        f"Traceback (most recent call last):\nValueError: bad key WANDB_API_KEY={SECRET}",
        f"[PG ID 0 PG GUID 0(default_pg) Rank 1] Process group watchdog thread terminated with exception: password: {SECRET}",
        f"CUDA error: bad hf_{SECRET}",
        "#" * 17_000 + f" password: {SECRET} " + "#" * 40_000 + f" CUDA error: bad, api_key={SECRET}",
    ]
    (folder / f"hf_{SECRET}.log").write_text("\n".join(lines), encoding="utf-8")
    (folder / "gpu.csv").write_text(f"timestamp, index, password={SECRET}\nhf_{SECRET}, 0, 1\n", encoding="utf-8")
    (folder / f"pw@{SECRET}.org.bin").write_bytes(b"\x80\x02")
    case = cl.read(folder)
    assert case.events.height == 6
    for name in Tables.names():
        assert SECRET not in str(getattr(case, name).to_dicts()), name
    assert SECRET not in case.answer_text() + str(case.answer().to_json())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([b"\n", b"\r", b"\x1b[", b"\x1b]", b"\x00", OOM.encode(), b"Traceback (most recent call last):\n", b"ValueError: x\n", b"Jan  1 00:00:00 n1 kernel: ", b"NVRM: Xid (PCI:0000:c6:00): 79, ", b"[rank1]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] ", b"step 1 loss 9e99", b"2025-01-25T10:34:54+99:99 ", b"\xff\xfe", b"\x1f\x8b\x08", b"BZh9", b"timestamp, index, uuid, power.draw [W]\n"])), max_size=12).map(b"".join))  # fmt: skip
def test_no_bytes_make_reading_raise(tmp_path: Path, data: bytes) -> None:
    row, case = source(tmp_path / "any", data, tz="Europe/Berlin", year=2026)
    assert row["state"] in {"read", "partly_read", "not_read", "skipped"}
    assert case.events.filter(pl.col("line") > max(1, row["lines"] or 0)).height == 0  # null: it could not be opened


def test_a_local_time_is_placed_by_the_zone_that_was_given(tmp_path: Path) -> None:
    row, case = source(tmp_path / "a.log", f"2026-10-01 12:00:00 n1 app[1]: {OOM}\n".encode(), tz="Asia/Seoul")
    assert case.events["time_utc"].to_list() == [datetime(2026, 10, 1, 3, 0, tzinfo=UTC)]
    assert (row["zone"], row["zone_from"]) == ("Asia/Seoul", "given")


def test_a_zone_that_fits_no_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("2026-10-01 10:00:00 step 1 loss 2.0\n")
    with pytest.raises(NoSuchInputError) as raised:
        cl.read(tmp_path, tz={"nope*": "UTC", "*.log": "Asia/Seoul"})
    assert "'nope*' fits no file" in str(raised.value)
    assert str(raised.value).splitlines()[-1].startswith("Write a glob")


def test_the_first_lines_with_an_unknown_error_word_are_named(tmp_path: Path) -> None:
    lines = ["all fine", *["the widget ended with an Error of kind 7"] * 5, "2026-10-01T10:00:00Z step 1 loss 2.0"]
    (tmp_path / "a.log").write_text("\n".join(lines) + "\n")
    case = cl.read(tmp_path)
    assert case.sources.select("lines_error_like", "error_lines").rows() == [(5, [2, 3, 4])]
    (finding,) = case.findings()
    assert [f"{tmp_path.name}/a.log:{line}" in finding.unknown[0] for line in (2, 3, 4, 5)] == [True, True, True, False]
