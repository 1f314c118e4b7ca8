"""Parts of a rotated log share their clock where their times follow each other, and nowhere else."""

import gzip
from pathlib import Path

import pytest

import crashlens as cl

XID = "NVRM: Xid (PCI:0000:3b:00): {xid}, pid=4711, name=python, Ch 00000008"


def line(stamp: str, xid: int, host: str = "node4") -> str:
    return f"{stamp} {host} kernel: {XID.format(xid=xid)}\n"


def write(folder: Path, name: str, *lines: str) -> None:
    data = "".join(lines).encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def clocks(case: cl.Case) -> dict[str, set[str]]:
    """File name -> clocks of its events."""
    paths = dict(zip(case.sources["source_id"], case.sources["path"], strict=True))
    found: dict[str, set[str]] = {}
    for row in case.events.iter_rows(named=True):
        found.setdefault(Path(paths[row["source_id"]]).name, set()).add(row["clock_id"])
    return found


def all_of(found: dict[str, set[str]]) -> set[str]:
    return {clock for several in found.values() for clock in several}


@pytest.mark.parametrize(
    "names",
    [
        ("syslog.2.gz", "syslog.1", "syslog"),
        ("syslog.10.gz", "syslog.9.gz", "syslog"),
        ("messages-20261101", "messages-20261108.gz", "messages"),
        ("fabric.log.2026-11-01", "fabric.log.old", "fabric.log"),
    ],
)
def test_parts_are_one_clock_in_the_order_of_their_times(tmp_path: Path, names: tuple[str, str, str]) -> None:
    for number, name in enumerate(names):
        write(tmp_path, name, line(f"Nov  {number + 1} 09:00:00", 31), line(f"Nov  {number + 1} 10:00:00", 43))
    case = cl.read(tmp_path)
    found = clocks(case)
    assert len(all_of(found)) == 1
    told = {Path(row["path"]).name: row["notices"] for row in case.sources.iter_rows(named=True)}
    assert [any("one log with" in notice for notice in told[name]) for name in names] == [True, True, False]


def test_december_in_the_older_part_is_the_year_before_january(tmp_path: Path) -> None:
    write(tmp_path, "syslog.1", line("Dec 31 23:50:00", 31))
    write(tmp_path, "syslog", line("Jan  1 00:10:00", 79))
    case = cl.read(tmp_path, tz="UTC", year=2026)
    events = case.events.sort("time_utc")
    assert events["xid"].to_list() == [31, 79]
    assert events["time_utc"].dt.strftime("%Y-%m-%d %H:%M").to_list() == ["2026-12-31 23:50", "2027-01-01 00:10"]
    undated = cl.read(tmp_path).events.sort("clock_us")
    assert undated["xid"].to_list() == [31, 79]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        pytest.param(
            ("train.log.1", "2026-11-03 10:00:00,000 "), ("train.log", "2026-11-03 09:00:00,000 "), id="overlap"
        ),
        pytest.param(
            ("out.0", "Nov  3 09:00:00 "), ("out.1", "Nov  3 10:00:00 "), id="per-rank files have no newest part"
        ),
        pytest.param(("a/syslog.1", "Nov  3 09:00:00 "), ("b/syslog", "Nov  3 10:00:00 "), id="two folders"),
    ],
)
def test_what_is_not_shown_to_be_one_log_keeps_its_clocks(
    tmp_path: Path, older: tuple[str, str], newer: tuple[str, str]
) -> None:
    for name, stamp in (older, newer):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = "".join(f"{stamp}node4 kernel: {XID.format(xid=xid)}\n" for xid in (31, 43))
        (tmp_path / name).write_text(text.replace("10:00:00", "10:30:00", 1) if "train.log.1" in name else text)
    found = clocks(cl.read(tmp_path))
    assert len(all_of(found)) == 2


def test_two_hosts_are_two_clocks(tmp_path: Path) -> None:
    write(tmp_path, "syslog.1", line("Nov  3 09:00:00", 31, "node4"))
    write(tmp_path, "syslog", line("Nov  3 10:00:00", 31, "node5"))
    assert len(all_of(clocks(cl.read(tmp_path)))) == 2


def test_uptimes_are_never_joined(tmp_path: Path) -> None:
    # dmesg.0 is of the boot before: its seconds count from another start.
    for name, uptime in (("dmesg.1", "100.000001"), ("dmesg", "200.000001")):
        (tmp_path / name).write_text(f"[  {uptime}] {XID.format(xid=79)}\n")
    assert len(all_of(clocks(cl.read(tmp_path)))) == 2
