"""How long does the sample audit take, up to the finished PDF? Printed, never asserted (goal: 10 s on two idle cores).

python tests/bench/bench_audit.py [RUNS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "throttled_then_xid94"
GOAL_S = 10.0


def idle_cores(seconds: float = 1.0) -> float | None:
    """How many cores nobody used over `seconds`, or None where the kernel does not say."""

    def ticks() -> tuple[int, int]:
        values = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
        return values[3] + values[4], sum(values)

    try:
        idle_before, all_before = ticks()
        time.sleep(seconds)
        idle_after, all_after = ticks()
    except OSError:
        return None
    return (os.cpu_count() or 1) * (idle_after - idle_before) / max(1, all_after - all_before)


def audit_s(folder: Path) -> float:
    """Seconds of one `crashlens audit` in a process of its own."""
    program = "import sys\nfrom crashlens.cli import main\nsys.exit(main())"
    out = folder / "audit.pdf"
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", program, "audit", str(SAMPLE), "-o", str(out), "--tz", "UTC", "--force"],
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    spent = time.perf_counter() - begun
    print(f"  {spent:6.2f} s, {out.stat().st_size / 1e3:,.0f} kB")
    return spent


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    idle = idle_cores()
    print(f"{os.cpu_count()} cores, {'unknown' if idle is None else f'{idle:.1f}'} idle before the first run")
    with tempfile.TemporaryDirectory() as folder:
        spent = [audit_s(Path(folder)) for _ in range(runs)]
    print(f"sample audit to PDF: median {statistics.median(spent):.2f} s of {runs} runs (goal {GOAL_S:.0f} s)")


if __name__ == "__main__":
    main()
