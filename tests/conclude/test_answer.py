"""Which findings an answer holds, and in which order: what ended the run, then what slowed it, then what decides nothing."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.findings import MOST_FINDINGS, Finding


def answer(folder: Path, **files: list[str]) -> list[Finding]:
    for name, lines in files.items():
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(cl.read(folder).findings())


def xid(day: int, number: int, *, bus: int = 0x1B, host: str = "n1", pid: int = 7) -> str:
    return f"2026-10-{day:02}T09:00:00+00:00 {host} kernel: NVRM: Xid (PCI:0000:{bus:02x}:00): {number}, pid={pid}, name=a, x"


def causes(findings: list[Finding]) -> list[str]:
    return [finding.cause for finding in findings]


def test_at_most_eight_findings_numbered_in_order(tmp_path: Path) -> None:
    found = answer(tmp_path, kern=[xid(1 + n, 94, bus=0x10 + n, pid=100 + n) for n in range(12)])
    assert len(found) == MOST_FINDINGS == 8
    assert [finding.id for finding in found] == [f"F-{number:02}" for number in range(1, 9)]


def test_inside_a_family_the_earlier_one_comes_first(tmp_path: Path) -> None:
    found = answer(tmp_path, kern=[xid(3, 94, bus=0x20), xid(1, 79, bus=0x10)])
    assert causes(found) == ["gpu_hardware.fallen_off_bus", "gpu_hardware.uncorrectable_ecc"]


def test_a_row_that_waits_for_a_reset_comes_behind_a_program_that_failed(tmp_path: Path) -> None:
    found = answer(
        tmp_path,
        kern=[xid(1, 63, bus=0x20)],
        train=["2026-10-02T09:00:00Z [rank0]: RuntimeError: CUDA error: an illegal memory access was encountered"],
    )
    assert causes(found) == ["application.gpu_exception", "gpu_hardware.row_remap_pending"]


def test_a_benign_finding_comes_last(tmp_path: Path) -> None:
    oom = "2026-10-01T09:00:00Z WARN CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.21 GiB is free."
    steps = [f"2026-10-01T09:{minute:02}:00Z step {minute} loss 2.1 tokens/s 84000" for minute in (1, 2, 3)]
    found = answer(tmp_path, kern=[xid(9, 154)], train=[oom, *steps])
    assert [(f.cause, f.verdict) for f in found] == [
        ("gpu_hardware.reset_required", "supported"),
        ("none.benign", "benign"),
    ]


def test_nothing_decided_counts_what_was_read(tmp_path: Path) -> None:
    (finding,) = answer(
        tmp_path,
        run=[
            "2026-10-01T09:00:00Z step 1 loss 2.1 tokens/s 84000",
            "2026-10-01T09:00:01Z some ERROR of a kind nobody knows",
        ],
    )
    assert (finding.cause, finding.verdict, finding.first_event) == ("unknown.insufficient_evidence", "undecided", None)
    assert finding.evidence == ()
    assert "1 source(s) were read" in finding.summary
    assert "1 further line(s) hold an error word" in finding.summary
    assert "that the run was healthy" in finding.does_not_prove


def test_a_window_without_the_record_does_not_conclude_from_it(tmp_path: Path) -> None:
    (tmp_path / "kern.log").write_text(xid(1, 94) + "\n")
    case = cl.read(tmp_path)
    outside = case.window("2026-10-02T00:00:00Z", "2026-10-03T00:00:00Z")
    inside = case.window("2026-10-01T09:00:00Z", "2026-10-01T09:00:01Z")
    assert causes(list(outside.findings())) == ["unknown.insufficient_evidence"]
    assert causes(list(inside.findings())) == ["gpu_hardware.uncorrectable_ecc"]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_names_of_the_files_decide_nothing(tmp_path: Path, names: tuple[str, str]) -> None:
    early, late = names
    found = answer(tmp_path, **{early: [xid(1, 94)], late: [xid(3, 79, bus=0x20)]})
    assert causes(found) == ["gpu_hardware.uncorrectable_ecc", "gpu_hardware.fallen_off_bus"]


def test_one_burst_of_one_gpu_is_one_finding_and_every_line_is_evidence_once(tmp_path: Path) -> None:
    found = answer(tmp_path, kern=[xid(1, 45), xid(1, 94), xid(1, 63), xid(1, 154)])
    assert causes(found) == ["gpu_hardware.uncorrectable_ecc"]
    assert found[0].first_event is not None
    assert found[0].first_event.line == 2
    assert sorted(item.place.line for item in found[0].evidence) == [1, 2, 3, 4]


def test_the_same_fault_of_all_gpus_at_once_is_one_incident(tmp_path: Path) -> None:
    found = answer(tmp_path, kern=[xid(1, 74, bus=0x10 + n) for n in range(6)])
    assert causes(found) == ["fabric.nvlink_error"]
    assert len(found[0].devices) == 6
    assert "6 GPUs" in found[0].summary


def test_hundreds_of_records_are_shown_in_part_and_counted(tmp_path: Path) -> None:
    (finding,) = answer(tmp_path, kern=[xid(1, 74) for _ in range(300)])
    assert len(finding.evidence) <= 14
    shown = len(finding.evidence)
    assert f"{300 - shown} more records" in finding.evidence[-1].note
