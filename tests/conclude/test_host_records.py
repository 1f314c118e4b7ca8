"""PCIe errors are tied to a GPU only by what a line names; harmless records are told only where nothing else is."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.findings import Finding

PORT, GPU = "pcieport 0000:3a:00.0", "nvidia 0000:3b:00.0"
FATAL = "PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)"
CORRECTED = f"{PORT}: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)"
KNOWN_GPU = "NVRM: GPU at PCI:0000:3b:00: GPU-392456de-23b8-bc89-1a3d-bd9cad3c2d6d"
EDAC = "EDAC MC0: 4 CE memory read error on DIMM_A1 (channel:0 slot:0 page:0x1 offset:0x0 grain:32 syndrome:0x0)"


def findings(folder: Path, *messages: str) -> list[Finding]:
    file = folder / "kern.log"
    lines = [f"2026-10-02T03:00:{second:02}+00:00 n1 kernel: {message}" for second, message in enumerate(messages)]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return list(cl.read(file).findings())


def told(found: list[Finding]) -> list[tuple[str, str, int]]:
    return [(f.cause, f.verdict, f.first_event.line if f.first_event else 0) for f in found]


@pytest.mark.parametrize(
    "messages",
    [
        [f"{GPU}: {FATAL}"],  # the driver is NVIDIA's
        [f"{PORT}: {FATAL}", f"{PORT}:   device [10de:2330] error status/mask=00000020/00000000"],  # the vendor
        [f"{PORT}: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", KNOWN_GPU],  # the address
    ],
    ids=["driver", "vendor", "address"],
)
def test_an_uncorrected_error_that_names_a_gpu_is_consistent_with_its_link(tmp_path: Path, messages: list[str]) -> None:
    assert told(findings(tmp_path, *messages)) == [("gpu_hardware.pcie_link", "consistent", 1)]


def test_one_that_names_none_decides_nothing(tmp_path: Path) -> None:
    found = findings(tmp_path, f"{PORT}: {FATAL}", f"{PORT}:   device [8086:2030] error status/mask=00000020/00000000")
    assert told(found) == [("unknown.insufficient_evidence", "undecided", 1)]


def test_errors_beside_a_lost_gpu_belong_to_the_loss_and_are_no_finding(tmp_path: Path) -> None:
    found = findings(tmp_path, f"{PORT}: {FATAL}", "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.")
    assert told(found) == [("gpu_hardware.fallen_off_bus", "supported", 2)]
    assert [(item.role, item.place.line, item.note[:26]) for item in found[0].evidence] == [
        ("first", 2, "Driver cannot reach the GP"),
        ("context", 1, "an uncorrected PCIe error "),
    ]


def test_corrected_errors_are_benign_alone_and_silent_beside_a_fault(tmp_path: Path) -> None:
    alone = findings(tmp_path, CORRECTED, EDAC)
    assert told(alone) == [("none.benign", "benign", 1), ("none.benign", "benign", 2)]
    beside = findings(tmp_path, CORRECTED, EDAC, "NVRM: Xid (PCI:0000:3b:00): 119, pid=7, name=nvidia-smi, x")
    assert told(beside) == [("gpu_hardware.firmware_fault", "supported", 3)]


@pytest.mark.parametrize(
    ("width", "speed", "device", "expected"),
    [
        (8, "16.0", "nvidia 0000:3b:00.0", [("gpu_hardware.pcie_link", "consistent", 1)]),
        (8, "16.0", "mlx5_core 0000:9d:00.0", [("unknown.insufficient_evidence", "undecided", 1)]),
        (16, "2.5", "nvidia 0000:3b:00.0", [("unknown.insufficient_evidence", "undecided", 0)]),  # as when idle
    ],
)
def test_only_missing_lanes_of_a_gpu_are_its_link(
    tmp_path: Path, width: int, speed: str, device: str, expected: list[tuple[str, str, int]]
) -> None:
    line = (
        f"{device}: 99.000 Gb/s available PCIe bandwidth, limited by {speed} GT/s PCIe x{width} link at 0000:3a:00.0 "
        f"(capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
    )
    assert told(findings(tmp_path, line)) == expected
