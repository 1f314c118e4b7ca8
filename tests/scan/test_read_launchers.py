"""One file per launcher and logger, in the shape that it prints: who wrote the record, and when?"""

from datetime import UTC, datetime

import polars as pl
import pytest

from tests.scan.conftest import ReadFile

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
FAULT = "CUDA error: an illegal memory access was encountered"
WATCHDOG = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600041 milliseconds before timing out."


Row = tuple[str, str, int | None, int | None, str | None, int | None, int | None]
WHO: list[Row] = [  # name, envelope, rank, local rank, host, pid, time
    ("torchrun tee", "[default3]:", None, 3, None, None, None),
    ("torchrun tee, ranks", "[default3]:[rank11]: ", 11, 3, None, None, None),
    ("rank", "[rank3]: ", 3, None, None, None, None),
    ("node and rank", "NODE-0 [rank5] ", 5, None, None, None, None),
    ("host and local rank", "[worker-1:3]: ", None, 3, "worker-1", None, None),
    ("Open MPI", "[worker-1:04711] ", None, None, "worker-1", 4711, None),
    ("mpirun --tag-output", "[1,3]<stderr>: ", 3, None, None, None, None),
    ("Ray", "(RayTrainWorker pid=4711, ip=10.0.0.5) ", None, None, "10.0.0.5", 4711, None),
    ("Ray in colour", "\x1b[36m(RayTrainWorker pid=4711, ip=10.0.0.5)\x1b[0m ", None, None, "10.0.0.5", 4711, None),
    ("Ray, rank", "(WorkerDict pid=4711) [rank4]: ", 4, None, None, 4711, None),
    ("Ray task", "(pid=4711) ", None, None, None, 4711, None),
    ("raylet", "(raylet, ip=10.0.0.5) [2026-10-01 10:00:07,123 E 4711 4800] (raylet) node_manager.cc:306: ", None, None, "10.0.0.5", 4711, 123000),
    ("vLLM process", "(EngineCore_DP0 pid=4711) ERROR 10-01 10:00:07 [core.py:700] ", None, None, None, 4711, 0),
    ("vLLM worker", "(VllmWorker rank=2 pid=4711) ERROR 10-01 10:00:07 [gpu_worker.py:25] ", 2, None, None, 4711, 0),
    ("vLLM until 0.6", "ERROR 10-01 10:00:07 llm_engine.py:226] ", None, None, None, None, 0),
    ("vLLM without a file", "(EngineCore_DP0 pid=4711) ERROR 10-01 10:00:07 ", None, None, None, 4711, 0),
    ("vLLM in compose", "vllm-1  | (Worker_TP0 pid=4711) ERROR 10-01 10:00:07 [core.py:7] ", None, None, None, 4711, 0),
    ("DeepSpeed", "[2026-10-01 10:00:07,123] [ERROR] [launch.py:318:sigkill_handler] ", None, None, None, None, 123000),
    ("glog, month unpadded", "[rank0]:[E101 10:00:07.123456789 CUDAGuard.cpp:60] ", 0, None, None, None, None),
    ("glog", "E1001 10:00:07.123000 2606 site-packages/torch/a.py:869] ", None, None, None, None, 123000),
    ("glog and frame", "E1001 10:00:07.123000 2606 torch/_dynamo/a.py:869] [0/1] ", None, None, None, None, 123000),
    ("klog", "E1001 10:00:07.123000       1 health.go:151] ", None, None, None, None, 123000),
    ("python logging", "2026-10-01 10:00:07,123 - trainer.loop - ERROR - ", None, None, None, None, 123000),
    ("torchelastic until 2.2", "[2026-10-01 10:00:07,123] torch.distributed.elastic.multiprocessing.api: [ERROR] ", None, None, None, None, 123000),
    ("loguru", "2026-10-01 10:00:07.123 | ERROR    | trainer.loop:train:12 - ", None, None, None, None, 123000),
    ("Transformers", "[ERROR|trainer.py:12] 2026-10-01 10:00:07,123 >> ", None, None, None, None, 123000),
    ("NeMo", "[NeMo E 2026-10-01 10:00:07 nemo_logging:381] ", None, None, None, None, 0),
    ("logrus", 'time="2026-10-01T10:00:07Z" level=error msg="', None, None, None, None, 0),
    ("rich with date", "[10/01/26 10:00:07] ERROR    ", None, None, None, None, 0),
    ("rich", "[10:00:07] ERROR    ", None, None, None, None, None),
    ("rich, later row", "           ERROR    ", None, None, None, None, None),
    ("Go", "2026/10/01 10:00:07 ", None, None, None, None, 0),
    ("TensorRT", "[10/01/2026-10:00:07] [E] [TRT] ", None, None, None, None, 0),
    ("NCCL stamp", "[2026-10-01 10:00:07] n7:4711:4800 [3] misc/a.cc:12 NCCL WARN ", None, None, "n7", 4711, 0),
]  # fmt: skip


@pytest.mark.parametrize("row", WHO, ids=[row[0] for row in WHO])
def test_who_wrote_a_record_and_when(read_file: ReadFile, row: Row) -> None:
    name, envelope, rank, local_rank, host, pid, us = row
    case = read_file(f"start\n{envelope}{FAULT}\n{envelope}next\n", tz="UTC", year=2026)
    (event,) = case.events.filter(pl.col("rule_id") == "cuda.error").to_dicts()
    assert event["line"] == 2
    said = (event["rank"], event["local_rank"], event["host"], event["pid"])
    assert said == (rank, local_rank, host, pid)
    when = None if us is None else datetime(2026, 10, 1, 10, 0, 7, us, UTC)
    if name == "glog, month unpadded":
        when = datetime(2026, 1, 1, 10, 0, 7, 123456, UTC)  # E101 is 1 January: the last two digits are the day
    assert event["time_utc"] == when


@pytest.mark.parametrize(
    "line",
    [
        f"[core.py:70] {FAULT}",
        f"[trainer:70] {FAULT}",
        f"Epoch | {FAULT}",
        f"| a | {FAULT}",
        f"3: {FAULT}",
        f"0/3: {FAULT}",
        f"(see pid 7) {FAULT}",
    ],
)
def test_what_is_no_launcher_names_nobody(read_file: ReadFile, line: str) -> None:
    (event,) = read_file(f"a\nb\n{line}\nc\n").events.to_dicts()
    assert (event["rank"], event["local_rank"], event["host"], event["pid"]) == (None, None, None, None)


def test_ray_says_how_often_a_line_stands_there(read_file: ReadFile) -> None:
    case = read_file(
        f"(train_fn pid=7, ip=10.0.0.5) {FAULT} [repeated 3x across cluster] (Ray deduplicates logs by default.)\n"
        f"(train_fn pid=7, ip=10.0.0.5) {FAULT} [repeated 99999999999x across cluster]\n{FAULT}\n"
    )
    assert case.events["repeats"].to_list() == [3, 1, 1]


def test_slurmd_names_job_and_step(read_file: ReadFile) -> None:
    case = read_file(
        f"[2026-10-01T10:00:07.500] [63532.0] error: {FAULT}\n[2026-10-01T10:00:08.500] [63533.batch] {FAULT}\n"
        f"[   63532.000] NVRM: Xid (PCI:0000:c6:00): 79, GPU has fallen off the bus.\n"
    )
    assert case.events.select("job_id", "job_step_id").rows() == [
        ("63532", "63532.0"),
        ("63533", "63533.batch"),
        (None, None),
    ]


def test_srun_labels_are_ranks_where_nothing_else_is_said(read_file: ReadFile) -> None:
    case = read_file(f"0: start\n1: start\n 3: {FAULT}\n12: {FAULT}\n1: [rank1]: {FAULT}\n")
    assert case.events.select("line", "rank").rows() == [(3, 3), (4, 12), (5, 1)]


def test_srun_labels_that_differ_from_the_ranks_are_tasks(read_file: ReadFile) -> None:
    case = read_file(f"0: [rank0]: a\n1: [rank8]: b\n1: {FAULT}\n1: [rank9]: {FAULT}\n")
    assert case.events["rank"].to_list() == [None, 9]


def test_srun_labels_of_torchrun_and_of_jobs_in_parts_are_no_ranks(read_file: ReadFile) -> None:
    torchrun = read_file(f"0: [default0]:a\n1: [default1]:{FAULT}\n")
    assert torchrun.events.select("rank", "local_rank").rows() == [(None, 1)]
    parts = read_file(f"P0 0: a\nP0 1: {FAULT}\nP1 0: {FAULT}\n")
    assert parts.events.select("line", "rank").rows() == [(2, None), (3, None)]


@pytest.mark.parametrize(
    "text",
    [
        f"12:{FAULT}\n13:next\n40:more\n",  # grep -n
        f"0: a\nno label\nno label\n1: {FAULT}\n",  # four in ten are not nine in ten
    ],
)
def test_numbers_that_are_no_labels(read_file: ReadFile, text: str) -> None:
    assert read_file(text).events["rank"].to_list() == [None]


def test_pdsh_names_the_host_of_each_line(read_file: ReadFile) -> None:
    stamp = "[2026-10-01 10:00:07,123] [INFO] [launch.py:1:main]"
    case = read_file(f"node-1: {stamp} a\nnode-2: {stamp} b\nnode-2: {stamp} {FAULT}\n")
    assert case.events.select("line", "host").rows() == [(3, "node-2")]
    drivers = read_file("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal\n" * 3)
    assert set(drivers.events["host"]) <= {None}


def test_tasks_that_interleave_are_records_of_their_own(read_file: ReadFile) -> None:
    case = read_file(
        "0: Traceback (most recent call last):\n1: Traceback (most recent call last):\n"
        "0:   File a\n1:   File b\n1: KeyError: 'b'\n0: ValueError: a\n"
    )
    rows = zip(case.events["line"], case.events["rank"], case.events["fields"].to_list(), strict=True)
    assert [
        (line, rank, {one["key"]: one["value"] for one in fields}["record_start"]) for line, rank, fields in rows
    ] == [
        (5, 1, "2"),
        (6, 0, "1"),
    ]


def test_a_traceback_in_a_box(read_file: ReadFile) -> None:
    case = read_file(
        "╭────────────────── Traceback (most recent call last) ──────────────────╮\n"
        "│ /work/train.py:12 in main                                             │\n"
        '│ ❱ 12 │   raise KeyError("x")                                          │\n'
        "│ KeyError: quoted                                                      │\n"
        "╰───────────────────────────────────────────────────────────────────────╯\n"
        "ValueError: bad shape\n"
    )
    (event,) = case.events.to_dicts()
    assert (event["line"], event["rule_id"]) == (6, "python.exception")
    assert {"key": "exception", "value": "ValueError"} in event["fields"]


def test_a_log_table_whose_message_goes_on_below(read_file: ReadFile) -> None:
    case = read_file(
        "[10:00:06] INFO     step 1                                           a.py:1\n"
        "[10:00:07] ERROR    torch.OutOfMemoryError: CUDA out of memory.      a.py:699\n"
        "                    Tried to allocate 2.00 GiB.                      \n"
        "           INFO     step 2                                           a.py:1\n"
    )
    (event,) = case.events.to_dicts()
    assert (event["line"], event["line_end"], event["rule_id"]) == (2, 3, "cuda.out_of_memory")
    assert {"key": "rejoined", "value": "yes"} in event["fields"]
    assert {"key": "requested", "value": "2.00 GiB"} in event["fields"]


def wrap(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


@pytest.mark.parametrize("width", [80, 100, 116])
def test_a_paste_cut_at_its_width(read_file: ReadFile, width: int) -> None:
    records = [
        f"[rank{rank}]:[E1001 09:18:40.715298746 ProcessGroupNCCL.cpp:607] [Rank {rank}] {WATCHDOG}"
        for rank in (2, 5, 7)
    ]
    lines = [piece for record in records for piece in wrap(record, width)]
    pieces = len(wrap(records[0], width))
    case = read_file("\n".join([*lines, OOM]))
    assert case.events.select("line", "rule_id", "rank", "seq", "ran_ms").rows() == [
        (1, "c10d.watchdog_timeout", 2, 7, 600041),
        (1 + pieces, "c10d.watchdog_timeout", 5, 7, 600041),
        (1 + 2 * pieces, "c10d.watchdog_timeout", 7, 7, 600041),
        (1 + 3 * pieces, "cuda.out_of_memory", None, None, None),
    ]
    marked = [{"key": "rejoined", "value": "yes"} in fields for fields in case.events["fields"].to_list()]
    assert marked == [True, True, True, False]
    first = case.events.row(0, named=True)
    assert first["text"].split("\n") == lines[: first["line_end"]]
    covered = (case.events["line_end"] - case.events["line"] + 1).sum()
    assert case.sources.select("lines_error_like", "lines_matched").rows() == [(0, covered)]


def test_lines_of_a_program_that_are_equally_long_are_not_joined(read_file: ReadFile) -> None:
    line = "step 0001 loss 1.2345 " + "x" * 60
    case = read_file("\n".join([line.replace("0001", f"{n:04d}") for n in range(20)]))
    assert case.events.height == 0
    assert case.sources["notices"][0].to_list() == ["No rule matched a line of it."] or case.tables.steps.height


def test_a_table_between_rulers_is_no_cut_paste(read_file: ReadFile) -> None:
    ruler = "=" * 64
    title = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ".ljust(64)[:64]
    lines = [title, ruler, "train.py FAILED", "-" * 64, "Failures:", "  <NO_OTHER_FAILURES>", "-" * 64, "-" * 64, ruler]
    case = read_file("\n".join(lines))
    assert not any({"key": "rejoined", "value": "yes"} in fields for fields in case.events["fields"].to_list())
