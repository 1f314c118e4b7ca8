"""Who is missing from a collective and who called another one, from dumps, watchdog lines and reports."""

import json
from pathlib import Path
from typing import Any

import pytest

import crashlens as cl
from crashlens.analysis.collective_state import Absence, find_absences, find_cycle, find_disagreements, group_of
from crashlens.analysis.records import LogRecord, log_records


def entry(seq: int, state: str = "scheduled", op: str = "nccl:all_reduce", **more: Any) -> dict[str, Any]:
    return {
        "process_group": ["0", "default_pg"], "pg_id": 0, "collective_seq_id": seq, "profiling_name": op, "state": state,
        "input_sizes": [[8]], "input_dtypes": ["Float"], "is_p2p": False,
    } | more  # fmt: skip


def dumps(folder: Path, **ranks: list[dict[str, Any]]) -> list[LogRecord]:
    """Records of the dumps of a group of four ranks; `r2=[...]` are the entries of rank 2."""
    for name, entries in ranks.items():
        top = {
            "version": "2.10", "entries": entries, "pg_status": {},
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        }  # fmt: skip
        (folder / f"nccl_trace_rank_{name[1:]}").write_text(json.dumps(top), encoding="utf-8")
    return read(folder)


def read(folder: Path, *lines: str) -> list[LogRecord]:
    if lines:
        (folder / "train.log").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    case = cl.read(sorted(folder.iterdir()))
    return log_records(case.events, case.sources)


def status(rank: int, seq: int, enqueued: int, group: str = "0(default_pg)", group_rank: int | None = None) -> str:
    tag = f"[PG ID 0 PG GUID {group} Rank {rank if group_rank is None else group_rank}]"
    return (
        f"[rank{rank}]:[E1001 09:10:00.5 ProcessGroupNCCL.cpp:2268] {tag}  failure detected by watchdog at work sequence "
        f"id: {seq} PG status: last enqueued work: {enqueued}, last completed work: {seq - 1}"
    )


def wait(rank: int, seq: int, op: str = "ALLREDUCE", tag: str = "") -> str:
    return (
        f"[rank{rank}]:[E1001 09:10:00.5 ProcessGroupNCCL.cpp:632] {tag or f'[Rank {rank}]'} Watchdog caught collective "
        f"operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for "
        f"60{rank}041 milliseconds before timing out."
    )


def told(absence: Absence) -> tuple[object, ...]:
    return absence.seq, absence.entered, absence.missing, absence.unknown, absence.told_by


def test_a_rank_with_a_dump_and_no_entry_is_missing_and_one_without_a_dump_is_unknown(tmp_path: Path) -> None:
    records = dumps(tmp_path, r0=[entry(7)], r1=[entry(6, "completed")], r2=[entry(7)])
    (absence,) = find_absences(records)
    assert told(absence) == (7, (0, 2), (1,), (3,), "flight_recorder")
    assert (absence.process_group, absence.op) == ("0(default_pg)", "nccl:all_reduce")


def test_a_rank_that_went_on_is_not_missing_although_its_entry_was_dropped(tmp_path: Path) -> None:
    later = [entry(n, "completed") for n in range(7, 60)]
    assert find_absences(dumps(tmp_path, r0=[entry(7)], r1=later)) == []


def test_where_all_entered_nobody_is_missing(tmp_path: Path) -> None:
    assert find_absences(dumps(tmp_path, r0=[entry(7)], r1=[entry(7, "started")])) == []


def test_the_wait_is_followed_to_ranks_that_wait_nowhere(tmp_path: Path) -> None:
    # Rank 2 is missing from the default group, since it waits in group 5 for rank 3, which waits nowhere.
    other: dict[str, Any] = {"process_group": ["5", "tp"], "pg_id": 1}
    records = dumps(
        tmp_path,
        r0=[entry(7)],
        r1=[entry(7)],
        r2=[entry(6, "completed"), entry(3, **other)],
        r3=[entry(6, "completed"), entry(2, "completed", **other)],
    )
    first, second = find_absences(records)
    assert find_cycle([first, second]) == []
    assert (first.process_group, first.missing) == ("5(tp)", (3,))
    assert (second.process_group, second.missing) == ("0(default_pg)", (2, 3))


def test_ranks_that_wait_for_each_other_in_two_groups_are_a_cycle(tmp_path: Path) -> None:
    other: dict[str, Any] = {"process_group": ["5", "tp"], "pg_id": 1}
    records = dumps(
        tmp_path,
        r2=[entry(6, "completed"), entry(3, **other)],
        r3=[entry(7), entry(2, "completed", **other)],
    )
    cycle = find_cycle(find_absences(records))
    assert sorted((one.process_group, one.entered, one.missing) for one in cycle) == [
        ("0(default_pg)", (3,), (2,)),
        ("5(tp)", (2,), (3,)),
    ]


def test_point_to_point_entries_are_not_counted(tmp_path: Path) -> None:
    sent = entry(7, op="nccl:send 0->1", is_p2p=True, p2p_seq_id=7)
    assert find_absences(dumps(tmp_path, r0=[sent], r1=[entry(6, "completed")])) == []


def test_a_rank_whose_last_enqueued_work_lies_below_the_common_wait_is_missing(tmp_path: Path) -> None:
    lines = [status(0, 808, 811), status(1, 808, 811), status(3, 808, 809), status(2, 806, 806), wait(0, 808)]
    (absence,) = find_absences(read(tmp_path, *lines))
    assert told(absence) == (808, (0, 1, 3), (2,), (), "work_status")
    assert absence.op == "ALLREDUCE"


@pytest.mark.parametrize(
    "lines",
    [
        [status(0, 808, 811), status(1, 808, 811)],
        [status(0, 808, 808), status(2, 806, 806)],  # one against one: neither is the odd one
        [status(0, 808, 811, "1(tp)"), status(1, 808, 811, "1(tp)"), status(2, 3, 3, "2(dp)")],  # other groups
    ],
)
def test_status_lines_that_show_no_absence(tmp_path: Path, lines: list[str]) -> None:
    assert find_absences(read(tmp_path, *lines)) == []


@pytest.mark.parametrize(
    ("lines", "missing", "teller"),
    [
        (
            [
                " - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:",
                "   - [1, 5] finished collective #30, but didn't join collective #31 (count from 1)",
            ],
            (1, 5),
            "desync_report",
        ),
        (
            [
                " - To our best knowledge, ranks [2] are the lagging ranks that caused this timeout. They never joined any"
            ],
            (2,),
            "desync_report",
        ),
        (
            ["RuntimeError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 30000 ms"],
            (1, 3),
            "monitored_barrier",
        ),
    ],
)
def test_reports_name_the_missing_ranks(
    tmp_path: Path, lines: list[str], missing: tuple[int, ...], teller: str
) -> None:
    (absence,) = find_absences(read(tmp_path, *lines))
    assert (absence.missing, absence.told_by) == (missing, teller)


def test_a_rank_that_joined_and_did_not_finish_is_not_missing(tmp_path: Path) -> None:
    lines = [
        " - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:",
        "   - [1] joined but didn't finish collective #31 (count from 1)",
    ]
    assert find_absences(read(tmp_path, *lines)) == []


def test_the_minority_of_two_operations_comes_last(tmp_path: Path) -> None:
    records = dumps(tmp_path, r0=[entry(7)], r1=[entry(7, op="nccl:broadcast")], r2=[entry(7)])
    (parted,) = find_disagreements(records)
    assert [(side.what, side.ranks) for side in parted.sides] == [("nccl:all_reduce", (0, 2)), ("nccl:broadcast", (1,))]
    assert (parted.seq, parted.differs, parted.minority and parted.minority.ranks) == (7, "op", (1,))


def test_one_against_one_has_no_minority(tmp_path: Path) -> None:
    (parted,) = find_disagreements(dumps(tmp_path, r0=[entry(7)], r1=[entry(7, op="nccl:broadcast")]))
    assert parted.minority is None


@pytest.mark.parametrize(
    ("op", "state", "differs"),
    [
        ("nccl:all_reduce", "scheduled", ["sizes"]),
        ("nccl:all_reduce", "completed", []),
        ("nccl:all_to_all", "scheduled", []),
        ("nccl:all_gather", "scheduled", []),
    ],
)
def test_sizes_count_only_where_all_ranks_give_the_same(
    tmp_path: Path, op: str, state: str, differs: list[str]
) -> None:
    records = dumps(tmp_path, r0=[entry(7, state, op)], r1=[entry(7, state, op, input_sizes=[[9]])])
    assert [one.differs for one in find_disagreements(records)] == differs


def test_waits_of_different_groups_are_not_compared(tmp_path: Path) -> None:
    lines = [
        wait(13, 57, "ALLTOALL_BASE", "[Rank 1]"), status(13, 57, 60, "119", 1),
        wait(15, 57, "ALLREDUCE", "[Rank 1]"), status(15, 57, 57, "112", 0),
    ]  # fmt: skip
    records = read(tmp_path, *lines)
    waits = [record for record in records if record.rule_id == "c10d.watchdog_timeout"]
    assert [group_of(record, records) for record in waits] == ["119", "112"]
    assert find_disagreements(records) == []


def test_waits_of_a_rank_of_an_unknown_smaller_group_are_not_compared(tmp_path: Path) -> None:
    lines = [wait(8, 57, "ALLREDUCE", "[Rank 0]"), wait(1, 57, "BROADCAST", "[Rank 1]")]
    assert find_disagreements(read(tmp_path, *lines)) == []
