"""Bursts of GPU records, and which record of a burst is named first: by what it is, then by time, never by file order."""

from itertools import permutations
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.analysis.bursts import NEVER_FIRST, find_bursts, first_cause_rank, leading_record
from crashlens.analysis.records import LogRecord, log_records


def kernel(second: float, xid: int, *, host: str = "n1", bus: str = "1b") -> str:
    return f"2026-10-01T09:{int(second) // 60:02}:{second % 60:09.6f}+00:00 {host} kernel: NVRM: Xid (PCI:0000:{bus}:00): {xid}, pid=7, name=a, x"


def records(folder: Path, lines: list[str]) -> list[LogRecord]:
    file = folder / "kern.log"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    case = cl.read(file)
    return [record for record in log_records(case.events, case.sources) if record.topic in {"gpu.xid", "gpu.bus"}]


def test_silence_ends_a_burst(tmp_path: Path) -> None:
    found = find_bursts(records(tmp_path, [kernel(s, 31) for s in (0, 100, 281, 282)]), silence_s=180)
    assert [[record.place.line for record in burst.records] for burst in found] == [[1, 2], [3, 4]]
    exact = find_bursts(records(tmp_path, [kernel(s, 31) for s in (0, 180)]), silence_s=180)
    assert [len(burst.records) for burst in exact] == [2]


def test_machines_have_bursts_of_their_own(tmp_path: Path) -> None:
    found = find_bursts(
        records(tmp_path, [kernel(0, 31, host="n2"), kernel(1, 31), kernel(2, 31, host="n2")]), silence_s=180
    )
    assert [(burst.machine, len(burst.records)) for burst in found] == [("n2", 2), ("n1", 1)]


def test_records_without_a_time_stay_together(tmp_path: Path) -> None:
    bare = [f"NVRM: Xid (PCI:0000:1b:00): {xid}, pid=7, name=a, x" for xid in (31, 45)]
    assert [len(burst.records) for burst in find_bursts(records(tmp_path, bare), silence_s=1)] == [2]


@pytest.mark.parametrize(
    ("xid", "rank"),  # decision table T7
    [(79, 1), (48, 2), (95, 2), (64, 2), (74, 3), (119, 4), (120, 4), (62, 4), (94, 5), (13, 6), (31, 6)]
    + [(xid, NEVER_FIRST) for xid in (45, 43, 154, 63)],
)
def test_the_rank_of_a_record_is_that_of_the_decision_table(tmp_path: Path, xid: int, rank: int) -> None:
    (record,) = records(tmp_path, [kernel(0, xid)])
    assert first_cause_rank(record) == rank


def test_a_bus_record_without_a_number_ranks_as_the_bus(tmp_path: Path) -> None:
    (record,) = records(
        tmp_path, ["2026-10-01T09:00:00+00:00 n1 kernel: NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus."]
    )
    assert first_cause_rank(record) == 1


@pytest.mark.parametrize(
    ("burst", "lead"),
    [
        ([(0, 31), (0.5, 79)], 79),  # the lower class, though it is later
        ([(0, 63), (0.1, 94), (0.2, 154), (2, 45)], 94),
        ([(0, 45), (1, 62)], 62),
        ([(0, 31), (2, 31)], 31),
        ([(3, 95), (0, 48)], 48),  # the same class: the earlier one
        ([(0, 45), (0.1, 154)], 45),  # nothing else is there
    ],
)
def test_the_leading_record_in_any_order_of_the_lines(
    tmp_path: Path, burst: list[tuple[float, int]], lead: int
) -> None:
    for lines in permutations([kernel(*item) for item in burst]):
        record = leading_record(records(tmp_path, list(lines)), skew_us=1_000_000)
        assert record.xid == lead
    first = min(second for second, xid in burst if xid == lead)
    assert record.written.clock_us is not None
    assert record.written.clock_us / 1e6 % 3600 == pytest.approx(first)


def test_at_one_time_the_parent_comes_before_its_child_whatever_the_file_order(tmp_path: Path) -> None:
    # The catalog: Xid 48 (double bit error) is followed by 171 or 172, which say where it was.
    for lines in permutations([kernel(0, 48), kernel(0, 171)]):
        assert leading_record(records(tmp_path, list(lines)), skew_us=1_000_000).xid == 48
