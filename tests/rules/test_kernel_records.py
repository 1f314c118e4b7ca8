"""Kernel records from end to end of the reader: every era, records over several lines, every Xid and SXid of the catalogs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.analysis.records import LogRecord, log_records
from crashlens.catalog.sxids import sxid_causes, sxids
from crashlens.catalog.xid_causes import xid_causes, xid_readings
from crashlens.catalog.xids import xids
from crashlens.conclude.gpu_readings import reading_of
from crashlens.rules.load import shipped_rules
from crashlens.scan.member import Block
from crashlens.scan.records import Hit, RecordReader

RPC = "Timeout after 45s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL)"
STAMP = "2026-10-02T03:00:00.000000+00:00 n1 kernel: "


def read(*messages: str) -> list[Hit]:
    text = "".join(f"{STAMP}{message}\n" for message in messages)
    return list(RecordReader(shipped_rules()).read([Block(1, text.encode())]))


def told(hits: list[Hit], *names: str) -> list[tuple[str, int, int, dict[str, str]]]:
    """Rule, first and last line and the captures `names` of each record, by line."""
    ordered = sorted(hits, key=lambda hit: (hit.line, hit.rule.id))
    return [(h.rule.id, h.line, h.line_end, {n: h.groups[n] for n in names if n in h.groups}) for h in ordered]


@pytest.mark.parametrize(
    ("message", "captures"),
    [
        ("Xid (0000:03:00): 14, Channel 00000001", {"pci_bus_id": "0000:03:00", "xid": "14"}),
        ("Xid (PCI:0000:17:00): 63, pid=2277, Row Remapper: New row", {"xid": "63", "pid": "2277"}),
        ("Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", {"xid": "79"}),
        ("Xid (PCI:00010001:00:00): 79, GPU has fallen off the bus.", {"pci_bus_id": "00010001:00:00"}),
        (
            "Xid (PCI:0000:0f:00 GPU-I:01 GPU-CI:00): 94, pid=7, name=a b, x",
            {"gpu_instance": "01", "process_name": "a b"},
        ),
        ("Xid (PCI:0000:0f:00): 45, pid=7, name=ray::W, Ch 8 caused by previous Xid 145", {"previous_xid": "145"}),
        (
            "Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)",
            {"recovery_before": "0x4 (Drain and Reset)", "recovery_action": "0x1 (GPU Reset Required)"},
        ),
        (
            "Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link -1 (0x021425c6 0x00000000 0x00000000)",
            {"nvlink_unit": "NETIR_LINK_EVT", "fatality": "Fatal", "link": "-1", "intr_info": "0x021425c6"},
        ),
        (
            f"Xid (PCI:0000:9b:00): 119, {RPC} (0x2 0x4).",
            {"rpc_timeout_s": "45", "driver_gpu": "3", "rpc_function": "76", "rpc_name": "GSP_RM_CONTROL"},
        ),
    ],
)
def test_an_xid_of_every_era_is_read_with_its_fields(message: str, captures: dict[str, str]) -> None:
    (hit,) = read(f"NVRM: {message}")
    assert hit.rule.id == "kernel.xid"
    assert {name: hit.groups.get(name) for name in captures} == captures


def test_switch_lines_of_one_number_are_one_record_and_of_two_switches_two() -> None:
    first, second = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0)", "nvidia-nvswitch1: SXid (PCI:0000:c4:00.0)"
    hits = read(
        f"{first}: 20034, Fatal, Link 30 LTSSM Fault Up",
        f"{second}: 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
        f"{first}: 20034, Severity 1 Engine instance 30 Sub-engine instance 00",
        f"{second}: 12028, Data {{0x000001c0, 0x00000001}}",
        f"{first}: 20034, Data {{0x50610002, 0x10100030}}",
        f"{first}: 11111, Data {{0x1}}",
    )
    assert told(hits, "sxid", "fatality", "link", "severity", "data") == [
        ("kernel.sxid", 1, 5, {"sxid": "20034", "fatality": "Fatal", "link": "30", "severity": "1", "data": "0x50610002, 0x10100030"}),
        ("kernel.sxid", 2, 4, {"sxid": "12028", "fatality": "Non-fatal", "link": "32", "data": "0x000001c0, 0x00000001"}),
        ("kernel.sxid", 6, 6, {"sxid": "11111", "data": "0x1"}),
    ]  # fmt: skip


def test_the_detail_lines_of_a_pcie_error_are_one_record() -> None:
    port = "pcieport 0000:3a:00.0"
    hits = read(
        f"{port}: AER: Multiple Uncorrected (Fatal) error received: 0000:3a:00.0",
        f"{port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)",
        f"{port}:   device [8086:2030] error status/mask=00004020/00000000",
        f"{port}:    [ 5] SDES                  ",
        f"{port}:    [14] CmpltTO                (First)",
        f"{port}: AER: Corrected error received: id=3a00",
        f"{port}: PCIe Bus Error: severity=Corrected, type=Data Link Layer, id=3a00(Transmitter ID)",
        f"{port}:   device [8086:2030] error status/mask=00001000/00002000",
        f"{port}:    [12] Replay Timer Timeout  ",
    )
    assert told(hits, "aer_severity", "aer_bit") == [
        ("kernel.aer", 1, 1, {"aer_severity": "Uncorrected (Fatal)"}),
        ("kernel.pcie_bus_error", 2, 5, {"aer_severity": "Uncorrected (Fatal)", "aer_bit": "CmpltTO"}),
        ("kernel.aer", 6, 6, {"aer_severity": "Corrected"}),
        ("kernel.pcie_bus_error", 7, 9, {"aer_severity": "Corrected", "aer_bit": "Replay Timer Timeout"}),
    ]


def test_both_versions_of_a_mismatch_are_read_in_every_wording() -> None:
    old = read(
        "NVRM: API mismatch: the client has the version 550.54.15, but",
        "NVRM: this kernel module has the version 550.54.14.  Please",
    )
    new = read(
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 41022)",
        "NVRM: has the version 535.161.08, but this kernel module has",
        "NVRM: the version 550.90.07.  Please make sure that this kernel module and all NVIDIA driver",
    )
    one_line = read(
        "NVRM: API mismatch: the client has the version 555.58, but this kernel module has the version 550.54."
    )
    versions = ("client_version", "module_version")
    rule = "kernel.api_mismatch"
    assert told(old, *versions) == [(rule, 1, 2, {"client_version": "550.54.15", "module_version": "550.54.14"})]
    assert told(new, *versions, "pid") == [
        (rule, 1, 3, {"client_version": "535.161.08", "module_version": "550.90.07", "pid": "41022"})
    ]
    assert told(one_line, *versions) == [(rule, 1, 1, {"client_version": "555.58", "module_version": "550.54"})]


def test_a_kill_is_one_record_on_new_and_old_kernels() -> None:
    path = "/kubepods.slice/kubepods-pod1a2b3c4d_1111_2222_3333_0123456789ab.slice/cri.scope"
    new = read(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/kubepods.slice,"
        f"task_memcg={path},task=python3,pid=881,uid=0",
        "Memory cgroup out of memory: Killed process 881 (python3) total-vm:9kB, anon-rss:7kB, file-rss:0kB",
    )
    assert told(new, "pid", "pod_uid", "anon_rss_kib") == [
        (
            "kernel.oom_kill", 1, 2,
            {"pid": "881", "pod_uid": "1a2b3c4d_1111_2222_3333_0123456789ab", "anon_rss_kib": "7"},
        )
    ]  # fmt: skip
    old = read(
        "Task in /slurm/uid_7/job_88120/step_0/task_3 killed as a result of limit of /slurm/uid_7/job_88120",
        "Memory cgroup out of memory: Kill process 7713 (a) score 990 or sacrifice child",
        "Killed process 7713 (a) total-vm:9kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB",
    )
    assert told(old, "pid", "scope", "job_id", "anon_rss_kib") == [
        ("kernel.oom_limit", 1, 1, {"job_id": "88120"}),
        ("kernel.oom_victim", 2, 3, {"pid": "7713", "scope": "Memory cgroup out of memory", "anon_rss_kib": "8"}),
    ]


def records_of(folder: Path, messages: Iterator[str]) -> list[LogRecord]:
    file = folder / "kern.log"
    file.write_text("".join(f"{STAMP}{message}\n" for message in messages), encoding="utf-8")
    case = cl.read(file)
    return log_records(case.events, case.sources)


def test_every_xid_of_the_catalog_is_read_and_concluded_by_its_row(tmp_path: Path) -> None:
    numbers = [one.number for one in xids()]
    records = records_of(tmp_path, (f"NVRM: Xid (PCI:0000:3b:00): {number}, x" for number in numbers))
    assert [record.xid for record in records] == numbers
    none = {number for row in xid_readings() for number in row.xids}
    assert {record.xid for record in records if reading_of(record) is None} == none
    stories = {reading.story for record in records if (reading := reading_of(record))}
    assert stories == {row.story for row in xid_causes() if row.xids}


def test_every_sxid_of_the_catalog_is_read_and_concluded_under_either_word(tmp_path: Path) -> None:
    numbers = [one.number for one in sxids()]
    lines = (
        f"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): {number:05}, {word}, Link 01 text"
        for word in ("Fatal", "Non-fatal")
        for number in numbers
    )
    records = records_of(tmp_path, lines)
    assert [int(record.fields["sxid"]) for record in records] == numbers * 2
    readings = [reading_of(record) for record in records]
    assert {reading.story for reading in readings[: len(numbers)] if reading} == {"sxid_fatal"}
    assert {reading.story for reading in readings[len(numbers) :] if reading} == {"sxid_benign", "sxid_open"}
    assert {row.story for row in sxid_causes()} == {"sxid_fatal", "sxid_benign", "sxid_open"}
    assert None not in readings
