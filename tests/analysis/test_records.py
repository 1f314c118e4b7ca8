"""Events as records that can be ordered: when something began, and which of several stands first."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.analysis.records import (
    LogRecord,
    earliest,
    log_records,
    order_of,
    seconds_between,
    sort_key,
    thin_out,
)

SECOND = 1_000_000
WAIT = (
    "2026-10-01T{at}Z [rank{rank}]: [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42{rank}, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for {ran} milliseconds before timing out."
)
XID = "{at} node7 kernel: NVRM: Xid (PCI:0000:9b:00): {xid}, pid=48213, name=python3, Ch 00000008"


def records(folder: Path, **files: str | list[str]) -> list[LogRecord]:
    """Records of the given logs, by the order of source and line."""
    for name, lines in files.items():
        text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
        (folder / f"{name}.log").write_text(text, encoding="utf-8")
    case = cl.read(folder)
    return log_records(case.events, case.sources)


def test_a_row_becomes_a_record_with_its_place_and_numbers(tmp_path: Path) -> None:
    (record,) = records(tmp_path, kern=["# nothing", XID.format(at="2026-10-01T09:08:25.830749+00:00", xid=94)])
    assert (Path(record.place.source).name, record.place.line) == ("kern.log", 2)
    assert (record.rule_id, record.topic, record.host) == ("kernel.xid", "gpu.xid", "node7")
    assert (record.xid, record.pid, record.fields["process_name"]) == (94, 48213, "python3")
    assert record.dated
    assert record.began == record.written


def test_a_wait_began_as_long_before_its_record_as_it_says(tmp_path: Path) -> None:
    (record,) = records(tmp_path, train=[WAIT.format(at="09:18:28.272", rank=0, ran=600041)])
    assert (record.rank, record.seq, record.timeout_ms, record.ran_ms) == (0, 420, 600000, 600041)
    assert seconds_between(record.began, record.written) == pytest.approx(600.041)


def test_the_record_written_last_can_be_the_one_that_began_first(tmp_path: Path) -> None:
    one, other = records(
        tmp_path,
        train=[WAIT.format(at="09:18:28.000", rank=0, ran=600000), WAIT.format(at="09:18:30.000", rank=1, ran=610000)],
    )
    assert order_of(other, one, skew_us=0) == "before"
    assert earliest([one, other], skew_us=0) is other
    assert sorted([one, other], key=sort_key) == [other, one]


def test_no_record_is_earliest_where_two_cannot_be_ordered(tmp_path: Path) -> None:
    same = [WAIT.format(at="09:18:28.000", rank=rank, ran=600000) for rank in (0, 1)]
    found = records(tmp_path, train=same)
    assert earliest(found, skew_us=0) is None
    assert earliest(found[:1], skew_us=0) is found[0]
    assert earliest([], skew_us=0) is None


def test_two_files_are_ordered_beyond_the_skew_only(tmp_path: Path) -> None:
    xid, wait = records(
        tmp_path,
        kern=[XID.format(at="2026-10-01T09:08:26.000000+00:00", xid=94)],
        train=[WAIT.format(at="09:18:28.000", rank=0, ran=600000)],
    )
    assert order_of(xid, wait, skew_us=1 * SECOND) == "before"
    assert order_of(wait, xid, skew_us=1 * SECOND) == "after"
    assert order_of(xid, wait, skew_us=2 * SECOND) == "unordered"


def test_without_a_stamp_nothing_is_ordered(tmp_path: Path) -> None:
    first, second = records(
        tmp_path, xid=["NVRM: Xid (PCI:0000:9b:00): 94, pid=1, name=a", "NVRM: Xid (PCI:0000:9b:00): 45, pid=1, name=a"]
    )
    assert not first.dated
    assert order_of(first, second, skew_us=0) == "unordered"
    assert seconds_between(first.written, second.written) is None
    assert [r.place.line for r in sorted([second, first], key=sort_key)] == [1, 2]


def test_of_a_flood_the_first_and_the_last_records_are_kept_whatever_their_line(tmp_path: Path) -> None:
    stamps = [f"2026-10-01T09:00:{second:02d}.000000+00:00" for second in (*range(10, 20), *range(10))]
    flood = records(tmp_path, kern=[XID.format(at=at, xid=13) for at in stamps])
    other = tmp_path / "other"
    other.mkdir()
    one = records(other, kern=[XID.format(at="2026-10-01T09:00:59+00:00", xid=94)])
    kept, left_out = thin_out([*flood, *one], most_of_a_kind=5)
    assert [record.written.utc_us for record in kept if record.xid == 13] == [
        record.written.utc_us for record in (flood[9], *flood[10:14])
    ]
    assert left_out == {("kernel.xid", 13): 15}
    assert [record.xid for record in kept].count(94) == 1


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        (("node7", "node7.cluster.local"), ("node7", "node7")),  # two forms of one name
        (("node7.cluster.local", "node8"), ("node7.cluster.local", "node8")),  # the short form does not occur
        (("node7.a", "node7.b", "node7"), ("node7.a", "node7.b", "node7")),  # two machines share the short form
        (("10.0.0.7", "10"), ("10.0.0.7", "10")),  # an address is no name
    ],
)
def test_one_machine_has_one_name(tmp_path: Path, hosts: tuple[str, ...], names: tuple[str, ...]) -> None:
    lines = [
        f"2026-10-01T09:08:2{n}+00:00 {host} kernel: NVRM: Xid (PCI:0000:9b:00): 94, x" for n, host in enumerate(hosts)
    ]
    assert tuple(record.host for record in records(tmp_path, kern=lines)) == names
