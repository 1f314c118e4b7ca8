"""Hand-made logs through the door: which columns does each record fill?"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.sources.parsers.text_log import sniff_job, sniff_kernel, sniff_text


def read(tmp_path: Path, *lines: str, name: str = "a.log", tz: str | None = None, year: int | None = None) -> cl.Case:
    (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return cl.read(tmp_path / name, tz=tz, year=year)


def fields(case: cl.Case, row: int = 0) -> dict[str, str]:
    return {one["key"]: one["value"] for one in case.events["fields"].to_list()[row]}


XID = "2025-01-25T10:34:54.859532+00:00 node7 kernel: NVRM: Xid (PCI:0000:C6:00): 79, pid=1101234, name=python, GPU has fallen off the bus."


def test_an_xid_fills_its_columns(tmp_path: Path) -> None:
    case = read(tmp_path, "x", XID)
    row = case.events.row(0, named=True)
    expected = {
        "source_id": 0, "line": 2, "n": 0, "line_end": 2, "rule_id": "kernel.xid", "topic": "gpu.xid", "xid": 79,
        "pid": 1101234, "host": "node7", "rank": None, "gpu_key": "s0:node7/0000:c6:00", "component": "kernel",
        "severity": "error", "time_marks": "moment", "clock_id": "s0:utc", "uncertainty_us": 1, "repeats": 1,
        "time_utc": datetime(2025, 1, 25, 10, 34, 54, 859532, UTC), "text": XID, "exit_code": None, "seq": None,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert fields(case) == {
        "pci_bus_id": "0000:C6:00",
        "process_name": "python",
        "detail": "GPU has fallen off the bus.",
    }
    assert case.gpus.select("gpu_key", "pci_bus_id", "host", "device_id").rows() == [
        ("s0:node7/0000:c6:00", "0000:c6:00", "node7", None)
    ]
    assert case.clocks.select("kind", "method", "stamps", "host", "first_line", "last_line").rows() == [
        ("utc", "offset in file", 1, "node7", 2, 2)
    ]


@pytest.mark.parametrize(
    ("body", "xid", "pid", "pci"),
    [  # logs.md §2.1, the eras of the envelope
        ("NVRM: Xid (0000:03:00): 14, Channel 00000001", 14, None, "0000:03:00"),
        ("NVRM: Xid (PCI:0000:3b:00): 63, pid=1896, Row Remapper: New row marked", 63, 1896, "0000:3b:00"),
        ("NVRM: Xid (PCI:0000:3b:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed", 154, None, "0000:3b:00"),
        ("NVRM: Xid (PCI:0009:01:00): 79, GPU has fallen off the bus.", 79, None, "0009:01:00"),
        ("NVRM: Xid (PCI:0000:0f:00 GPU-I:01 GPU-CI:00): 94, pid=7194, name=pytorch, Contained", 94, 7194, "0000:0f:00"),
        ("NVRM: Xid (PCI:00000000:3B:00): 48, pid=7, name=a b: c, An uncorrectable", 48, 7, "0000:3b:00"),
    ],
)  # fmt: skip
def test_every_era_of_the_xid_line(tmp_path: Path, body: str, xid: int, pid: int | None, pci: str) -> None:
    row = read(tmp_path, f"[ 74785.660366] {body}").events.row(0, named=True)
    assert (row["xid"], row["pid"], row["gpu_key"]) == (xid, pid, f"s0:{pci}")
    assert (row["time_utc"], row["clock_id"], row["clock_us"]) == (None, "s0:monotonic", 74_785_660_366)


WATCHDOG = "[rank3]:[E1001 09:18:40.715298746 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4211, OpType=ALLREDUCE, NumelIn=1, NumelOut=2, Timeout(ms)=600000) ran for 600041 milliseconds before timing out."


def test_a_wait_is_marked_at_its_end_and_began_earlier(tmp_path: Path) -> None:
    case = read(tmp_path, WATCHDOG, tz="Europe/Berlin", year=2026)
    row = case.events.row(0, named=True)
    expected = {
        "rank": 3, "seq": 4211, "timeout_ms": 600000, "ran_ms": 600041, "time_marks": "end", "component": "c10d",
        "time_utc": datetime(2026, 10, 1, 7, 18, 40, 715298, UTC), "clock_id": "s0:local_no_year",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert fields(case) == {"group_rank": "3", "op_type": "ALLREDUCE", "numel_in": "1", "numel_out": "2"}


@pytest.mark.parametrize(
    ("tag", "rank", "group"),
    [
        ("[Rank 5] ", 5, None),
        ("[PG ID 0 PG GUID 0(default_pg) Rank 5] ", 5, "0(default_pg)"),
        ("[PG ID 1 PG GUID 3(mesh_tp) Rank 5] ", None, "3(mesh_tp)"),  # its rank counts inside that group
        ("[PG 1 Rank 5] ", None, "1"),
        ("[PG 0 Rank 5] ", 5, "0"),
        ("[Rank 99999999999] ", None, None),
    ],
)
def test_only_the_rank_in_the_default_group_is_global(
    tmp_path: Path, tag: str, rank: int | None, group: str | None
) -> None:
    body = (
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 600000 milliseconds"
    )
    (row,) = read(tmp_path, f"[E ProcessGroupNCCL.cpp:458] {tag}{body}").events.select("rank", "process_group").rows()
    assert row == (rank, group)


def test_the_outer_rank_holds_against_the_rank_in_a_group(tmp_path: Path) -> None:
    case = read(tmp_path, WATCHDOG.replace("[rank3]", "[rank11]"))
    assert case.events["rank"].to_list() == [11]


@pytest.mark.parametrize(("code", "kept"), [("-6", -6), ("1", 1), ("137", 137), ("99999999999", None)])
def test_an_exit_code_and_its_process(tmp_path: Path, code: str, kept: int | None) -> None:
    line = f"E1001 09:18:40.620000 2606 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {code}) local_rank: 2 (pid: 48208) of binary: /opt/conda/bin/python3"
    row = read(tmp_path, line).events.row(0, named=True)
    assert (row["exit_code"], row["local_rank"], row["pid"], row["rank"]) == (kept, 2, 48208, None)


def test_an_nccl_init_line_joins_rank_process_and_gpu(tmp_path: Path) -> None:
    line = "gpu-node-07:48213:48377 [5] NCCL INFO comm 0x55d0a7b2c3f0 rank 5 nranks 8 cudaDev 5 nvmlDev 6 busId 9b000 commId 0x7f0c - Init COMPLETE"
    case = read(tmp_path, line)
    row = case.events.row(0, named=True)
    assert (row["rank"], row["pid"], row["host"]) == (5, 48213, "gpu-node-07")
    assert case.gpus.select("pci_bus_id", "cuda_ordinal", "nvml_index", "host").rows() == [
        ("0000:9b:00", 5, 6, "gpu-node-07")
    ]


def test_a_uuid_line_gives_the_gpu_its_identity(tmp_path: Path) -> None:
    uuid = "GPU-392456de-23b8-bc89-1a3d-bd9cad3c2d6d"
    case = read(
        tmp_path,
        f"[    9.100000] NVRM: GPU at PCI:0000:c6:00: {uuid}",
        f"[   12.000000] {XID.partition('kernel: ')[2]}",
    )
    assert case.events["gpu_key"].to_list() == ["s0:0000:c6:00"] * 2
    assert case.gpus.select("gpu_key", "gpu_uuid", "device_id").rows() == [("s0:0000:c6:00", uuid, uuid)]


def test_an_oom_keeps_the_numbers_of_every_release(tmp_path: Path) -> None:
    old = "RuntimeError: CUDA out of memory. Tried to allocate 690.00 MiB (GPU 0; 39.59 GiB total capacity; 973.79 MiB already allocated; 474.62 MiB free; 1.72 GiB reserved in total by PyTorch)"
    new = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacty of 79.15 GiB of which 1.21 GiB is free. Including non-PyTorch memory, this process has 77.93 GiB memory in use. Of the allocated memory 75.88 GiB is allocated by PyTorch, and 402.11 MiB is reserved by PyTorch but unallocated."
    case = read(tmp_path, old, new)
    assert fields(case, 0) == {
        "requested": "690.00 MiB", "cuda_ordinal": "0", "total": "39.59 GiB", "allocated": "973.79 MiB",
        "free": "474.62 MiB", "reserved": "1.72 GiB",
    }  # fmt: skip
    assert fields(case, 1) == {
        "requested": "2.00 GiB", "cuda_ordinal": "1", "total": "79.15 GiB", "free": "1.21 GiB",
        "process_in_use": "77.93 GiB", "allocated": "75.88 GiB", "unallocated": "402.11 MiB",
    }  # fmt: skip


def test_an_oom_kill_names_the_victim(tmp_path: Path) -> None:
    line = "Oct  1 09:18:40 n1 kernel: [ 1.000000] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=box.scope,mems_allowed=0-1,oom_memcg=/a,task_memcg=/a/b,task=pt_main_thread,pid=23793,uid=0"
    case = read(tmp_path, line)
    assert case.events["pid"].to_list() == [23793]
    said = {"constraint": "CONSTRAINT_MEMCG", "process_name": "pt_main_thread", "memcg": "/a/b", "oom_memcg": "/a"}
    # The line that the kernel prints next, with the sizes, does not stand in this file.
    assert fields(case) == said | {"uid": "0", "record_ended": "no"}


def test_every_stamp_of_a_line_is_kept_and_the_one_that_says_most_is_used(tmp_path: Path) -> None:
    line = "Nov  9 03:12:44 node1 kernel: [  123.456789] NVRM: Xid (PCI:0000:c6:00): 79, GPU has fallen off the bus."
    case = read(tmp_path, line)
    assert case.events["clock_id"].to_list() == ["s0:local_no_year"]
    assert case.stamps.select("line", "layer", "clock_id", "clock_us").rows()[1] == (
        1,
        "dmesg",
        "s0:monotonic",
        123_456_789,
    )
    assert case.stamps["layer"].to_list() == ["syslog", "dmesg"]
    assert case.sources["notices"].to_list() == [
        ["Some of its times have no zone and no year; give tz= and year= (--tz, --year) to place them."]
    ]


OOM = "app[7]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"


def test_the_year_turns_with_the_months(tmp_path: Path) -> None:
    stamps = ["Dec 30 23:59:59", "Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:58", "Feb  1 00:00:00"]
    case = read(tmp_path, *(f"{stamp} n1 {OOM}" for stamp in stamps), tz="UTC", year=2025)
    assert [(one.year, one.month, one.day) for one in case.events["time_utc"].to_list()] == [
        (2025, 12, 30), (2025, 12, 31), (2026, 1, 1), (2025, 12, 31), (2026, 2, 1),
    ]  # fmt: skip


def test_without_a_year_the_order_holds_and_no_time_is_claimed(tmp_path: Path) -> None:
    case = read(tmp_path, f"Dec 31 23:59:59 n1 {OOM}", f"Jan  1 00:00:01 n1 {OOM}", tz="UTC")
    assert case.events["time_utc"].to_list() == [None, None]
    first, second = case.events["clock_us"].to_list()
    assert second - first == 2_000_000


def test_the_29th_of_february_of_another_year_is_not_placed(tmp_path: Path) -> None:
    case = read(tmp_path, f"Feb 29 10:00:00 n1 {OOM}", f"Mar  1 10:00:00 n1 {OOM}", tz="UTC", year=2025)
    assert case.events["time_utc"].to_list() == [None, datetime(2025, 3, 1, 10, 0, tzinfo=UTC)]
    case = read(tmp_path, f"Feb 29 10:00:00 n1 {OOM}", tz="UTC", year=2024)
    assert case.events["time_utc"].to_list() == [datetime(2024, 2, 29, 10, 0, tzinfo=UTC)]


def test_a_time_that_the_clock_shows_twice_is_uncertain(tmp_path: Path) -> None:
    case = read(tmp_path, f"2026-10-25 02:30:00 n1 {OOM}", f"2026-10-25 04:30:00 n1 {OOM}", tz="Europe/Berlin")
    assert case.events["uncertainty_us"].to_list() == [3_601_000_000, 1_000_000]
    assert case.events["time_utc"].to_list()[0] == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert case.clocks.select("kind", "method", "zone", "uncertainty_us").rows() == [
        ("local", "given zone", "Europe/Berlin", 3_601_000_000)
    ]


@pytest.mark.parametrize(
    "stamp",
    ["0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00", "2025-01-25T10:34:54+99:99", "0001-01-01 00:00:00"],
)
def test_no_stamp_ends_the_reading(tmp_path: Path, stamp: str) -> None:
    case = read(tmp_path, f"{stamp} n1 {OOM}", tz="Asia/Seoul")
    assert case.events["rule_id"].to_list() == ["cuda.out_of_memory"]
    assert case.events["time_utc"].to_list() == [None]


def test_a_long_record_is_cut_and_says_so(tmp_path: Path) -> None:
    line = "RuntimeError: CUDA error: misaligned address. " + "x" * 5000
    (text,) = read(tmp_path, line).events["text"].to_list()
    assert text == line[:4000] + f" [+{len(line) - 4000:,} characters]"


def test_a_record_that_repeats_too_often_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crashlens.sources.parsers.text_log.MOST_EVENTS_PER_RULE", 10)
    monkeypatch.setattr("crashlens.sources.parsers.text_log.ROWS_PER_FRAME", 3)
    case = read(tmp_path, *["CUDA error: misaligned address"] * 25, "CUDA out of memory. Tried to allocate 1 bytes")
    assert case.events["line"].to_list() == [*range(1, 11), 26]
    assert case.sources["notices"].to_list() == [["15 more records of cuda.error were counted and not kept."]]


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("[   12.345678] usb 1-1: new device\n[   13.345678] NVRM: x\n", "kernel"),
        ("Nov  9 03:12:44 node1 kernel: x\nNov  9 03:12:45 node1 sshd[7]: y\n", "kernel"),
        ("Traceback (most recent call last):\nstep 1 loss 2\n", "job"),
        ("INFO hello\nWARNING b\n", "job"),
        ("hello world\nhow are you\n", "text"),
        ("", "none"),
        ("\n\n \n", "none"),
    ],
)
def test_what_a_log_is_called_follows_its_lines(text: str, best: str) -> None:
    scores = {"kernel": sniff_kernel(text.encode()), "job": sniff_job(text.encode()), "text": sniff_text(text.encode())}
    assert all(0 <= score <= 1 for score in scores.values())
    winner = max(scores, key=lambda name: scores[name])
    assert (winner if scores[winner] else "none") == best
