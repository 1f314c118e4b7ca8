"""Make the two synthetic incidents that ship with crashlens, byte for byte the same on every machine.

    python sample_data/make_samples.py [FOLDER]

Nothing here was measured. Shapes of lines follow public logs; hosts, pids, UUIDs, the token and the address are made
up. Only the standard library is used, and only the parts of it that give the same numbers everywhere: no libm.
"""

import random
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

SEED = 20261001
HOST = "gpu-node-07"
DAY = datetime(2026, 10, 1, tzinfo=UTC)
BUS = ("19", "3b", "4c", "5d", "7d", "9b", "bb", "cb")
FOREIGN_BUS = "0f"
FIRST_PID, FIRST_TID, AGENT_PID = 48208, 48372, 48101
HURT = 5  # the rank and the GPU that the stories are about
TOKENS_PER_STEP = 262144
HEALTHY_STEP_S, CLOCK_BOUND_SHARE = 3.12, 0.92
MAX_CLOCK_MHZ = 1980
WATCHDOG_S = 600.0
NUMEL = 1048576
SOURCE = "/pytorch/torch/csrc/distributed/c10d"
PACKAGES = "/opt/conda/lib/python3.11/site-packages"


@dataclass(frozen=True)
class Story:
    """What happens in one sample; times are seconds of the day, UTC."""

    folder: str
    hot: bool
    ecc: bool
    cadence_s: float
    seed: int


STORIES = (
    Story("throttled_then_xid94", hot=True, ecc=True, cadence_s=5.0, seed=SEED),
    Story("timeouts_then_foreign_xid94", hot=False, ecc=False, cadence_s=10.0, seed=SEED + 1),
)


def at(hour: int, minute: int, second: float = 0.0) -> float:
    """Seconds of the day."""
    return hour * 3600.0 + minute * 60.0 + second


def moment(second: float) -> datetime:
    """The datetime of a second of the day, rounded to microseconds."""
    return DAY + timedelta(microseconds=round(second * 1e6))


TELEMETRY_START, TRAINING_START = at(7, 59, 30.4), at(8, 0, 48.0)
WARMING_FROM, HOT_FROM, HOT_FULL = at(8, 17), at(8, 25), at(8, 27, 30)
LAST_STEP_NOT_BEFORE = at(9, 8, 25)
TELEMETRY_GAP = (at(8, 47), at(8, 47, 40))
HARDWARE_SLOWDOWNS = (at(8, 41, 20), at(8, 49, 20), at(8, 57, 20), at(9, 4, 20))
SLOWDOWN_S = 15.0


class Noise:
    """Numbers around zero, from nothing but additions of random(): the same on every platform."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def around(self, middle: float, width: float) -> float:
        """A bell-shaped number within `width` of `middle`."""
        three = self._random.random() + self._random.random() + self._random.random()
        return middle + (three - 1.5) / 1.5 * width

    def chance(self, share: float) -> bool:
        """True in `share` of the calls."""
        return self._random.random() < share

    def uuid(self) -> str:
        """A version-4 UUID."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def hexadecimal(self, digits: int) -> str:
        """`digits` hexadecimal digits, the first not zero."""
        return f"{self._random.getrandbits(4 * digits) | 1 << (4 * digits - 1):x}"


@dataclass(frozen=True)
class Step:
    """A finished training step."""

    number: int
    end: float
    took_s: float
    loss: float


@dataclass(frozen=True)
class Run:
    """The course of one run: what the job log, the kernel log and the telemetry all agree on."""

    steps: tuple[Step, ...]
    pauses: tuple[tuple[float, float, int], ...]
    fault: float
    wait_starts: float
    timeout: float
    end: float
    sequence: int


def hurt_clock_mhz(second: float, *, hot: bool) -> float:
    """SM clock of the hurt GPU under load, without noise."""
    if not hot or second < HOT_FROM:
        return MAX_CLOCK_MHZ
    if in_slowdown(second):
        return 990.0
    ramp = min(1.0, (second - HOT_FROM) / (HOT_FULL - HOT_FROM))
    return MAX_CLOCK_MHZ - ramp * (MAX_CLOCK_MHZ - 1395)


def in_slowdown(second: float) -> bool:
    """Whether the hardware thermal slowdown holds the hurt GPU at this time of the hot story."""
    return any(start <= second < start + SLOWDOWN_S for start in HARDWARE_SLOWDOWNS)


def make_run(story: Story) -> Run:
    """Lay out the run: a synchronous step is as slow as its slowest GPU."""
    noise = Noise(story.seed)
    steps: list[Step] = []
    pauses: list[tuple[float, float, int]] = []
    now = TRAINING_START
    while not steps or now < LAST_STEP_NOT_BEFORE:
        number = len(steps) + 1
        slower = MAX_CLOCK_MHZ / hurt_clock_mhz(now, hot=story.hot)
        took_s = noise.around(HEALTHY_STEP_S, 0.05) * (1 - CLOCK_BOUND_SHARE + CLOCK_BOUND_SHARE * slower)
        took_s = took_s + 9.4 if number == 1 else took_s
        now += took_s
        steps.append(Step(number, now, took_s, noise.around(2.05 + 8.6 / (1 + number / 60), 0.04)))
        if number % 250 == 0:
            pauses.append((now, now + noise.around(10.9, 0.8), number))
            now = pauses[-1][1]
    wait_starts = now + 2.75
    timeout = wait_starts + WATCHDOG_S
    return Run(tuple(steps), tuple(pauses), now + 0.35, wait_starts, timeout, timeout + 34.0, 18 * len(steps) + 3)


# The job log


class JobLog:
    """Lines behind the stamp of the launcher."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, str]] = []

    def add(self, second: float, *texts: str) -> None:
        """Write lines; each a little later than the one before."""
        for n, text in enumerate(texts):
            self.lines.append((second + n * 0.0004, text))

    def text(self) -> str:
        """All lines in order of time, each with its stamp in UTC."""
        ordered = sorted(self.lines, key=lambda line: line[0])
        return "".join(f"{iso_ms(second)}Z {text}\n" for second, text in ordered)


def iso_ms(second: float) -> str:
    """ISO 8601 with milliseconds, without a zone."""
    return moment(second).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment(second).microsecond // 1000:03d}"


def glog(second: float, nanosecond: int) -> str:
    """The stamp of a c10d line: month, day, time with nanoseconds, no year, no zone."""
    return moment(second).strftime("%m%d %H:%M:%S.") + f"{moment(second).microsecond:06d}{nanosecond:03d}"


def glog_ms(second: float) -> str:
    """The same stamp as Python writes it in torchelastic: milliseconds, padded to six digits."""
    return glog(second, 0)[:-6] + "000"


def job_log(run: Run, story: Story) -> str:
    """The whole job log."""
    noise = Noise(story.seed + 100)
    log = JobLog()
    write_start(log, noise)
    for step in run.steps:
        rate = round(TOKENS_PER_STEP / step.took_s)
        log.add(step.end, f"step {step.number} loss {step.loss:.3f} tokens/s {rate} step_time {step.took_s:.3f}s")
    for start, end, number in run.pauses:
        log.add(start + 0.02, f"saving checkpoint at step {number}")
        log.add(end - 0.05, f"saved checkpoint /checkpoints/run-0417/step-{number:06d} in {end - start - 0.07:.1f} s")
    log.add(
        at(8, 31, 2.4),
        f"{PACKAGES}/torch/utils/checkpoint.py:86: FutureWarning: use_reentrant must be given",
    )
    log.add(at(8, 52, 40.9), "[data] shard 318/512 opened, prefetch queue 16/16")
    if story.ecc:
        write_ecc_traceback(log, run)
    for rank in range(len(BUS)):
        if rank != HURT:
            write_watchdog(log, noise, run, rank)
    write_communicator_aborted(log, run, rank=3)
    write_terminate(log, run, rank=0)
    write_elastic_end(log, run)
    return log.text()


def write_start(log: JobLog, noise: Noise) -> None:
    """Banner, NCCL initialisation of every rank, model and data lines."""
    log.add(
        at(7, 59, 58.2),
        "[launch] torchrun --standalone --nproc-per-node 8 train.py --config configs/7b.yaml",
        "[launch] HF_TOKEN=hf_NotARealTokenItIsCrashlensSample01 HF_HOME=/cache/hf",
        "[launch] owner: training-oncall@example.com",
        "[config] nccl_timeout_s 600; if you see 'Watchdog caught collective operation timeout', look at every rank",
        "W1001 07:59:58.204000 48101 torch/distributed/run.py:774] ",
        "W1001 07:59:58.204000 48101 torch/distributed/run.py:774] Setting OMP_NUM_THREADS to 1 for each process",
    )
    log.add(at(8, 0, 5.12), f"{HOST}:{FIRST_PID}:{FIRST_PID} [0] NCCL INFO Bootstrap: Using eth0:10.20.0.17<0>")
    log.add(at(8, 0, 5.13), f"{HOST}:{FIRST_PID}:{FIRST_PID} [0] NCCL INFO NCCL version 2.27.3+cuda12.8")
    commands = [noise.hexadecimal(12) for _ in BUS]
    group = noise.hexadecimal(16)
    for state, second in (("START", at(8, 0, 7.3)), ("COMPLETE", at(8, 0, 9.8))):
        for rank, bus in enumerate(BUS):
            log.add(
                second + rank * 0.006,
                f"{HOST}:{FIRST_PID + rank}:{FIRST_TID + rank} [{rank}] NCCL INFO comm 0x{commands[rank]} rank {rank} "
                f"nranks {len(BUS)} cudaDev {rank} nvmlDev {rank} busId {bus}000 commId 0x{group} - Init {state}",
            )
    log.add(
        at(8, 0, 22.6),
        "model: 6.74 B parameters, bf16, 8 ranks, 262144 tokens a step",
        "데이터 로더 준비 완료: 샤드 512개, 시드 1234",
        "🚀 training starts at step 1",
    )


def write_ecc_traceback(log: JobLog, run: Run) -> None:
    """The exception of the hurt rank."""
    texts = (
        "Traceback (most recent call last):",
        '  File "/workspace/train.py", line 431, in <module>',
        "    main()",
        '  File "/workspace/train.py", line 402, in main',
        "    loss_sum += loss.item()",
        "                ^^^^^^^^^^^",
        "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
        (
            "CUDA kernel errors might be asynchronously reported at some other API call, "
            "so the stacktrace below might be incorrect."
        ),
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "",
    )
    log.add(run.fault + 1.1, *(f"[rank{HURT}]: {text}".rstrip() for text in texts))


def watchdog_sentence(run: Run, rank: int) -> str:
    """What the watchdog of `rank` says; ranks enter the collective a few milliseconds apart."""
    return (
        f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={run.sequence}, "
        f"OpType=ALLREDUCE, NumelIn={NUMEL}, NumelOut={NUMEL}, Timeout(ms)={WATCHDOG_S * 1000:.0f}) "
        f"ran for {600041 + 3 * rank} milliseconds before timing out."
    )


def write_watchdog(log: JobLog, noise: Noise, run: Run, rank: int) -> None:
    """The watchdog lines of one rank, and its last words."""
    second = run.timeout + 0.041 + 0.007 * rank
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    work = f"last enqueued work: {run.sequence + 2}, last completed work: {run.sequence - 1}"
    for after, line, text in (
        (0.0, 632, watchdog_sentence(run, rank)),
        (0.0002, 2268, f"{group} failure detected by watchdog at work sequence id: {run.sequence} PG status: {work}"),
        (
            1.3,
            684,
            (
                f"[Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
                "kernels, subsequent GPU operations might run on corrupted/incomplete data."
            ),
        ),
        (1.3004, 698, f"[Rank {rank}] To avoid data inconsistency, we are taking the entire process down."),
    ):
        stamp = glog(second + after, round(noise.around(500, 499)))
        log.add(second + after + 0.0009, f"[rank{rank}]:[E{stamp} ProcessGroupNCCL.cpp:{line}] {text}")


def write_communicator_aborted(log: JobLog, run: Run, rank: int) -> None:
    """The Python side of a rank whose communicator its own watchdog aborted."""
    texts = (
        "Traceback (most recent call last):",
        '  File "/workspace/train.py", line 431, in <module>',
        "    main()",
        '  File "/workspace/train.py", line 398, in main',
        "    loss.backward()",
        f'  File "{PACKAGES}/torch/autograd/graph.py", line 829, in _engine_run_backward',
        "    return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass",
        "           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        f"torch.distributed.DistBackendError: NCCL communicator was aborted on rank {rank}.",
    )
    log.add(run.timeout + 0.9, *(f"[rank{rank}]: {text}" for text in texts))


def write_terminate(log: JobLog, run: Run, rank: int) -> None:
    """The C++ side of a rank: the exception that nobody catches."""
    log.add(
        run.timeout + 1.42,
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        (
            f"  what():  [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with "
            f"exception: {watchdog_sentence(run, rank)}"
        ),
        f"Exception raised from checkTimeout at {SOURCE}/ProcessGroupNCCL.cpp:632 (most recent call first):",
        "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f3c2b97eef8 in libc10.so)",
        "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout() + 0x23d (0x7f3c2cbdfc6d in libtorch_cuda.so)",
        "frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0xc80 (0x7f3c2cbe1d40 in libtorch_cuda.so)",
        "",
    )


def write_elastic_end(log: JobLog, run: Run) -> None:
    """The launcher notices the first dead worker, ends the others and prints its table."""
    place = f"{AGENT_PID} torch/distributed/elastic/multiprocessing/api.py"
    noticed = run.timeout + 3.2
    stamp = glog_ms(noticed)
    for rank in (HURT, 6, 7):
        log.add(
            noticed + rank * 0.001, f"W{stamp} {place}:900] Sending process {FIRST_PID + rank} closing signal SIGTERM"
        )
    final = noticed + 30.1
    stamp = glog_ms(final)
    log.add(
        final,
        (
            f"W{stamp} {place}:919] Unable to shutdown process {FIRST_PID + HURT} via Signals.SIGTERM, "
            "forcefully exiting via Signals.SIGKILL"
        ),
    )
    double, single = "=" * 60, "-" * 60
    failed = f"failed (exitcode: -6) local_rank: 0 (pid: {FIRST_PID}) of binary: /opt/conda/bin/python3"
    log.add(
        final + 0.4,
        f"E{glog_ms(final + 0.4)} {place}:874] {failed}",
        "Traceback (most recent call last):",
        '  File "/opt/conda/bin/torchrun", line 8, in <module>',
        "    sys.exit(main())",
        "             ^^^^^^",
        f'  File "{PACKAGES}/torch/distributed/launcher/api.py", line 277, in launch_agent',
        "    raise ChildFailedError(",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        double,
        "train.py FAILED",
        single,
        "Failures:",
    )
    when = moment(noticed).strftime("%Y-%m-%d_%H:%M:%S")
    tables = [
        (
            f"[{n}]:",
            f"  time      : {when}",
            f"  host      : {HOST}",
            f"  rank      : {rank} (local_rank: {rank})",
            f"  exitcode  : -6 (pid: {FIRST_PID + rank})",
            "  error_file: <N/A>",
            f"  traceback : Signal 6 (SIGABRT) received by PID {FIRST_PID + rank}",
        )
        for n, rank in enumerate((0, 1, 2, 3, 4))
    ]
    log.add(final + 0.41, *(text for table in tables[1:] for text in table))
    log.add(final + 0.43, single, "Root Cause (first observed failure):", *tables[0], double)


# The kernel log


def kernel_log(run: Run, story: Story, uuids: list[str], foreign_uuid: str) -> str:
    """The kernel log as rsyslog writes it, with offset."""
    lines: list[tuple[float, str]] = [
        (
            at(6, 12, 3.104),
            "Linux version 6.8.0-51-generic (buildd@lcy02-amd64-079) (x86_64-linux-gnu-gcc-13) #52-Ubuntu SMP",
        ),
        (at(6, 12, 21.88), "nvidia: loading out-of-tree module taints kernel."),
        (
            at(6, 12, 22.016),
            (
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  "
                "(dvs-builder@U22-I3-AE18-09-6)  Thu Jan 23 22:50:36 UTC 2025"
            ),
        ),
        (at(6, 12, 24.51), "nvidia-uvm: Loaded the UVM driver, major device number 508."),
        (at(6, 12, 31.7), "mlx5_core 0000:1a:00.0 ens1f0np0: Link up"),
        (at(6, 13, 9.25), "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none."),
        (at(7, 59, 57.9), "docker0: port 1(veth41c77d2) entered forwarding state"),
        (
            at(8, 14, 37.4),
            "perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
        ),
        (
            at(8, 58, 2.03),
            'audit: type=1400 audit(1790845082.030:212): apparmor="ALLOWED" operation="open" comm="node_exporter"',
        ),
    ]
    contained = "Contained: CE User Channel (0x9). RST: No, D-RST: No"
    if story.ecc:
        gpu = f"PCI:0000:{BUS[HURT]}:00"
        who = f"pid={FIRST_PID + HURT}, name=python3"
        lines += [
            (run.fault - 0.068, f"NVRM: GPU at {gpu}: GPU-{uuids[HURT]}"),
            (
                run.fault - 0.061,
                (
                    f"NVRM: Xid ({gpu}): 63, Row Remapper: New row (0x00000000016d2c3f) marked for remapping, "
                    "reset gpu to activate."
                ),
            ),
            (run.fault, f"NVRM: Xid ({gpu}): 94, {who}, {contained}"),
            (
                run.fault + 0.012,
                f"NVRM: Xid ({gpu}): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            ),
            (run.fault + 1.31, f"NVRM: Xid ({gpu}): 45, {who}, Ch 00000008"),
            (run.end + 4.2, "docker0: port 1(veth41c77d2) entered disabled state"),
        ]
    else:
        gpu = f"PCI:0000:{FOREIGN_BUS}:00"
        later = run.timeout + 90 * 60 + 3.6
        lines += [
            (run.end + 4.2, "docker0: port 1(veth41c77d2) entered disabled state"),
            (at(10, 2, 11.6), "docker0: port 2(veth9be0136) entered forwarding state"),
            (later - 0.007, f"NVRM: GPU at {gpu}: GPU-{foreign_uuid}"),
            (
                later,
                f"NVRM: Xid ({gpu}): 94, pid=99731, name=other_job, {contained}",
            ),
        ]
    return "".join(
        f"{moment(second).isoformat(timespec='microseconds')} {HOST} kernel: {text}\n" for second, text in lines
    )


# The telemetry

HEADER = (
    "timestamp, index, uuid, pci.bus_id, name, temperature.gpu, temperature.memory, power.draw [W], "
    "enforced.power.limit [W], clocks.current.sm [MHz], clocks.max.sm [MHz], utilization.gpu [%], memory.used [MiB], "
    "clocks_event_reasons.active"
)


@dataclass
class Reading:
    """One row of nvidia-smi before it is printed."""

    temperature_c: float
    power_w: float
    clock_mhz: float
    utilization: int
    memory_mib: int
    mask: int


def telemetry(run: Run, story: Story, uuids: list[str]) -> Iterator[str]:
    """The CSV that nvidia-smi prints, poll by poll."""
    noise = Noise(story.seed + 200)
    yield HEADER + "\n"
    poll = TELEMETRY_START
    temperature = [34.0 + gpu % 3 for gpu in range(len(BUS))]
    while poll < run.end + 75:
        for gpu in range(len(BUS)):
            reading = read_gpu(gpu, poll, run, story, noise)
            temperature[gpu] += (reading.temperature_c - temperature[gpu]) * 0.16 * story.cadence_s / 5.0
            reading.temperature_c = temperature[gpu] + noise.around(0, 0.9)
            if not TELEMETRY_GAP[0] <= poll < TELEMETRY_GAP[1]:
                yield row(gpu, poll + gpu * 0.0011, uuids[gpu], reading, noise)
        poll += story.cadence_s + noise.around(0.003, 0.003)


def read_gpu(gpu: int, second: float, run: Run, story: Story, noise: Noise) -> Reading:
    """Where GPU `gpu` would settle at `second`; the temperature is the one it drifts towards."""
    hurt = gpu == HURT
    idle = Reading(33 + gpu % 3, noise.around(71 + gpu % 4, 1.5), 345, 0, 4, 0x1)
    if second < TRAINING_START - 26 or second >= run.end:
        return idle
    if second < TRAINING_START or any(start <= second < end for start, end, _ in run.pauses):
        return Reading(
            78 if hurt and story.hot and second > HOT_FROM else 52, noise.around(138, 9), MAX_CLOCK_MHZ, 0, 71204, 0x0
        )
    if second >= run.fault:
        return after_the_last_step(idle, story, noise) if hurt else waiting(noise)
    clock = hurt_clock_mhz(second, hot=story.hot)
    pace = clock / MAX_CLOCK_MHZ
    target = 63 + (gpu * 5) % 7
    if hurt and story.hot:
        return hurt_and_hot(second, clock, noise)
    power = noise.around(640, 24) if pace == 1 else noise.around(560, 30)
    mask = 0x0
    own_clock = MAX_CLOCK_MHZ if noise.chance(0.85) else MAX_CLOCK_MHZ - 15
    if gpu == 2 and pace == 1 and noise.chance(0.12):
        mask, power, own_clock = 0x4, noise.around(697.5, 2.4), MAX_CLOCK_MHZ - 15
    return Reading(noise.around(target, 1.2), power, own_clock, 100 if noise.chance(0.8) else 99, 71204, mask)


def hurt_and_hot(second: float, clock: float, noise: Noise) -> Reading:
    """The hurt GPU of the hot story: it warms before its clocks fall, then sits at its limit."""
    if second < WARMING_FROM:
        return Reading(noise.around(69, 1), noise.around(640, 24), MAX_CLOCK_MHZ, 100, 71204, 0x0)
    if second < HOT_FROM:
        warmer = 69 + 19 * (second - WARMING_FROM) / (HOT_FROM - WARMING_FROM)
        return Reading(warmer, noise.around(646, 20), MAX_CLOCK_MHZ, 100, 71204, 0x0)
    mask = 0x68 if in_slowdown(second) else 0x20
    power = 250 + 390 * (clock - 345) / (MAX_CLOCK_MHZ - 345) - 70
    stepped = clock if mask == 0x68 else 15 * round(noise.around(clock, 22) / 15)
    return Reading(noise.around(88.1, 0.9), noise.around(power, 14), stepped, 100, 71204, mask)


def waiting(noise: Noise) -> Reading:
    """A GPU whose NCCL kernel spins in a collective that does not complete."""
    return Reading(44, noise.around(126, 6), MAX_CLOCK_MHZ, 100, 71204, 0x0)


def after_the_last_step(idle: Reading, story: Story, noise: Noise) -> Reading:
    """The hurt GPU once its rank takes part no more: without a context, or with one that does nothing."""
    if story.ecc:
        return Reading(idle.temperature_c, idle.power_w, idle.clock_mhz, 0, 71204, 0x1)
    return Reading(42, noise.around(117, 3), MAX_CLOCK_MHZ, 0, 71204, 0x0)


def row(gpu: int, second: float, gpu_uuid: str, reading: Reading, noise: Noise) -> str:
    """One printed line."""
    stamp = moment(second)
    cells = (
        stamp.strftime("%Y/%m/%d %H:%M:%S.") + f"{stamp.microsecond // 1000:03d}",
        str(gpu),
        f"GPU-{gpu_uuid}",
        f"00000000:{BUS[gpu].upper()}:00.0",
        "NVIDIA H100 80GB HBM3",
        f"{reading.temperature_c:.0f}",
        "[N/A]" if gpu == 3 else f"{reading.temperature_c + noise.around(4.5, 1.2):.0f}",
        f"{min(reading.power_w, 700.21):.2f} W",
        "700.00 W",
        f"{reading.clock_mhz:.0f} MHz",
        f"{MAX_CLOCK_MHZ} MHz",
        f"{reading.utilization} %",
        f"{reading.memory_mib} MiB",
        f"0x{reading.mask:016x}",
    )
    return ", ".join(cells) + "\n"


def make(story: Story, target: Path) -> None:
    """Write the files of one story into `target`."""
    noise = Noise(story.seed + 300)
    uuids = [noise.uuid() for _ in BUS]
    foreign_uuid = noise.uuid()
    run = make_run(story)
    files: dict[str, Callable[[], str]] = {
        "train.log": lambda: job_log(run, story),
        "kern.log": lambda: kernel_log(run, story, uuids, foreign_uuid),
        "gpu_telemetry.csv": lambda: "".join(telemetry(run, story, uuids)),
    }
    target.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (target / name).write_bytes(text().encode())


def main() -> None:
    """Write both samples into the folder given, else beside this file."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for story in STORIES:
        make(story, root / story.folder)
        print(root / story.folder)


if __name__ == "__main__":
    main()
