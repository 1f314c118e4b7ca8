"""How long does an nvidia-bug-report of 30 MB take to be read, findings included? Printed, never asserted (goal: 5 s).

python tests/bench/bench_bug_report.py [MB] [RUNS]

The report is made here in the public section layout: registers and base64, journals of two boots (the older one second),
dmesg, nvidia-smi output, appended logs. One line in a thousand of the logs is one that rules know.
"""

import base64
import gzip
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

# The checkout, wherever this is started from.
from bench_audit import idle_cores  # noqa: E402

GOAL_S = 5.0
RULE = "_" * 44
SEED = 4711
_CHATTER = (
    "systemd[1]: Started Session {a} of User trainer.",
    "kernel: nvme nvme{b}: {a}/0/0 default/read/poll queues",
    'containerd[{a}]: level=info msg="cleaning up dead shim" namespace=k8s.io',
    "kernel: IPv6: ADDRCONF(NETDEV_CHANGE): cali{a}: link becomes ready",
    'kubelet[{a}]: I1103 08:00:0{b}.123456 {a} reconciler.go:224] "operationExecutor.MountVolume started"',
)
_KNOWN = (
    "kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid={a}, name=python, Ch 00000008, intr 00000000. MMU Fault",
    "kernel: pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0",
    "kernel: NVRM: GPU at PCI:0000:3b:00: GPU-8a1f3c5d-1111-2222-3333-444455556666",
)


def report(size: int) -> bytes:
    """About `size` bytes: a third of it in sections that hold no log, the rest in logs."""
    chance = random.Random(SEED)
    dump = base64.b64encode(chance.randbytes(size // 4)).decode()
    lines = [RULE, "", "Start of NVIDIA bug report log file.", "", "nvidia-bug-report.sh Version: 34275561", ""]
    lines += [RULE, "", "/usr/bin/nvidia-debugdump -D", ""]
    lines += [dump[at : at + 76] for at in range(0, len(dump), 76)]
    lines += ["", RULE, "", "Scanning kernel log files for NVIDIA kernel messages:", ""]
    for boot, begins in ((0, 8), (-1, 2)):
        lines += [f"  journalctl -b {boot}:", *_journal(chance, size // 5, begins), ""]
    lines += [RULE, "", "*** /var/log/syslog", "*** ls: -rw-r----- 1 syslog adm 2481 /var/log/syslog"]
    lines += [*_journal(chance, size // 4, 4), "", RULE, "", "End of NVIDIA bug report log file."]
    return "".join(f"{line}\n" for line in lines).encode()


def _journal(chance: random.Random, size: int, hour: int) -> Iterator[str]:
    written = number = 0
    while written < size:
        form = chance.choice(_KNOWN if chance.random() < 0.001 else _CHATTER)
        said = form.format(a=chance.randrange(1, 100_000), b=chance.randrange(8))
        line = f"Nov 03 {hour + number // 36_000:02}:{number // 600 % 60:02}:{number // 10 % 60:02} node4 {said}"
        yield line
        number += 1
        written += len(line) + 1


def scan_s(file: Path) -> float:
    """Seconds of one `crashlens scan` in a process of its own."""
    program = "import sys\nfrom crashlens.cli import main\nsys.exit(main())"
    begun = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", program, "scan", "--format", "json", str(file)],
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    spent = time.perf_counter() - begun
    print(f"  {spent:6.2f} s, exit status {ran.returncode}, {len(ran.stdout):,} bytes of JSON")
    return spent


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    idle = idle_cores()
    print(f"{os.cpu_count()} cores, {'unknown' if idle is None else f'{idle:.1f}'} idle before the first run")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nvidia-bug-report.log.gz"
        data = report(megabytes * 1_000_000)
        file.write_bytes(gzip.compress(data, 6))
        lines = data.count(b"\n")
        print(f"{len(data) / 1e6:.1f} MB in {lines:,} lines, {file.stat().st_size / 1e6:.1f} MB packed")
        spent = [scan_s(file) for _ in range(runs)]
    print(f"bug report to findings: median {statistics.median(spent):.2f} s of {runs} runs (goal {GOAL_S:.0f} s)")


if __name__ == "__main__":
    main()
