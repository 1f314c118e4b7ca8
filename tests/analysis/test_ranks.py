from pathlib import Path

import crashlens as cl
from crashlens.analysis.ranks import with_ranks
from crashlens.analysis.records import log_records
from crashlens.analysis.runs import find_runs


def init(rank: int, size: int = 2, pid: int = 0, comm: str = "0xaa") -> str:
    return (
        f"n1:{pid or 500 + rank}:9 [{rank}] NCCL INFO comm 0x9{rank} rank {rank} nranks {size} cudaDev {rank} nvmlDev {rank} "
        f"busId {rank + 1}b000 commId {comm} - Init COMPLETE"
    )


def lost(pid: int) -> str:
    return f"n1:{pid}:9 [0] NCCL WARN Net : Connection closed by remote peer n2<4400>"


FAILED = "RuntimeError: CUDA error: an illegal memory access was encountered"


def ranks(folder: Path, **files: list[str]) -> list[tuple[str, int | None]]:
    """Rule and rank of every record that does not name a member."""
    for name, lines in files.items():
        (folder / f"{name}.log").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    case = cl.read(sorted(folder.glob("*.log")))
    records = log_records(case.events, case.sources)
    told = with_ranks(records, find_runs(records, {}))
    return [(record.rule_id, record.rank) for record in told if record.topic != "identity.rank"]


def test_a_warning_of_nccl_has_the_rank_of_its_process(tmp_path: Path) -> None:
    found = ranks(tmp_path, job=[init(0), init(1), lost(501), lost(777)])
    assert found == [("nccl.peer_lost", 1), ("nccl.peer_lost", None)]


def test_a_rank_in_a_smaller_communicator_is_not_taken(tmp_path: Path) -> None:
    sub = init(0, size=1, pid=501, comm="0xbb")
    assert ranks(tmp_path, job=[init(0), init(1), sub, lost(501)]) == [("nccl.peer_lost", 1)]


def test_a_file_that_one_process_wrote_tells_the_rank_of_its_lines(tmp_path: Path) -> None:
    found = ranks(tmp_path, a=[init(0), FAILED], b=[init(1), FAILED])
    assert found == [("cuda.error", 0), ("cuda.error", 1)]


def test_a_single_file_with_one_named_process_does_not(tmp_path: Path) -> None:
    # Only rank 0 may print NCCL's lines there, and all ranks write into it.
    assert ranks(tmp_path, a=[init(0), FAILED]) == [("cuda.error", None)]


def test_a_file_with_lines_of_two_ranks_does_not(tmp_path: Path) -> None:
    assert ranks(tmp_path, a=[init(0), f"[rank1]: {FAILED}", FAILED], b=[init(1), FAILED]) == [
        ("cuda.error", 1), ("cuda.error", None), ("cuda.error", None),
    ]  # fmt: skip
