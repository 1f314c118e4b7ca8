"""What a GPU or switch record stands for when it leads its burst: rows, registers, words, and the Xid named before."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.analysis.records import log_records
from crashlens.conclude.gpu_readings import Reading, reading_of
from crashlens.findings import Finding


def lines(folder: Path, *messages: str) -> Path:
    file = folder / "kern.log"
    told = [f"2026-10-02T03:00:{second:02}+00:00 n1 kernel: {message}\n" for second, message in enumerate(messages)]
    file.write_text("".join(told), encoding="utf-8")
    return file


def findings(folder: Path, *messages: str) -> list[Finding]:
    return list(cl.read(lines(folder, *messages)).findings())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Xid (PCI:0000:04:00): 144, SAW_MVB Nonfatal XC0 i0 Link 00 (0x00000021 0x00000004 0x0)",
            Reading("none.benign", "nvlink5_ignored", "benign"),
        ),
        (
            "Xid (PCI:0000:04:00): 144, SAW_MVB Nonfatal XC0 i0 Link 00 (0x00000021 0x00000008 0x0)",
            Reading("fabric.nvlink_error", "nvlink_error", "consistent"),
        ),
        (
            "Xid (PCI:0000:04:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)",
            Reading("fabric.nvlink_error", "nvlink_error", "supported"),
        ),
        (
            "Xid (PCI:0000:04:00): 45, pid=7, name=a, Ch 8 caused by previous Xid 48",
            Reading("gpu_hardware.uncorrectable_ecc", "xid_named_before", "consistent"),
        ),
        ("Xid (PCI:0000:04:00): 45, pid=7, name=a, Ch 8", None),
        ("Xid (PCI:0000:04:00): 45, pid=7, name=a, Ch 8 caused by previous Xid 99999", None),
        ("Xid (PCI:0000:04:00): 99999, unknown error", None),
        ("Xid (PCI:0000:04:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", None),
    ],
)
def test_the_reading_of_one_record(tmp_path: Path, message: str, expected: Reading | None) -> None:
    case = cl.read(lines(tmp_path, f"NVRM: {message}"))
    (record,) = log_records(case.events, case.sources)
    assert reading_of(record) == expected


def test_what_the_driver_says_came_before_is_downstream_even_at_the_same_time(tmp_path: Path) -> None:
    stamp = "2026-10-02T03:00:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:04:00)"
    file = tmp_path / "kern.log"
    named = f"{stamp}: 45, pid=7, name=a, Ch 8 caused by previous Xid 48\n"
    file.write_text(f"{named}{stamp}: 48, pid=7, name=a, DBE\n", encoding="utf-8")
    (found,) = cl.read(file).findings()
    assert (found.cause, found.first_event and found.first_event.line) == ("gpu_hardware.uncorrectable_ecc", 2)
    assert [(item.role, item.place.line) for item in found.evidence] == [("first", 2), ("downstream", 1)]


def test_an_unknown_number_survives_undecided(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "NVRM: Xid (PCI:0000:04:00): 99999, unknown error")
    assert (found.cause, found.verdict) == ("unknown.insufficient_evidence", "undecided")
    assert "Xid 99999" in found.summary


def test_a_switch_record_before_the_loss_of_a_gpu_is_a_finding_of_its_own(tmp_path: Path) -> None:
    switch = "nvidia-nvswitch1: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 27 LTSSM Fault Up"
    lost = "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."
    after = findings(tmp_path, lost, switch)
    assert [f.cause for f in after] == ["gpu_hardware.fallen_off_bus"]
    before = findings(tmp_path, switch, lost)
    assert [f.cause for f in before] == ["gpu_hardware.fallen_off_bus", "fabric.nvlink_error"]


def test_the_switch_is_no_gpu(tmp_path: Path) -> None:
    case = cl.read(lines(tmp_path, "nvidia-nvswitch1: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 27 LTSSM Fault Up"))
    assert case.gpus.height == 0
    (found,) = case.findings()
    assert found.devices == ()
    assert "0000:c5:00.0" in found.summary


def test_what_the_fabric_manager_repeats_is_the_same_incident(tmp_path: Path) -> None:
    lines(tmp_path, "nvidia-nvswitch1: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 27 LTSSM Fault Up")
    said = "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:C5:00.0 physical id 1 port 27"
    (tmp_path / "fabricmanager.log").write_text(f"[Oct 02 2026 03:00:00] [ERROR] [tid 841] {said}\n", encoding="utf-8")
    (found,) = cl.read(tmp_path).findings()
    assert (found.cause, found.verdict) == ("fabric.nvlink_error", "consistent")
    assert {item.rule_id for item in found.evidence} == {"fabricmanager.switch_error", "kernel.sxid"}


def test_another_switch_is_another_incident(tmp_path: Path) -> None:
    one = "nvidia-nvswitch{n}: SXid (PCI:0000:c{n}:00.0): 20034, Fatal, Link 27 LTSSM Fault Up"
    text = "".join(f"2026-10-02T0{n}:00:00+00:00 n{n} kernel: {one.format(n=n)}\n" for n in (1, 2))
    (tmp_path / "kern.log").write_text(text, encoding="utf-8")
    assert [f.cause for f in cl.read(tmp_path).findings()] == ["fabric.nvlink_error"] * 2
