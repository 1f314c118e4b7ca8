"""Who belongs to a run: members by rank, from NCCL's lines and from launchers."""

from pathlib import Path

import crashlens as cl
from crashlens.analysis.records import log_records
from crashlens.analysis.runs import Member, Run, find_runs, run_of
from crashlens.findings import Place
from crashlens.timebase import Instant

INIT = (
    "2026-10-01T08:00:0{rank}Z {host}:{pid}:{pid}9 [{gpu}] NCCL INFO comm 0x97{rank} rank {rank} nranks {size} cudaDev {gpu} "
    "nvmlDev {gpu} busId {bus}000 commId {comm} - Init COMPLETE"
)


def init(rank: int, size: int, *, host: str = "n1", pid: int = 0, comm: str = "0xaa", bus: str = "1b") -> str:
    return INIT.format(rank=rank, size=size, host=host, pid=pid or 5000 + rank, gpu=rank, comm=comm, bus=bus)


def runs(folder: Path, **files: list[str]) -> list[Run]:
    for name, lines in files.items():
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    case = cl.read(folder)
    pci = {row["gpu_key"]: row["pci_bus_id"] for row in case.gpus.iter_rows(named=True) if row["pci_bus_id"]}
    return find_runs(log_records(case.events, case.sources), pci)


def test_a_member_has_rank_host_process_gpu_and_place(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, job=[init(0, 2), init(1, 2, bus="3b")])
    source = run.members[0].place.source
    assert run.members == {
        0: Member(0, "n1", 5000, "0000:1b:00", Place(source, 1)),
        1: Member(1, "n1", 5001, "0000:3b:00", Place(source, 2)),
    }
    assert (run.world_size, run.complete, run.hosts()) == (2, True, {"n1"})


def test_a_run_with_a_rank_that_no_line_names_is_not_complete(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, job=[init(0, 3), init(2, 3)])
    assert not run.complete


def test_a_smaller_communicator_does_not_rename_the_ranks(tmp_path: Path) -> None:
    sub = [init(0, 2, pid=5002, comm="0xbb"), init(1, 2, pid=5003, comm="0xbb")]
    for number, lines in enumerate(([*sub, *(init(r, 4) for r in range(4))], [*(init(r, 4) for r in range(4)), *sub])):
        folder = tmp_path / str(number)
        folder.mkdir()
        (run,) = runs(folder, job=lines)
        assert {rank: member.pid for rank, member in run.members.items()} == {rank: 5000 + rank for rank in range(4)}
        assert run.complete


def test_logs_that_share_a_communicator_are_one_run(tmp_path: Path) -> None:
    one, other = [init(0, 2, host="n1")], [init(1, 2, host="n2")]
    (run,) = runs(tmp_path, a=one, b=other)
    assert (len(run.sources), run.complete, run.hosts()) == (2, True, {"n1", "n2"})


def test_logs_of_two_communicators_are_two_runs(tmp_path: Path) -> None:
    found = runs(tmp_path, a=[init(0, 1, comm="0xaa")], b=[init(0, 1, comm="0xbb")])
    assert [len(run.sources) for run in found] == [1, 1]


def test_a_launcher_names_members_too(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, job=["2026-10-01T09:40:00Z node7 launcher: rank1 pid=25035 gpu=0000:43:00"])
    assert [(m.rank, m.pid, m.pci_bus_id) for m in run.members.values()] == [(1, 25035, "0000:43:00")]
    assert not run.complete  # nothing says how many there are


def test_members_are_found_by_process_and_by_gpu_of_the_same_host(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, job=[init(0, 2), init(1, 2, host="n2")])
    zero, one = run.members[0], run.members[1]
    assert run.member_with_pid(5000, "n1") is zero
    assert run.member_with_pid(5000, None) is zero
    assert run.member_with_pid(5000, "n2") is None
    assert run.member_with_pid(None, "n1") is None
    assert run.member_on_gpu("0000:1b:00", "n2") is one
    assert run.member_on_gpu("0000:1b:00", None) is None  # every host has such an address
    assert run.member_on_gpu(None, "n1") is None


def test_a_kernel_log_is_no_run(tmp_path: Path) -> None:
    kern = ["2026-10-01T09:08:25+00:00 n1 kernel: NVRM: Xid (PCI:0000:1b:00): 94, pid=5000, name=python3, Ch 1"]
    (run,) = runs(tmp_path, job=[init(0, 1)], kern=kern)
    case = cl.read(tmp_path)
    (xid,) = [record for record in log_records(case.events, case.sources) if record.xid]
    assert run_of(xid, [run]) is None


def test_a_restart_adds_processes_and_takes_none_away(tmp_path: Path) -> None:
    again = [init(rank, 2, pid=6000 + rank, comm="0xcc") for rank in range(2)]
    (run,) = runs(tmp_path, job=[init(0, 2), init(1, 2), *again, *again])
    assert [member.pid for member in run.members.values()] == [5000, 5001]
    assert [(member.rank, member.pid) for member in run.restarted] == [(0, 6000), (1, 6001)]
    assert run.complete
    assert run.member_with_pid(6001, "n1") is run.restarted[1]


def test_after_a_restart_with_fewer_ranks_the_run_is_not_complete(tmp_path: Path) -> None:
    fewer = [init(rank, 2, pid=6000 + rank, comm="0xcc") for rank in range(2)]
    (run,) = runs(tmp_path, job=[*(init(rank, 3) for rank in range(3)), *fewer])
    assert run.unplaced == {6000, 6001}
    assert not run.complete
    more = tmp_path / "more"
    more.mkdir()
    (grown,) = runs(more, job=[*fewer, *(init(rank, 3) for rank in range(3))])
    assert not grown.complete


def test_starts_are_told_apart_and_joined_over_the_logs_of_two_nodes(tmp_path: Path) -> None:
    comms = ["0xa1", "0xa2", "0xa3"]
    logs = {
        host: [
            init(rank, 2, host=host, pid=1000 * number + rank, comm=comm)
            for number, comm in enumerate(comms, 1)
            for rank in [at]
        ]
        for at, host in enumerate(("n1", "n2"))
    }
    (run,) = runs(tmp_path, **logs)
    assert [[member.pid for member in start] for start in run.starts] == [[2000, 2001], [3000, 3001]]
    source = run.starts[1][1].place.source
    undated = Instant(None, None, None)
    assert [run.start_of(Place(source, line), undated, skew_us=0) for line in (1, 2, 3, 4)] == [0, 0, 1, 2]


def test_a_process_of_a_smaller_communicator_joins_without_a_rank(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, job=[init(0, 4), init(1, 2, pid=5000, comm="0xcc")])
    assert [(member.rank, member.pid) for member in run.joined] == [(0, 5000), (-1, 5000)]


def test_the_gpus_of_a_host_are_known_only_where_every_process_names_one(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, job=[init(0, 2), "2026-10-01T09:40:00Z n1 launcher: rank1 pid=25035"])
    assert not run.gpus_known("n1")
    assert not run.gpus_known(None)
