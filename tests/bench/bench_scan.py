"""How fast is a log searched, beside `wc -l` and a Python line loop over the same file? Ratios, printed, never asserted.

    python tests/bench/bench_scan.py [MEGABYTES]

The log is made here from a fixed seed: training steps and chatter of eight ranks, and one watchdog record in 20,000 lines.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# The checkout, wherever this is started from.
import crashlens as cl  # noqa: E402
from crashlens.rules.load import shipped_rules  # noqa: E402
from crashlens.rules.matcher import LiteralMatcher  # noqa: E402
from crashlens.scan.member import Member  # noqa: E402
from crashlens.scan.records import RecordReader  # noqa: E402

RARE = 20_000
WATCHDOG = (
    "[rank{rank}]:[E1001 {time}.123456789 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for "
    "600041 milliseconds before timing out.\n"
)


def write_log(path: Path, megabytes: int) -> int:
    """A job log of about that size; returns its lines."""
    chance, written, lines = random.Random(4711), 0, 0
    with path.open("w", encoding="utf-8") as file:
        while written < megabytes * 1_000_000:
            clock = f"{lines // 3600000 % 24:02}:{lines // 60000 % 60:02}:{lines // 1000 % 60:02}"
            rank, number = chance.randrange(8), chance.randrange(10**6)
            if lines % RARE == RARE - 1:
                line = WATCHDOG.format(rank=rank, time=clock, seq=number)
            elif lines % 40 == 0:
                line = f"2026-10-01T{clock}.120Z step {lines // 40} loss 2.1{number} tokens/s 4{number % 1000:03} step_time 1.27s\n"
            else:
                line = (
                    f"2026-10-01T{clock}.120Z [rank{rank}] INFO loader: shard {number} of epoch 3 prefetched in 12 ms\n"
                )
            written += file.write(line)
            lines += 1
    return lines


def line_loop(path: Path) -> int:
    """The least that any Python reader does: look at each line once."""
    with path.open("rb") as file:
        return sum(b"rror" in line for line in file)


def candidate_lines(path: Path) -> int:
    """The reference matcher alone: lines that hold a literal of a rule."""
    rule_set = shipped_rules()
    matcher = LiteralMatcher([item.literals for item in (*rule_set.rules, *rule_set.step_lines)])
    return sum(1 for block in Member(path.name, path).blocks() for _ in matcher.candidates(block.data))


def records(path: Path) -> int:
    """Matcher, envelopes and patterns: the records of the file."""
    return sum(1 for _ in RecordReader(shipped_rules()).read(Member(path.name, path).blocks()))


def best_s(call: Callable[[], object]) -> float:
    """The shorter of two runs, in seconds; the first one warms the page cache."""
    spent = []
    for _ in range(2):
        begun = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "train.log"
        lines = write_log(log, megabytes)
        size_mb = log.stat().st_size / 1e6
        wc = ["wc", "-l", str(log)]
        before_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        spent_s = {
            "wc -l": best_s(lambda: subprocess.run(wc, check=True, stdout=subprocess.DEVNULL)),
            "Python line loop": best_s(lambda: line_loop(log)),
            "matcher": best_s(lambda: candidate_lines(log)),
            "records": best_s(lambda: records(log)),
            "cl.read": best_s(lambda: cl.read(log)),
        }
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{size_mb:.0f} MB, {lines:,} lines")
    for name, spent in spent_s.items():
        ratio = spent / spent_s["Python line loop"]
        print(f"  {name:<17} {spent:7.2f} s  {size_mb / spent:8.0f} MB/s  {ratio:6.2f} x the line loop")
    print(f"  peak memory {peak_mib:.0f} MiB ({before_mib:.0f} before)")


if __name__ == "__main__":
    main()
