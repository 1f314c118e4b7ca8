"""Words that sound like a failure and are none: each row with its own examples, and what a row must never hide."""

import pytest

from crashlens.rules.load import shipped_rules
from crashlens.rules.model import Harmless
from crashlens.scan import records
from crashlens.scan.harmless import ABOUT, HarmlessWords, covers
from crashlens.scan.member import Block
from crashlens.scan.records import Hit, LineCounts, RecordReader
from crashlens.scan.rule_trials import try_rules

RULES = shipped_rules()
ROWS = RULES.harmless
WORDS = HarmlessWords(ROWS)


def read(*lines: str) -> tuple[list[Hit], LineCounts]:
    reader = RecordReader(RULES)
    return list(reader.read([Block(1, "".join(f"{line}\n" for line in lines).encode())])), reader.counts


def handled_by(rule_id: str, *lines: str) -> str | None:
    """Whether the one record of a rule in these lines is marked as handled."""
    (hit,) = [hit for hit in read(*lines)[0] if hit.rule.id == rule_id]
    return hit.groups.get("handled")


def counted(*lines: str) -> tuple[int, int, int]:
    """Lines matched, error-like, harmless."""
    counts = read(*lines)[1]
    return counts.matched, counts.error_like, counts.harmless


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_covers_its_examples_and_leaves_the_others(row: Harmless) -> None:
    (trial,) = try_rules(RULES, [row])
    assert (trial.missed, trial.fired) == ((), ())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_says_what_it_means(row: Harmless) -> None:
    assert row.means.endswith(".")
    assert row.references
    assert row.matches
    assert row.rejects
    assert row.applies_to <= {"kernel", "nccl", "c10d", "process"}
    assert all(RULES.rule(rule_id) for rule_id in row.opens)


def test_every_kind_has_a_row() -> None:
    assert {row.kind for row in ROWS} == {"advice", "help", "quotation", "config", "code", "zero", "handled"}


@pytest.mark.parametrize(
    "line",
    [
        "2026-10-01T10:00:00Z INFO 0 errors, 0 warnings in shard check (8.34s)",
        "2026-10-01T10:00:00Z INFO val/error=1.7119",
        "2026-10-01T10:00:00Z INFO nccl_timeout=600 fail_fast=False",
        "2026-10-01T10:00:00Z INFO killed=0 oom_score_adj=0",
        "+ export NCCL_ASYNC_ERROR_HANDLING=1",
        "++ grep -c 'RuntimeError: CUDA error' run.log",
        "python train.py --timeout 30 --abort-on-error",
        "WARNING upload failed (timed out), retrying in 5 s",
        "WARNING fused kernel not there (ImportError), falling back to eager",
        "    raise RuntimeError(f'worker {name} failed')",
        "[ 4.123456] ERST: Error Record Serialization Table (ERST) support is initialized.",
        "saved errors_histogram.png in 3.78s",
        'INFO the user asks to explain "RuntimeError: CUDA error: out of memory" again',
    ],
)
def test_such_a_line_is_harmless(line: str) -> None:
    matched, error_like, harmless = counted(line)
    assert (error_like, matched + harmless) == (0, 1)  # a rule may know it: then it is a record of that rule


@pytest.mark.parametrize(
    "line",
    [
        "2026-10-01T10:00:00Z INFO 0 errors so far, worker 3 failed",  # one word stands outside
        "2026-10-01T10:00:00Z ERROR something odd",  # the logger calls it one
        "upload failed 5 times while retrying, giving up",
        "2026-10-01T10:00:00Z INFO 10 errors in shard check",
        "timeout: gave up on node7",
        "errors: 0.5",
        "no error message was given, process failed",
        "Exception in thread Thread-3:",
        'time="2026-10-01T10:00:00Z" level=warning msg="start failed"',
        '{"level": "warn", "msg": "start failed"}',
        'could not open "a.log" and failed with "x',
    ],
)
def test_such_a_line_counts(line: str) -> None:
    matched, error_like, harmless = counted(line)
    assert (matched + error_like, harmless) == (1, 0)


@pytest.mark.parametrize("line", ["the catalog is mirrored", "disk filled to 30 %", "skilled labour", "terrors"])
def test_a_word_inside_another_word_is_no_error_word(line: str) -> None:
    assert counted(line) == (0, 0, 0)


def test_a_setting_is_no_record_and_a_record_beside_it_is() -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.21 GiB is free."
    advice = f"If you see {oom.removesuffix('.')}"
    assert read(advice)[0] == []
    assert handled_by("cuda.out_of_memory", f"{oom} If you see this error, lower the batch size.") is None
    assert handled_by("cuda.out_of_memory", f"NCCL_TIMEOUT=600 {oom}") is None


def test_a_rule_is_set_aside_only_where_its_whole_match_lies_inside() -> None:
    words = HarmlessWords(row for row in ROWS if row.kind in ABOUT)
    message = "Please check CUDA error: out of memory. RuntimeError: CUDA error: invalid argument"
    spans = words.spans(message, "process")
    assert covers(spans, message.index("CUDA error"), message.index(". Runtime"))
    assert not covers(spans, message.index("RuntimeError"), len(message))
    assert not covers(spans, message.index("CUDA error"), len(message))


def test_what_the_writer_caught_is_kept_and_marked() -> None:
    caught = "WARNING RuntimeError: CUDA error: invalid argument, retrying with the slow path"
    assert handled_by("cuda.error", caught) == "yes"
    assert handled_by("cuda.error", "RuntimeError: CUDA error: invalid argument") is None


def test_an_exception_that_python_could_not_raise_belongs_to_the_line_before() -> None:
    trace = ["Traceback (most recent call last):", '  File "a.py", line 3, in __del__', "AttributeError: gone"]
    ignored = "Exception ignored in: <function Pool.__del__ at 0x7f0000000000>"
    assert handled_by("python.exception", ignored, *trace) == "yes"
    assert handled_by("python.exception", ignored, "step 3", *trace) is None


def test_kernel_records_are_never_set_aside() -> None:
    xid = "NVRM: Xid (PCI:0000:9b:00): 94, pid=4821, name=python3, Contained: SM (0x1). RST: No, D-RST: No"
    for words in ("if you see this error", "retrying", "+ export A=1", "--timeout 30"):
        assert len(read(f"[ 4.123456] {xid}, {words}")[0]) == 1


def test_too_many_error_words_count_whatever_they_are() -> None:
    assert counted("0 errors " * 100) == (0, 1, 0)


def test_a_log_full_of_unlike_error_lines_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_JUDGED", 50)
    words = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(100, 300)]
    _, counts = read(*(f"{word} failed" for word in words), "RuntimeError: CUDA error: invalid argument", "0 errors")
    assert (counts.error_like, counts.unjudged, counts.matched, counts.harmless) == (201, 151, 1, 0)


def test_lines_that_differ_in_numbers_are_judged_once_and_zero_is_kept_apart() -> None:
    words = HarmlessWords(ROWS)
    judged = [words.judge(f"{number} errors in shard 7", "process", None)[0] for number in (0, 3, 4, 0, 9)]
    assert judged == ["harmless", "error_like", "error_like", "harmless", "error_like"]
    assert words.judged == 2
