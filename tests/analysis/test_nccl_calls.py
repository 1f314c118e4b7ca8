from pathlib import Path

import crashlens as cl
from crashlens.analysis.nccl_calls import find_parted_calls
from crashlens.analysis.records import LogRecord, log_records


def call(pid: int, op: str, count: str, *, comm: str = "", size: int = 3, host: str = "n1") -> str:
    return (
        f"{host}:{pid}:{pid}0 [0] NCCL INFO {op}: opCount {count} sendbuff 0x7f recvbuff 0x7f count 4 datatype 7 op 0 root 0 "
        f"comm {comm or hex(pid)} [nranks={size}] stream 0x66"
    )


def records(folder: Path, *lines: str) -> list[LogRecord]:
    (folder / "nccl.log").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    case = cl.read(folder / "nccl.log")
    return log_records(case.events, case.sources)


def test_the_first_number_at_which_processes_part_is_found_and_is_hexadecimal(tmp_path: Path) -> None:
    same = [call(pid, "AllReduce", "9e") for pid in (1, 2, 3)]
    parted = [call(1, "AllReduce", "9f"), call(3, "Broadcast", "9f"), call(2, "AllReduce", "9f")]
    later = [call(1, "AllReduce", "a0"), call(2, "Broadcast", "a0"), call(3, "AllReduce", "a0")]
    found = find_parted_calls(records(tmp_path, *same, *parted, *later))
    assert found is not None
    assert (found.seq, [(side.what, [r.pid for r in side.records]) for side in found.sides]) == (
        0x9F,
        [("AllReduce", [1, 2]), ("Broadcast", [3])],
    )


def test_processes_that_agree_do_not_part(tmp_path: Path) -> None:
    lines = [call(pid, op, count) for count, op in (("1", "AllReduce"), ("2", "Broadcast")) for pid in (1, 2)]
    assert find_parted_calls(records(tmp_path, *lines)) is None


def test_a_process_with_two_communicators_of_a_size_is_not_compared(tmp_path: Path) -> None:
    lines = [call(1, "AllReduce", "1"), call(1, "Broadcast", "1", comm="0xbb"), call(2, "AllReduce", "1")]
    assert find_parted_calls(records(tmp_path, *lines)) is None


def test_more_processes_than_ranks_are_two_communicators(tmp_path: Path) -> None:
    lines = [call(1, "AllReduce", "1", size=2), call(2, "AllReduce", "1", size=2), call(3, "Broadcast", "1", size=2)]
    assert find_parted_calls(records(tmp_path, *lines)) is None


def test_the_same_process_id_on_two_hosts_is_two_processes(tmp_path: Path) -> None:
    found = find_parted_calls(records(tmp_path, call(1, "AllReduce", "1"), call(1, "Broadcast", "1", host="n2")))
    assert found is not None
