"""How fast is a job log searched with all shipped rules, beside ripgrep with the same patterns? Printed, never asserted.

    python tests/bench/bench_scan.py [MIB] [ROUNDS]        # 1024 MiB, 3 rounds
    python tests/bench/bench_scan.py --memory [MIB ...]    # peak memory over lengths, 1024 and 8192 MiB

The log is made by make_log.py from a fixed seed. Each run is a process of its own. What it counts: from the opened file
to its records, start of the interpreter, imports and SHA-256 left out, compiling the patterns counted; for ripgrep the
whole process. Rounds go through all methods in turn, so that a busy minute meets all of them; the table holds medians,
and ratios of medians of this one run. CPU seconds stand beside the clock because the clock measures the others too.

ripgrep is run in four ways. With the patterns as they are written it needs its limits raised, seconds to compile them and
far longer to search, so that it gets a slice of `SLICE_MIB`; with their byte forms (the wider patterns that crashlens
searches, rules/widen.py; `--no-unicode`) a slice of `BYTES_MIB`. Of both, its time on an empty file is taken off. Over the
whole log it gets the stretches that crashlens hands to hyperscan, chosen to be quick, and the literals of the rules alone
(`-F`), which find more lines than match: lower bounds of what any user could do. None of them makes records.
"""

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

# The checkout, wherever this is started from.
from bench_audit import idle_cores  # noqa: E402
from make_log import PART, part_of_log, write_log  # noqa: E402

from crashlens.rules.load import shipped_rules  # noqa: E402
from crashlens.rules.matcher import ERROR_WORDS  # noqa: E402
from crashlens.rules.widen import widened  # noqa: E402
from crashlens.scan import member  # noqa: E402
from crashlens.scan.records import RecordReader, searched_pattern  # noqa: E402

SLICE_MIB, BYTES_MIB = 1, 64
SLICE_S = 240  # the slice is given up then
HITS, STEPS = 0.001, 0.1  # shares of lines
NOT_IN_RIPGREP = re.compile(r"\(\?(?:[=!>]|<[=!]|P=)")


class _NoDigest:
    def update(self, _piece: bytes) -> None: ...

    def hexdigest(self) -> str:
        return ""


def records(path: Path, processes: int, *, hashed: bool = False) -> dict[str, float]:
    """Search one file here: seconds, CPU seconds, records, and by how much memory rose, in MiB.

    The last is the rise of the peak of this process and all that a helper process had.
    """
    if not hashed:
        member.hashlib = type("hashlib", (), {"sha256": _NoDigest})  # type: ignore[assignment]
    rules = shipped_rules()
    before_kib = _peak_kib()
    begun, used = time.perf_counter(), _cpu_s()
    reader = RecordReader(rules, processes=processes)
    found = sum(1 for _ in reader.read(member.Member(path.name, path).blocks()))
    return {
        "s": time.perf_counter() - begun,
        "cpu_s": _cpu_s() - used,
        "found": found,
        "lines": reader.counts.matched + reader.counts.error_like,
        "mib": (_peak_kib() - before_kib + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024,
    }


def _cpu_s() -> float:
    """CPU seconds of this process and of the helpers that ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _peak_kib() -> int:
    # Not ru_maxrss: that of a new process starts with the peak of the process that forked it.
    return int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))[1])  # type: ignore[index]


def in_process(path: Path, processes: int) -> dict[str, float]:
    """`records` in a process of its own."""
    ran = subprocess.run(
        [sys.executable, __file__, "--records", str(path), str(processes)], check=True, capture_output=True, text=True
    )
    return json.loads(ran.stdout)


def ripgrep(path: Path, *options: str) -> dict[str, float]:
    """ripgrep on one file: one thread, no memory map, output through a pipe."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    command = ["rg", "-a", "-n", "-j1", "--no-mmap", *options, str(path)]
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, timeout=SLICE_S)
    if ran.returncode > 1:
        raise subprocess.CalledProcessError(ran.returncode, command)
    spent = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"s": spent, "cpu_s": cpu_s, "lines": ran.stdout.count(b"\n")}


def same_patterns(folder: Path, plain: Path) -> None:
    """Print how fast ripgrep searches slices with the same patterns, as written and as bytes."""
    written, replaced = ripgrep_patterns(folder)
    whole, _ = byte_patterns(folder)
    limits = ("--regex-size-limit=8G", "--dfa-size-limit=1G")
    for name, mebibytes, options in (
        (f"as written ({replaced} rules by their literals)", SLICE_MIB, (*limits, "-f", str(written))),
        ("in bytes", BYTES_MIB, (*limits, "--no-unicode", "-f", str(whole))),
    ):
        part, empty = folder / "slice.log", folder / "empty.log"
        part.write_bytes(_first(plain, mebibytes * 1024**2))
        empty.write_bytes(b"")
        print(f"ripgrep with the same patterns {name}, {mebibytes} MiB: ", end="", flush=True)
        try:
            compiled, searched = ripgrep(empty, *options), ripgrep(part, *options)
        except subprocess.TimeoutExpired:
            print(f"not done after {SLICE_S} s, less than {mebibytes * 1024**2 / SLICE_S / 1e6:.3f} MB/s")
            continue
        cpu_s, size = max(1e-3, searched["cpu_s"] - compiled["cpu_s"]), part.stat().st_size
        print(
            f"compiled in {compiled['cpu_s']:.1f} CPU s, then {cpu_s:.1f} CPU s, {size / cpu_s / 1e6:.3f} MB per CPU s, "
            f"{searched['lines']:,} lines"
        )
        ours = in_process(part, 1)
        print(
            f"crashlens on the same, 1 process: {size / ours['cpu_s'] / 1e6:,.0f} MB per CPU s, {ours['lines']:,.0f} lines"
        )


def _first(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def literals_file(folder: Path) -> Path:
    """A file with the literals of every rule and the error words, for `-F`."""
    rules = shipped_rules()
    literals = {literal for item in (*rules.rules, *rules.step_lines) for literal in item.literals}
    file = folder / "literals.txt"
    file.write_text("\n".join(sorted(literals | {word.decode() for word in ERROR_WORDS})) + "\n", encoding="utf-8")
    return file


def ripgrep_patterns(folder: Path) -> tuple[Path, int]:
    """A file with the pattern of every rule, and how many had to be replaced by their literals.

    A leading `^` is left out, since envelopes stand before the message; groups lose their names, since ripgrep joins
    all patterns; where a pattern holds a look-around or fails in ripgrep, its literals stand for it. The error words,
    which crashlens looks for too, are added.
    """
    rules = shipped_rules()
    lines, replaced = [_escaped(word.decode()) for word in ERROR_WORDS], 0
    for item in (*rules.rules, *rules.step_lines):
        text = re.sub(r"\(\?P<\w+>", "(?:", item.pattern.pattern).removeprefix("^")
        if NOT_IN_RIPGREP.search(text) or _fails(text):
            lines += map(_escaped, item.literals)
            replaced += 1
        else:
            lines.append(text)
    file = folder / "patterns.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file, replaced


def byte_patterns(folder: Path) -> tuple[Path, Path]:
    """Files with the byte form of every pattern, and with the stretches of them that are searched.

    Where crashlens searches the literals of a rule instead of its pattern, they stand in both.
    """
    rules = shipped_rules()
    whole = [_escaped(word.decode()) for word in ERROR_WORDS]
    stretches = list(whole)
    for item in (*rules.rules, *rules.step_lines):
        wide = widened(item.pattern.pattern) if searched_pattern(item) else None
        if wide is None or not wide.searched:
            literals = ["".join(f"\\x{byte:02x}" for byte in literal.encode()) for literal in item.literals]
            whole += literals
            stretches += literals
        else:
            whole.append(wide.whole)
            stretches += wide.searched
    files = folder / "whole.txt", folder / "stretches.txt"
    for file, lines in zip(files, (whole, stretches), strict=True):
        file.write_text("\n".join(lines) + "\n", encoding="ascii")
    return files


def _escaped(literal: str) -> str:
    return re.escape(literal).replace(r"\ ", " ")  # ripgrep knows no escaped space


def _fails(pattern: str) -> bool:
    ran = subprocess.run(["rg", "-e", pattern], input=b"", capture_output=True, check=False)
    return ran.returncode > 1


def packed(path: Path, *command: str) -> Path:
    """The log packed by `command`, beside it."""
    subprocess.run([*command, str(path)], check=True)
    return next(file for file in path.parent.glob(f"{path.name}.*"))


def compare(mebibytes: int, rounds: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        words = ("-F", "-f", str(literals_file(folder)))
        stretches = ("--no-unicode", "-f", str(byte_patterns(folder)[1]))
        plain, dense = folder / "job.log", folder / "steps.log"
        write_log(plain, mebibytes * 1024**2, hits=HITS, steps=0)
        write_log(dense, min(mebibytes, 128) * 1024**2, hits=HITS, steps=STEPS)
        gz, zst = packed(plain, "gzip", "-k", "-6"), folder / "job.log.zst"
        subprocess.run(["zstd", "-q", "-3", str(plain), "-o", str(zst)], check=True)
        methods = {
            "plain, crashlens, 1 process": lambda: in_process(plain, 1),
            "plain, ripgrep -F": lambda: ripgrep(plain, *words),
            "plain, ripgrep, stretches": lambda: ripgrep(plain, *stretches),
            "plain, crashlens, 2 processes": lambda: in_process(plain, 2),
            "gz, crashlens, 1 process": lambda: in_process(gz, 1),
            "gz, crashlens, 2 processes": lambda: in_process(gz, 2),
            "gz, ripgrep -z -F": lambda: ripgrep(gz, *words, "-z"),
            "gz, ripgrep -z, stretches": lambda: ripgrep(gz, *stretches, "-z"),
            "zst, crashlens, 1 process": lambda: in_process(zst, 1),
            "zst, crashlens, 2 processes": lambda: in_process(zst, 2),
            "zst, ripgrep -z -F": lambda: ripgrep(zst, *words, "-z"),
            "zst, ripgrep -z, stretches": lambda: ripgrep(zst, *stretches, "-z"),
            "10 % step lines, crashlens, 1 process": lambda: in_process(dense, 1),
            "10 % step lines, ripgrep -F": lambda: ripgrep(dense, *words),
        }
        rules = shipped_rules()
        print(f"{machine()}; {shutil.which('rg') and _version('rg')}; Python {sys.version.split()[0]}")
        print(f"{len(rules.rules)} rules and {len(rules.step_lines)} step lines, digest {rules.digest}")
        print(
            f"{plain.stat().st_size / 2**20:,.0f} MiB, gz {gz.stat().st_size / 2**20:,.0f}, zst {zst.stat().st_size / 2**20:,.0f}"
        )
        same_patterns(folder, plain)
        results: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
        for number in range(rounds):
            idle = idle_cores()
            print(
                f"round {number + 1}: {'unknown' if idle is None else f'{idle:.1f}'} of {os.cpu_count()} cores idle before"
            )
            for name, call in methods.items():
                results[name].append(call())
        sizes = {name: (dense if "step" in name else plain).stat().st_size for name in methods}
    print("\n| method | s | CPU s | MB/s | lines | peak memory above imports, MiB |\n|---|---|---|---|---|---|")
    median = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for name, runs in results.items()
    }
    for name, one in median.items():
        memory = f"{one['mib']:.0f}" if "mib" in one else ""
        print(
            f"| {name} | {one['s']:.2f} | {one['cpu_s']:.2f} | {sizes[name] / one['s'] / 1e6:,.0f} | {one['lines']:,.0f} | {memory} |"
        )
    print()
    for name in (name for name in median if "crashlens" in name):
        for base in (base for base in median if "ripgrep" in base and base.split(",")[0] == name.split(",")[0]):
            wall, cpu = (median[base][key] / median[name][key] for key in ("s", "cpu_s"))
            print(f"{name}: {wall:.2f} x {base.partition(', ')[2]} by the clock, {cpu:.2f} x by CPU seconds")
    one, two = (median[f"plain, crashlens, {text}"]["s"] for text in ("1 process", "2 processes"))
    print(f"second core: {one / two:.2f} x (goal 1.4)")


def machine() -> str:
    """Model of the processor and number of cores."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        about = ""
    model = re.search(r"model name\s*: (.*)", about)
    return f"{model[1] if model else 'unknown processor'}, {os.cpu_count()} cores"


def _version(command: str) -> str:
    return subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]


def compare_memory(lengths: list[int]) -> None:
    """Print the peak of memory above the imports while logs of these lengths, in MiB, come through a pipe."""
    part = part_of_log(PART, hits=HITS, steps=0)
    for mebibytes in lengths:
        with tempfile.TemporaryDirectory() as name:
            pipe = Path(name) / "job.log"
            os.mkfifo(pipe)

            def feed(pipe: Path = pipe, times: int = max(1, mebibytes * 1024**2 // len(part))) -> None:
                with pipe.open("wb") as file:
                    for _ in range(times):
                        file.write(part)

            threading.Thread(target=feed, daemon=True).start()
            one = in_process(pipe, 2)
        print(
            f"{mebibytes:,} MiB: {one['mib']:.0f} MiB above the imports (goal 100), {one['s']:.1f} s, {one['found']:,} records"
        )


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--records"]:
        print(json.dumps(records(Path(arguments[1]), int(arguments[2]))))
    elif arguments[:1] == ["--memory"]:
        compare_memory([int(text) for text in arguments[1:]] or [1024, 8192])
    else:
        compare(int(arguments[0]) if arguments else 1024, int(arguments[1]) if arguments[1:] else 3)


if __name__ == "__main__":
    main()
