"""A synthetic job log of any size: what a training node prints, with a given share of lines that rules know."""

import random
from collections.abc import Iterator
from pathlib import Path

from crashlens.rules.load import shipped_rules

SEED = 4711
PART = 32 * 1024**2  # bytes that differ; a longer log repeats them, farther apart than any packer looks back
_ORDINARY = (
    "2026-10-01T{clock}.{ms:03}Z [rank{rank}] INFO loader: shard {a} of epoch 3 prefetched in {b} ms, {c} samples wait",
    "2026-10-01 {clock},{ms:03} - trainer.data - INFO - tokenized part-{a}.parquet: {b} documents, {c} tokens",
    "node{node:03}:{pid}:{c} [{gpu}] NCCL INFO Channel {b:02}/0 : {gpu}[{a}] -> {rank}[{c}] via P2P/CUMEM",
    "[2026-10-01 {clock},{ms:03}] [INFO] [engine.py:{b}:forward] gathered {a} parameters, bucket {c} of rank {rank}",
    "INFO 10-01 {clock} metrics.py:{b}] Avg prompt throughput: {a}.{gpu} tokens per second, running {rank}, waiting {gpu}",
    "{ms} GPU{gpu} memory allocated {a} MiB, reserved {c} MiB, peak {b} MiB, fragments {pid}",
    "2026-10-01T{clock}.{ms:03}Z [rank{rank}] DEBUG sampler: bucket {b} padded to {a}, seed {c}, worker {pid}",
    "(Worker pid={pid}, ip=10.0.{gpu}.{rank}) checkpoint shard {a} written to /ckpt/run-{node}/shard-{c}.bin in {b} ms",
    "Oct  1 {clock} node{node:03} kernel: [{a}.{c:06}] nvme nvme{gpu}: {b}/0/0 default/read/poll queues",
    '10.1.{gpu}.{rank} - - [01/Oct/2026:{clock} +0000] "GET /metrics?job={a} HTTP/1.1" 200 {c} "-" "agent/{gpu}.{b}"',
    "wandb: uploading history chunk {a} of run-{node}-{c}, {b} rows, offset {pid}",
    "  (layers.{b}.attention.wq): Linear(in_features={a}, out_features={c}, bias=False)  # {pid} shard {gpu} of {rank}",
)
_STEP = "2026-10-01T{clock}.{ms:03}Z step {a} loss 2.{c:06} tokens/s {pid} step_time 1.{b:03}s"
_TRACEBACK = (
    "[rank{rank}]: Traceback (most recent call last):\n"
    '[rank{rank}]:   File "/app/train.py", line {b}, in <module>\n'
    "[rank{rank}]:     main()\n"
    "[rank{rank}]: ValueError: shard {a} holds {c} samples"
)
_BEFORE = {"kernel": "[{pid}.{c:06}] ", "nccl": "node{node:03}:{pid}:{c} [{gpu}] NCCL WARN ", "c10d": "[rank{rank}]: "}


def write_log(path: Path, size: int, *, hits: float, steps: float) -> None:
    """Write about `size` bytes, of whose lines the share `hits` are rule examples and the share `steps` step lines."""
    written = 0
    with path.open("wb") as file:
        part = part_of_log(min(size, PART), hits=hits, steps=steps)
        while written < size:
            written += file.write(part)


def part_of_log(size: int, *, hits: float, steps: float) -> bytes:
    """About `size` bytes of such a log, whole lines, the same in every run."""
    lines: list[bytes] = []
    length = 0
    for line in _lines(hits, steps):
        lines.append(line)
        length += len(line)
        if length >= size:
            return b"".join(lines)
    raise AssertionError("the lines do not end")


def _lines(hits: float, steps: float) -> Iterator[bytes]:
    chance, number = random.Random(SEED), 0
    known = [
        _BEFORE[next((one for one in ("kernel", "nccl", "c10d") if one in rule.applies_to), "c10d")]
        + example.replace("{", "{{").replace("}", "}}")
        for rule in shipped_rules().rules
        if rule.record is None  # the first line of a longer record, alone, would be waited on for long
        for example in rule.matches
    ] + [_TRACEBACK]
    while True:
        kind = chance.random()
        form = known[number % len(known)] if kind < hits else _STEP if kind < hits + steps else chance.choice(_ORDINARY)
        yield (form.format(
            clock=f"{number // 360000 % 24:02}:{number // 6000 % 60:02}:{number // 100 % 60:02}", ms=number % 100 * 10,
            rank=chance.randrange(64), gpu=chance.randrange(8), node=chance.randrange(200),
            pid=chance.randrange(10_000, 4_000_000), a=chance.randrange(10**6), b=chance.randrange(200),
            c=chance.randrange(10**6),
        ) + "\n").encode()  # fmt: skip
        number += 1
