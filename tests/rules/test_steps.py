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
    (
        "{'loss': 2.3415, 'grad_norm': 1.82, 'learning_rate': 4.9e-05, 'epoch': 0.12}",
        (None, None, None, None, None, 2.3415),
    ),
    (
        "{'loss': '1.1', 'grad_norm': '0.9', 'learning_rate': '2e-05', 'epoch': '1.5'}",
        (None, None, None, None, None, 1.1),
    ),
    (
        "Epoch 0:  30%|███       | 30/100 [00:12<00:28,  2.50it/s, v_num=1, train_loss=0.531]",
        (30, 0.4, None, None, None, 0.531),
    ),
    (
        "Epoch 3:  10%|█         | 10/100 [00:41<06:12,  4.13s/it, loss=0.42, v_num=7]",
        (10, 4.13, None, None, None, 0.42),
    ),
    (
        "Epoch 3:  10%|█         | 10/100 [00:41<06:12,  4.13s/it, v_num=, loss=nan.0]",
        (10, 4.13, None, None, None, None),
    ),
    ("Training:  12%|█▏        | 60/500 [01:40<12:13,  1.67s/it]", (60, 1.67, None, None, None, None)),
    (" 10%|█         | 50/500 [01:23<12:30,  1.67s/it, loss=2.41]", (50, 1.67, None, None, None, 2.41)),
    (
        "Epoch 0: :   5%|▌ | 50/1000 [02:30<47:30, v_num=, reduced_train_loss=10.90, global_step=49.00, train_step_timing in s=2.98]",
        (49, 2.98, None, None, None, 10.9),
    ),
    (
        "iteration 1200/ 73242 | elapsed time per iteration (s): 6.53 | lm loss: 2.91E+00 | samples per second: 313.6 | TFLOPs: 47.52 |",
        (1200, 6.53, None, 313.6, None, 2.91),
    ),
    (
        "iteration 1210/ 73242 | elapsed time per iteration (ms): 611.3 | lm loss: NAN | loss scale: 1.0 |",
        (1210, 0.6113, None, None, None, None),
    ),
    (
        "[2021-09-02 00:41:17,936] [INFO] [timer.py:157:stop] 0/30, SamplesPerSec=24.04",
        (30, None, None, 24.04, None, None),
    ),
    ("steps: 10 loss: 2.3456 iter time (s): 1.234 samples/sec: 25.921", (10, 1.234, None, 25.921, None, 2.3456)),
    ("iter 300: loss 3.2514, time 241.06ms, mfu 31.20%", (300, 0.24106, None, None, 0.312, 3.2514)),
    ("Step 40 | Loss: 3.02 | lr: 3e-4 | tok/sec: 18250", (40, None, 18250.0, None, None, 3.02)),
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
        "{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 0.1}",
        "{'eval_loss': 1.2, 'eval_runtime': 4.1, 'epoch': 1.0}",
        "{'train_runtime': 812.4, 'train_samples_per_second': 63.1, 'train_steps_per_second': 1.9, 'train_loss': 1.8, 'epoch': 3.0}",
        "{'loss': 'mse', 'lr': 0.1, 'epoch': 10}",
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:05<00:00,  2.50s/it]",
        "Validation DataLoader 0:  50%|█████     | 5/10 [00:01<00:01,  4.20it/s, v_num=1]",
        " 10%|█         | 50/500 [01:23<12:30,  1.67s/it]",
        "[2023-08-02 00:41:17,936] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.95)]",
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
