"""An nvidia-bug-report log, in the layout of the script: sections are told apart and keep the line numbers of the report."""

import gzip
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.scan.member import Block
from crashlens.scan.sections import split_sections

RULE = "_" * 44
PROLOGUE = [
    RULE, "", "Start of NVIDIA bug report log file.  Please include this file, along",
    "with a detailed description of your problem, when reporting a graphics",
    "driver bug via the NVIDIA Linux forum (see devtalk.nvidia.com)",
    "or by sending email to 'linux-bugs@nvidia.com'.", "",
    "nvidia-bug-report.sh Version: 34275561", "",
    "Date: Tue Nov  3 08:11:02 UTC 2026", "uname: Linux node4 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux",
    "command line flags: ", "",
]  # fmt: skip
EPILOGUE = [RULE, "", "End of NVIDIA bug report log file."]


def section(title: str, *lines: str) -> list[str]:
    return [RULE, "", title, "", *lines, ""]


def appended(path: str, *lines: str) -> list[str]:
    ls = f"*** ls: -rw-r--r-- 1 root root 2481 2026-11-03 08:00:00.000000000 +0000 {path}"
    return [RULE, "", f"*** {path}", ls, *lines, ""]


def report(*sections: list[str], ended: bool = True) -> bytes:
    lines = [line for part in (PROLOGUE, *sections, EPILOGUE if ended else []) for line in part]
    return "".join(f"{line}\n" for line in lines).encode()


def line_of(data: bytes, words: str) -> int:
    (number,) = (n for n, line in enumerate(data.decode().split("\n"), 1) if words in line)
    return number


JOURNAL = section(
    "Scanning kernel log files for NVIDIA kernel messages:",
    "  journalctl -b -0:",
    "Nov 03 08:01:07 node4 kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build",
    "",
    "  journalctl -b -1:",
    "Nov 03 07:40:12 node4 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
)
DMESG = section("dmesg:", "[   14.201711] NVRM: Xid (PCI:0000:c1:00): 62, 0x3d4(0x1) 00000000 00000000")
SMI = section(
    "/usr/bin/nvidia-smi --query-gpu=index,temperature.gpu --format=csv",
    "index, temperature.gpu",
    "0, 41",
    "1, 44",
)


def test_records_of_every_section_keep_the_line_numbers_of_the_report(tmp_path: Path) -> None:
    data = report(appended("/etc/issue", "Ubuntu"), JOURNAL, DMESG, appended("/proc/cpuinfo", "processor: 0"))
    (tmp_path / "nvidia-bug-report.log.gz").write_bytes(gzip.compress(data))
    case = cl.read(tmp_path)
    assert case.sources["format"].to_list() == ["nvidia_bug_report"]
    found = case.events.filter(case.events["rule_id"].is_in(["kernel.xid", "kernel.driver_loaded"]))
    assert found.select("rule_id", "line", "xid").sort("line").rows() == [
        ("kernel.driver_loaded", line_of(data, "570.158.01"), None),
        ("kernel.xid", line_of(data, "): 79,"), 79),
        ("kernel.xid", line_of(data, "): 62,"), 62),
    ]
    assert case.sources["lines"].to_list() == [data.count(b"\n")]
    assert case.sources["state"].to_list() == ["read"]


def test_boots_printed_newest_first_are_ordered_by_their_times(tmp_path: Path) -> None:
    (tmp_path / "r.log").write_bytes(report(JOURNAL))
    events = cl.read(tmp_path, tz="UTC", year=2026).events.sort("time_utc")
    assert events["rule_id"].to_list() == ["kernel.xid", "kernel.driver_loaded"]
    assert events["time_utc"].dt.strftime("%H:%M:%S").to_list() == ["07:40:12", "08:01:07"]


def test_a_table_of_nvidia_smi_in_it_becomes_samples(tmp_path: Path) -> None:
    data = report(SMI, DMESG)
    (tmp_path / "r.log").write_bytes(data)
    case = cl.read(tmp_path)
    assert case.samples.select("line", "gpu_temperature_c").rows() == [
        (line_of(data, "0, 41"), 41.0),
        (line_of(data, "1, 44"), 44.0),
    ]
    assert case.events.filter(case.events["rule_id"] == "kernel.xid").height == 1


def test_what_holds_no_log_is_not_searched_and_counted(tmp_path: Path) -> None:
    fake = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    (tmp_path / "r.log").write_bytes(report(section('base64 "/tmp/nvidia-debugdump"', fake), DMESG))
    case = cl.read(tmp_path)
    assert case.events.filter(case.events["rule_id"] == "kernel.xid")["xid"].to_list() == [62]
    assert any("1 of them hold no log" in notice for notice in case.sources["notices"][0])


@pytest.mark.parametrize("cut", ["dmesg", "prologue", "middle of gzip"])
def test_a_truncated_report_keeps_the_sections_before_the_cut(tmp_path: Path, cut: str) -> None:
    data = report(JOURNAL, DMESG, ended=False)
    kept = {"dmesg": data, "prologue": data[:800], "middle of gzip": gzip.compress(data * 1)[:-40]}[cut]
    (tmp_path / "r.log").write_bytes(kept)
    case = cl.read(tmp_path)
    assert case.sources["state"].to_list() == ["partly_read"]
    assert any("no end line" in notice for notice in case.sources["notices"][0])
    if cut == "dmesg":
        assert sorted(case.events["xid"].drop_nulls().to_list()) == [62, 79]


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_sections_are_the_same_however_the_blocks_are_cut(size: int) -> None:
    lines = report(appended("/etc/issue", "Ubuntu"), JOURNAL, DMESG).splitlines(keepends=True)
    blocks = [Block(n + 1, b"".join(lines[n : n + size])) for n in range(0, len(lines), size)]
    found: dict[tuple[int, str, int], bytes] = {}
    for part, block in split_sections(blocks):
        key = (part.number, part.title, part.line)
        found[key] = found.get(key, b"") + block.data
    assert [title for _, title, _ in found] == [
        "Start of NVIDIA bug report log file.  Please include this file, along",
        "*** /etc/issue",
        "Scanning kernel log files for NVIDIA kernel messages:",
        "dmesg:",
        "End of NVIDIA bug report log file.",
    ]
    assert b"".join(found.values()) == b"".join(lines)
    for (_, _, line), text in found.items():
        assert lines[line - 1] == text.splitlines(keepends=True)[0]
