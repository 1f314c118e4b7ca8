"""The step lines of the trainers in formats/telemetry.md, section 11, with the values a reader would take from them."""

from pathlib import Path

import pytest

import crashlens as cl

COLUMNS = ("step", "step_time_s", "tokens_per_s", "samples_per_s", "mfu_ratio", "loss")
LINES = [
    (
        " [2025-11-28 18:48:17] iteration       50/    5000 | consumed samples:        51200 | elapsed time per iteration (ms): 61674.3 | throughput per GPU (TFLOP/s/GPU): 68.2 | lm loss: 1.092E+01 | grad norm: 3.2 |",
        (50, 61.6743, None, None, None, 10.92),
    ),
    (
        "[default3]: [2025-11-28 18:48:17] iteration      100/  500000 | elapsed time per iteration (ms): 1000.0 | learning rate: 1.0E-05 |",
        (100, 1.0, None, None, None, None),
    ),
    (
        "0: Training epoch 0, iteration 45/99 | lr: 6.897e-06 | global_batch_size: 128 | global_step: 45 | reduced_train_loss: 11.96 | train_step_timing in s: 6.08 | TFLOPS_per_GPU: 1.249e+03 | consumed_samples: 5888",
        (45, 6.08, None, None, None, 11.96),
    ),
    (
        "[2023-08-02 00:41:17,936] [INFO] [timer.py:215:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=220.69, CurrSamplesPerSec=222.88, MemAllocated=0.07GB, MaxMemAllocated=1.36GB",
        (10, None, None, 222.88, None, None),
    ),
    (
        "\x1b[31mstep: 20\x1b[39m  \x1b[32mloss:  9.1234\x1b[39m  \x1b[33mmemory: 35.10GiB(44.33%)\x1b[39m  tps: 1,444  tflops: 300.32  mfu: 23.10%",
        (20, None, None, None, 0.231, 9.1234),
    ),
    (
        "2026-10-01T10:00:00Z rank=0 INFO step 100 loss 2.11 tokens/s 41,200",
        (100, None, 41200.0, None, None, 2.11),
    ),
    (
        "2020-06-02 11:00:07.831797: step 960, loss = 1.98 (9134.5 examples/sec; 0.014 sec/batch)",
        (960, 0.014, None, 9134.5, None, 1.98),
    ),
    ("step=7 loss=0.5 step_time_ms=250", (7, 0.25, None, None, None, 0.5)),
    ("step: 8 | loss: 1e-05 | step_time: 0.5 s", (8, 0.5, None, None, None, 1e-05)),
]


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[line.strip()[:20] for line, _ in LINES])
def test_a_step_line_yields_the_numbers_it_prints(tmp_path: Path, line: str, expected: tuple[object, ...]) -> None:
    file = tmp_path / "train.log"
    file.write_text(f"start\n{line}\n", encoding="utf-8")
    steps = cl.read(file).steps
    assert steps["line"].to_list() == [2]
    assert steps.select(COLUMNS).row(0) == pytest.approx(expected)


@pytest.mark.parametrize(
    "line",
    [
        "step 5 of the installation: unpack tokens/s meter",
        "Next step: lower the loss",
        "step 3 loss nan",
        "iteration 3/ 10 | elapsed time per iteration (ms): not measured |",
        "step 1 loss 1e999",
    ],
)
def test_a_line_without_a_measurement_is_no_step(tmp_path: Path, line: str) -> None:
    file = tmp_path / "train.log"
    file.write_text(f"{line}\n", encoding="utf-8")
    assert cl.read(file).steps.height == 0


def test_progress_bars_on_one_line_are_steps_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "train.log"
    file.write_bytes(b"step 1 loss 3.0\rstep 2 loss 2.5\rstep 3 loss 2.0\r\nstep 4 loss 1.5\n")
    assert cl.read(file).steps.select("line", "step", "loss").rows() == [
        (1, 1, 3.0),
        (1, 2, 2.5),
        (1, 3, 2.0),
        (2, 4, 1.5),
    ]
