"""Ports that went down: for good, for a moment, at boot, and what is no port of a network at all."""

from pathlib import Path

import pytest

import crashlens as cl
from crashlens.analysis.records import log_records, sort_key
from crashlens.conclude.ports import PortStory, find_ports
from crashlens.conclude.scene import build_scene
from crashlens.rules.load import shipped_rules

TIMEOUT = (
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600041 milliseconds before timing out."
)
PORT = "mlx5_core 0000:1a:00.0 ens1f0np0: Link"


def ports(folder: Path, *lines: str) -> list[PortStory]:
    file = folder / "kern.log"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    case = cl.read(file)
    scene = build_scene(case.tables, shipped_rules(), uncut=case.tables, lang="en")
    return find_ports(scene, sorted(log_records(case.events, case.sources), key=sort_key))


def at(clock: str, message: str, host: str = "n1") -> str:
    return f"2026-10-02T{clock}+00:00 {host} kernel: {message}"


def told(found: list[PortStory]) -> list[tuple[str, bool, list[tuple[int, int | None]]]]:
    return [
        (p.name, p.rdma, [(d.place.line, u and u.place.line) for d, u in zip(p.downs, p.back, strict=True)])
        for p in found
        if p.downs
    ]


def test_a_port_that_came_back_is_told_from_one_that_did_not(tmp_path: Path) -> None:
    found = ports(
        tmp_path,
        at("10:00:00", f"{PORT} down"),
        at("10:00:04", f"{PORT} up"),
        at("10:10:00", "mlx5_core 0000:5e:00.0 mlx5_4: Port: 1 Link DOWN"),
        at("10:20:00", f"{PORT} down", "n2"),
    )
    assert told(found) == [
        ("ens1f0np0", True, [(1, 2)]),
        ("mlx5_4/1", True, [(3, None)]),
        ("ens1f0np0", True, [(4, None)]),
    ]


def test_lines_out_of_order_are_read_by_their_time(tmp_path: Path) -> None:
    found = ports(tmp_path, at("10:00:04", f"{PORT} up"), at("10:00:00", f"{PORT} down"))
    assert told(found) == [("ens1f0np0", True, [(2, 1)])]


@pytest.mark.parametrize(
    "lines",
    [
        ["[   14.500000] mlx5_core 0000:41:00.0 enp65s0f0np0: Link down"],  # seconds after the boot
        [
            at("10:00:00", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Wed"),
            at("10:01:00", f"{PORT} down"),
        ],
        [at("10:00:00", "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT"), at("10:00:01", f"{PORT} up")],
        [at("10:00:00", "veth41c77d2: Lost carrier"), at("10:00:00", "cali017aa9f5ae6: Lost carrier")],
    ],
    ids=["uptime", "driver load", "coming up", "virtual"],
)
def test_what_is_no_loss_of_a_link(tmp_path: Path, lines: list[str]) -> None:
    assert told(ports(tmp_path, *lines)) == []


def test_a_port_that_goes_down_long_after_the_boot_counts(tmp_path: Path) -> None:
    found = ports(tmp_path, "[ 9214.500000] mlx5_core 0000:41:00.0 enp65s0f0np0: Link down")
    assert told(found) == [("enp65s0f0np0", True, [(1, None)])]


def test_only_a_name_of_infiniband_makes_a_carrier_one(tmp_path: Path) -> None:
    found = ports(tmp_path, at("10:00:00", "ib1: Lost carrier"), at("10:00:00", "eno1: Lost carrier"))
    assert told(found) == [("ib1", True, [(1, None)]), ("eno1", False, [(2, None)])]


def test_a_port_of_a_machine_outside_the_run_stands_behind_the_waits(tmp_path: Path) -> None:
    joined = "n7:48208:48372 [0] NCCL INFO comm 0x9 rank 0 nranks 1 cudaDev 0 busId 19000 commId 0x8 - Init COMPLETE"
    waited = f"n7 python3[48208]: [rank0]:[E1002 09:10:02.500000000 ProcessGroupNCCL.cpp:632] [Rank 0] {TIMEOUT}"
    lines = [f"2026-10-02T08:00:00.000Z {joined}", f"2026-10-02T09:10:02.500Z {waited}"]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "kern.log").write_text(at("08:59:00", f"{PORT} down", "n9") + "\n", encoding="utf-8")
    causes = [finding.cause for finding in cl.read(tmp_path).findings()]
    assert causes.index("communication.collective_hang") < causes.index("network.rdma_link")
