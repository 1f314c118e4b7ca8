"""Sequences among records: order, identity and distance, as three values each. The sentences are tested in conclude/."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.analysis.records import LogRecord, log_records
from crashlens.analysis.relations import Context, Relation, compare_gpus, find_relations, is_step
from crashlens.analysis.runs import find_runs
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import Sequence

SECOND = 1_000_000
ECC = "uncorrectable_ecc_then_collective_timeout"
TEARDOWN = "xid_then_driver_teardown"
EXCEPTION = "rank_exception_then_collective_timeout"
INIT = "2026-10-01T08:00:00Z n1:{pid}:9 [{rank}] NCCL INFO comm 0x9 rank {rank} nranks 2 cudaDev {rank} nvmlDev {rank} busId {bus}000 commId 0xaa - Init COMPLETE"
RUN = [INIT.format(pid=5000, rank=0, bus="1b"), INIT.format(pid=5001, rank=1, bus="3b")]
WAIT = (
    "2026-10-01T09:10:10Z [rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds before timing out."
)  # began at 09:00:10


def xid(at: str, number: int = 94, *, pid: int | None = 5001, bus: str = "3b", host: str = "n1") -> str:
    who = "" if pid is None else f", pid={pid}, name=python3"
    return f"2026-10-01T{at}+00:00 {host} kernel: NVRM: Xid (PCI:0000:{bus}:00): {number}{who}, x"


def sequence(name: str) -> Sequence:
    (found,) = [item for item in shipped_rules().sequences if item.id == name]
    return found


def scene(folder: Path, **files: list[str]) -> tuple[list[LogRecord], Context]:
    for name, lines in files.items():
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    case = cl.read(folder)
    records = log_records(case.events, case.sources)
    pci = {row["gpu_key"]: row["pci_bus_id"] for row in case.gpus.iter_rows(named=True) if row["pci_bus_id"]}
    uuids = {row["gpu_key"]: row["gpu_uuid"] for row in case.gpus.iter_rows(named=True) if row["gpu_uuid"]}
    return records, Context(find_runs(records, pci), uuids, pci, {}, SECOND, 60 * SECOND)


def relate(folder: Path, name: str, **files: list[str]) -> list[Relation]:
    records, context = scene(folder, **files)
    return find_relations(records, (sequence(name),), context)


def test_order_and_identity_hold(tmp_path: Path) -> None:
    (found,) = relate(tmp_path, ECC, kern=[xid("09:00:00")], train=[*RUN, WAIT])
    assert (found.reading, found.ordered, found.gap_s, found.against) == ("causal", "before", 10.0, ())
    assert (found.identities["run"], found.identities["host"]) == ("equal", "equal")
    assert found.member is not None
    assert found.member.rank == 1
    assert [record.rank for record in found.then] == [0]


@pytest.mark.parametrize(
    ("line", "reading", "ordered", "run"),
    [
        (xid("09:00:08.500000"), "causal", "before", "equal"),
        (xid("09:00:09.500000"), "co_occurs", "unordered", "equal"),
        (xid("09:00:30"), "forbidden", "after", "equal"),
        (xid("08:30:00"), "forbidden", "before", "equal"),  # longer than the sequence allows
        (xid("09:00:00", pid=None), "causal", "before", "equal"),  # by its GPU
        (xid("09:00:00", pid=7777, bus="9b"), "forbidden", "before", "different"),
        (xid("09:00:00", pid=7777), "co_occurs", "before", "unknown"),  # on a GPU of the run
        (xid("09:00:00", pid=None, bus="9b"), "co_occurs", "before", "unknown"),
        (xid("09:00:00", host="n9"), "forbidden", "before", "unknown"),
    ],
)
def test_one_changed_value_changes_the_reading(tmp_path: Path, line: str, reading: str, ordered: str, run: str) -> None:
    (found,) = relate(tmp_path, ECC, kern=[line], train=[*RUN, WAIT])
    assert (found.reading, found.ordered, found.identities["run"]) == (reading, ordered, run)


def test_a_number_outside_the_sequence_is_no_step(tmp_path: Path) -> None:
    assert relate(tmp_path, ECC, kern=[xid("09:00:00", 31)], train=[*RUN, WAIT]) == []
    records, _ = scene(tmp_path, kern=[xid("09:00:00", 94), xid("09:00:00", 31)], train=[])
    assert [is_step(record, sequence(ECC).first) for record in records if record.xid] == [True, False]


def test_the_teardown_is_of_the_same_gpu_only(tmp_path: Path) -> None:
    lines = [xid("09:00:00", 31), xid("09:00:01", 43), xid("09:00:01", 43, bus="1b")]
    (found,) = relate(tmp_path, TEARDOWN, kern=lines)
    assert [(record.xid, record.place.line) for record in found.then] == [(43, 2)]
    assert (found.reading, found.gap_s) == ("causal", 1.0)


def test_an_exception_of_a_rank_that_waits_is_not_what_the_others_wait_for(tmp_path: Path) -> None:
    oom = "2026-10-01T09:00:00Z [rank{}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"
    (silent,) = relate(tmp_path, EXCEPTION, train=[*RUN, oom.format(1), WAIT])
    (waiting,) = relate(tmp_path, EXCEPTION, train=[*RUN, oom.format(0), WAIT])
    nameless = oom.replace("[rank{}]: ", "")
    (unnamed,) = relate(tmp_path, EXCEPTION, train=[*RUN, nameless, WAIT])
    assert [item.reading for item in (silent, waiting, unnamed)] == ["causal", "co_occurs", "co_occurs"]


def test_gpus_are_compared_by_address_only_on_one_machine(tmp_path: Path) -> None:
    lines = [xid("09:00:00"), xid("09:00:01"), xid("09:00:02", bus="1b"), xid("09:00:03", host="n9")]
    records, context = scene(tmp_path, kern=lines)
    first, same, other_address, other_host = records
    assert compare_gpus(first, same, context) == "equal"
    assert compare_gpus(first, other_address, context) == "different"
    assert compare_gpus(first, other_host, context) == "unknown"


@pytest.mark.parametrize(
    ("after", "reading"),
    [
        ([], "causal"),
        # Rank 1 completes a second communicator after the Xid: it was running.
        ([INIT.format(pid=5001, rank=1, bus="3b").replace("0xaa", "0xbb").replace("08:00:00", "09:00:05")], "co_occurs"),
        # Rank 1 is another process after the Xid.
        ([INIT.format(pid=6001, rank=1, bus="3b").replace("0xaa", "0xbb").replace("08:00:00", "09:00:05")], "co_occurs"),
        # What rank 0 does says nothing about rank 1.
        ([INIT.format(pid=5000, rank=0, bus="1b").replace("0xaa", "0xbb").replace("08:00:00", "09:00:05")], "causal"),
    ],
)  # fmt: skip
def test_a_rank_that_ran_on_after_the_xid_speaks_against_it(tmp_path: Path, after: list[str], reading: str) -> None:
    (found,) = relate(tmp_path, ECC, job=[*RUN, *after, WAIT], kern=[xid("09:00:00")])
    assert found.reading == reading
    assert found.against == (() if reading == "causal" else ("started_again",))


@pytest.mark.parametrize(
    ("name", "number", "reading"),
    [
        ("firmware_fault_then_collective_timeout", 119, "causal"),
        ("gpu_lost_then_collective_timeout", 79, "causal"),
        (ECC, 94, "co_occurs"),
    ],
)
def test_a_fault_of_the_whole_gpu_is_of_its_rank_whoever_asked(
    tmp_path: Path, name: str, number: int, reading: str
) -> None:
    (found,) = relate(tmp_path, name, job=[*RUN, WAIT], kern=[xid("09:00:00", number, pid=777)])
    assert found.reading == reading
