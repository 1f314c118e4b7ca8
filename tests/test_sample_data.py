"""The shipped samples are what their generator makes, and they tell the stories that their README promises."""

import re
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent.parent / "sample_data"
HOT, MIRROR = "throttled_then_xid94", "timeouts_then_foreign_xid94"
NAMES = ("gpu_telemetry.csv", "kern.log", "train.log")


def lines(folder: str, name: str) -> list[str]:
    return (SAMPLES / folder / name).read_bytes().decode().removesuffix("\n").split("\n")


def log_time(line: str) -> datetime:
    return datetime.fromisoformat(line.split(" ", 1)[0])


def xids(folder: str) -> list[tuple[datetime, str, int, str | None]]:
    """Time, bus id, number and pid of every Xid line."""
    shape = re.compile(r"NVRM: Xid \(PCI:([0-9a-f:]+)\): (\d+)(?:, pid=(\d+))?")
    found = [(log_time(line), shape.search(line)) for line in lines(folder, "kern.log")]
    return [(when, hit[1], int(hit[2]), hit[3]) for when, hit in found if hit]


def wait_starts(folder: str) -> dict[int, datetime]:
    """Rank to the start of the collective that its watchdog gave up: time of the record less how long it ran."""
    shape = re.compile(
        r"^\S+ \[rank(\d+)\]:\[E\S+ \S+ \S+\] \[Rank \d+\] Watchdog caught .* ran for (\d+) milliseconds"
    )
    hits = [(log_time(line), shape.search(line)) for line in lines(folder, "train.log")]
    return {int(hit[1]): when - timedelta(milliseconds=int(hit[2])) for when, hit in hits if hit}


def ranks(folder: str) -> dict[int, tuple[int, str]]:
    """Rank to pid and bus id, from the NCCL lines."""
    shape = re.compile(r"gpu-node-07:(\d+):\d+ \[\d\] NCCL INFO comm \S+ rank (\d+) .* busId (\w+)000 .*Init COMPLETE")
    hits = [shape.search(line) for line in lines(folder, "train.log")]
    return {int(hit[2]): (int(hit[1]), f"0000:{hit[3]}:00") for hit in hits if hit}


def telemetry(folder: str, index: str) -> list[list[str]]:
    rows = [line.split(", ") for line in lines(folder, "gpu_telemetry.csv")[1:]]
    return [row for row in rows if row[1] == index]


def test_the_generator_makes_the_shipped_files_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SAMPLES / "make_samples.py", tmp_path], check=True, capture_output=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert made == sorted(Path(folder) / name for folder in (HOT, MIRROR) for name in NAMES)
    assert [path for path in made if (tmp_path / path).read_bytes() != (SAMPLES / path).read_bytes()] == []


def test_the_samples_are_small_and_say_that_they_are_synthetic() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()) < 3_000_000
    assert "**Synthetic: nothing here was measured.**" in (SAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", [HOT, MIRROR])
def test_seven_ranks_time_out_on_the_same_collective_and_rank_5_does_not(folder: str) -> None:
    assert sorted(wait_starts(folder)) == [0, 1, 2, 3, 4, 6, 7]
    numbers = {hit for line in lines(folder, "train.log") for hit in re.findall(r"WorkNCCL\(SeqNum=(\d+)", line)}
    assert len(numbers) == 1
    assert len(ranks(folder)) == 8


@pytest.mark.parametrize("folder", [HOT, MIRROR])
def test_the_traps_are_there(folder: str) -> None:
    text = "\n".join(lines(folder, "train.log"))
    for trap in (
        "HF_TOKEN=hf_",
        "training-oncall@example.com",
        "데이터 로더 준비 완료",
        "🚀",
        "if you see 'Watchdog caught",
    ):
        assert text.count(trap) == 1
    assert {row[6] for row in telemetry(folder, "3")} == {"[N/A]"}
    assert {row[13] for row in telemetry(folder, "2")} == {f"0x{mask:016x}" for mask in (0, 1, 4)}
    stamps = [datetime.fromisoformat(row[0].replace("/", "-")) for row in telemetry(folder, "0")]
    long = [(at.strftime("%H:%M"), then - at) for at, then in pairwise(stamps) if then - at > timedelta(seconds=30)]
    assert [when for when, _ in long] == ["08:46"]
    assert timedelta(seconds=40) < long[0][1] <= timedelta(seconds=51)


def test_hot_story_the_xid_is_of_rank_5_and_comes_before_every_wait() -> None:
    assert [(bus, number, pid) for _, bus, number, pid in xids(HOT)] == [
        ("0000:9b:00", 63, None),
        ("0000:9b:00", 94, "48213"),
        ("0000:9b:00", 154, None),
        ("0000:9b:00", 45, "48213"),
    ]
    assert ranks(HOT)[5] == (48213, "0000:9b:00")
    xid_94 = xids(HOT)[1][0]
    assert min(wait_starts(HOT).values()) - xid_94 > timedelta(seconds=2)
    ecc = next(line for line in lines(HOT, "train.log") if "uncorrectable ECC error encountered" in line)
    assert "[rank5]: torch.AcceleratorError: CUDA error:" in ecc
    assert timedelta(seconds=1) < log_time(ecc) - xid_94 < timedelta(seconds=2)


def test_hot_story_one_gpu_is_throttled_and_the_run_loses_about_28_percent() -> None:
    hot = [row for row in telemetry(HOT, "5") if int(row[13], 16) & 0x60]
    assert {int(row[13], 16) for row in hot} == {0x20, 0x68}
    assert min(row[0] for row in hot) > "2026/10/01 08:25:00"
    settled = [row for row in hot if row[0] > "2026/10/01 08:29:30" and row[13].endswith("20")]
    assert {row[9] for row in settled} <= {f"{clock} MHz" for clock in (1380, 1395, 1410)}
    assert all(int(row[13], 16) & 0x68 == 0 for index in "0123467" for row in telemetry(HOT, index))
    rates = [
        (line[11:19], int(hit[1]))
        for line in lines(HOT, "train.log")
        if (hit := re.search(r"step \d+ loss [\d.]+ tokens/s (\d+) step_time [\d.]+s$", line))
    ]
    before = sorted(rate for when, rate in rates if "08:05:00" < when < "08:25:00")
    after = sorted(rate for when, rate in rates if when > "08:28:00")
    assert 0.70 < after[len(after) // 2] / before[len(before) // 2] < 0.75
    assert min(len(before), len(after)) > 300


def test_mirror_the_xid_is_of_another_process_and_gpu_90_minutes_later() -> None:
    ((when, bus, number, pid),) = xids(MIRROR)
    assert (bus, number, pid) == ("0000:0f:00", 94, "99731")
    assert (99731, bus) not in ranks(MIRROR).values()
    assert bus not in {gpu for _, gpu in ranks(MIRROR).values()}
    timeouts = [start + timedelta(seconds=600) for start in wait_starts(MIRROR).values()]
    assert all(timedelta(minutes=90) <= when - timeout < timedelta(minutes=90, seconds=30) for timeout in timeouts)


def test_mirror_has_no_heat_no_error_of_rank_5_and_steady_throughput() -> None:
    assert all(int(row[13], 16) & 0x68 == 0 for index in "01234567" for row in telemetry(MIRROR, index))
    text = lines(MIRROR, "train.log")
    assert [line for line in text if "[rank5]" in line or "ECC" in line] == []
    rates = [int(hit[1]) for line in text if (hit := re.search(r"^\S+ step \d+ .* tokens/s (\d+)", line))][1:]
    assert min(rates) / max(rates) > 0.95
