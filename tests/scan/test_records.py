from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.rules.load import shipped_rules
from crashlens.rules.matcher import Candidate
from crashlens.scan.member import Block
from crashlens.scan.records import LONGEST_SEGMENT, MOST_RECORDS_PER_LINE, RecordReader
from crashlens.schemas import EVENTS

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
XID = "NVRM: Xid (PCI:0000:c6:00): 79, GPU has fallen off the bus."
WATCHDOG = "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600041 milliseconds before timing out."
TRACEBACK = "Traceback (most recent call last):"


def read(data: str | bytes) -> list[tuple[str, int, int, int]]:
    raw = data if isinstance(data, bytes) else data.encode()
    return [(hit.rule.id, hit.line, hit.line_end, hit.n) for hit in RecordReader(shipped_rules()).read([Block(1, raw)])]


def watchdog(rank: int, seq: int = 7) -> str:
    return f"[rank{rank}]:[E1001 09:18:40.715298746 ProcessGroupNCCL.cpp:607] " + WATCHDOG.format(rank=rank, seq=seq)


def test_a_record_says_its_line() -> None:
    assert read(f"a\nb\n{OOM}\n\n{XID}") == [("cuda.out_of_memory", 3, 3, 0), ("kernel.xid", 5, 5, 0)]


def test_nul_escapes_and_carriage_returns_move_no_line() -> None:
    data = (
        b"\x00\x00\x1b[31ma\x1b[0m\r\n\rb\r\r\n\x1b]0;t\x07"
        + OOM.encode()
        + b"\r\n\x00"
        + OOM.encode().replace(b"CUDA", b"CU\x00DA")
    )
    assert read(data) == [("cuda.out_of_memory", 3, 3, 0), ("cuda.out_of_memory", 4, 4, 0)]


def test_ranks_glued_on_one_line_are_records_of_their_own() -> None:
    hits = list(RecordReader(shipped_rules()).read([Block(1, (watchdog(0) + watchdog(1) + watchdog(5)).encode())]))
    assert [(hit.rule.id, hit.n, hit.peeled.rank) for hit in hits] == [
        ("c10d.watchdog_timeout", 0, 0),
        ("c10d.watchdog_timeout", 1, 1),
        ("c10d.watchdog_timeout", 2, 5),
    ]
    assert all(hit.text == watchdog(hit.peeled.rank or 0) for hit in hits)


def test_nccl_lines_glued_to_each_other_name_their_own_process() -> None:
    one = "(W pid=7) n1:91:204 [3] NCCL INFO comm 0x5581 rank 3 nranks 8 cudaDev 3 busId 9b000 - Init COMPLETE"
    two = "n1:92:205 [1] NCCL INFO comm 0x5582 rank 1 nranks 8 cudaDev 1 busId 1b000 - Init COMPLETE"
    for line in (f"{one}{two}", f"{one} {two}", f"{one} {two.replace('n1', 'n2')}"):
        hits = list(RecordReader(shipped_rules()).read([Block(1, line.encode())]))
        named = [(hit.peeled.host, hit.peeled.pid) for hit in hits if hit.rule.id == "nccl.init"]
        assert named == [("n1", 91), ("n2" if "n2" in line else "n1", 92)]


def test_versions_glued_to_each_other_are_two_records() -> None:
    assert read("NCCL version 2.7.8+cuda10.2NCCL version 2.7.8+cuda10.2") == [
        ("nccl.version", 1, 1, 0),
        ("nccl.version", 1, 1, 1),
    ]


def test_an_error_behind_a_progress_bar_is_found() -> None:
    bar = "".join(f"\r{n}%|##    | {n}/100 [00:01<00:09]" for n in range(100))
    assert read(f"{bar}\r{OOM}\n") == [("cuda.out_of_memory", 1, 1, 0)]


def test_a_message_that_says_it_twice_is_two_records() -> None:
    line = "CUDA error: an illegal memory access was encountered. CUDA error: misaligned address."
    assert read(line) == [("cuda.error", 1, 1, 0), ("cuda.error", 1, 1, 1)]


@pytest.mark.parametrize("before", [100, LONGEST_SEGMENT, 3 * LONGEST_SEGMENT, 40 * LONGEST_SEGMENT])
@pytest.mark.parametrize("after", [100, 3 * LONGEST_SEGMENT])
def test_a_record_anywhere_in_a_long_line_is_found_once(before: int, after: int) -> None:
    line = "[rank3]: " + "x" * before + " " + OOM + " " + "y" * after
    hits = list(RecordReader(shipped_rules()).read([Block(1, line.encode())]))
    assert [(hit.rule.id, hit.n, hit.peeled.rank, hit.groups["requested"]) for hit in hits] == [
        ("cuda.out_of_memory", 0, 3, "2.00 GiB")
    ]


def test_no_half_secret_is_cut_out_of_a_long_line() -> None:
    secret = "password: Zq7Xw2Lm9Kp4Vt8R"
    for shift in range(0, 60, 3):
        line = "x" * (LONGEST_SEGMENT - shift) + " " + secret + " " + "y" * (4 * LONGEST_SEGMENT)
        line += " " + secret + "z" * (LONGEST_SEGMENT - shift) + OOM
        for hit in RecordReader(shipped_rules()).read([Block(1, line.encode())]):
            assert "Kp4Vt8R" not in hit.text


def test_more_records_than_a_line_can_number_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EVENTS.frame([{"n": MOST_RECORDS_PER_LINE}])["n"].to_list() == [MOST_RECORDS_PER_LINE]
    monkeypatch.setattr("crashlens.scan.records.MOST_RECORDS_PER_LINE", 100)
    reader = RecordReader(shipped_rules())
    hits = list(reader.read([Block(1, b"CUDA error: bad\r" * 130 + b"\nCUDA error: bad\n")]))
    assert [(hit.line, hit.n) for hit in hits] == [*((1, n) for n in range(100)), (2, 0)]
    assert reader.counts.dropped == 30


@pytest.mark.parametrize(
    "line",
    [
        f"the docs say '{OOM}'",
        f'he wrote "{OOM}" yesterday',
        f"see `{OOM}`",
        f"see \u201c{OOM}\u201d",
        f"    raise RuntimeError('torch: {OOM}')",
        '{"log": "RuntimeError: CUDA error: misaligned address"}',
        "If you see 'Watchdog caught collective operation timeout', raise the limit",
        f'prompt="what does {XID} mean"',
    ],
)
def test_quoted_words_are_no_records(line: str) -> None:
    assert read(line) == []


@pytest.mark.parametrize(
    "line",
    [
        f"don't worry: {OOM}",
        f"loading 'a.bin' failed: {OOM}",
        f"the workers' error: {OOM}",
        f'he said "go" and then {OOM}',
        f"tensor['x'] {OOM}",
    ],
)
def test_marks_before_a_record_do_not_make_it_a_quotation(line: str) -> None:
    assert [one[0] for one in read(line)] == ["cuda.out_of_memory"]


def test_a_traceback_ends_with_its_exception_and_is_named_by_that_line() -> None:
    text = f"{TRACEBACK}\n  File 'a.py', line 1\n    raise ValueError('x')\nValueError: x\nnext\n"
    hits = list(RecordReader(shipped_rules()).read([Block(1, text.encode())]))
    assert [(hit.rule.id, hit.line, hit.line_end) for hit in hits] == [("python.exception", 4, 4)]
    assert hits[0].groups["exception"] == "ValueError"
    assert hits[0].groups["message"] == "x"
    assert hits[0].groups["record_start"] == "1"


def test_a_traceback_in_one_json_string_ends_on_its_line() -> None:
    triton = r'E1001 09:00:01.120000 41 model.py:106] "Traceback (most recent call last):\n  File \"m.py\", line 94, in execute\nValueError: too many\n"'
    cri = r'2026-10-01T09:00:00Z stdout F {"level":"error","ts":"2026-10-01T09:00:00Z","msg":"Traceback (most recent call last):\n  File \"m.py\", line 94, in f\nValueError: too many\n"}'
    assert read(f'{triton}\nI1001 09:00:02.120000 41 http_server.cc:4961] "up"\n{OOM}') == [
        ("python.exception", 1, 1, 0),
        ("cuda.out_of_memory", 3, 3, 0),
    ]
    assert read(cri) == [("python.exception", 1, 1, 0)]


def test_tracebacks_of_two_ranks_that_interleave_are_kept_apart() -> None:
    text = "\n".join(
        [
            f"[rank1]: {TRACEBACK}",
            f"[rank2]: {TRACEBACK}",
            "[rank1]:   File 'a.py', line 1",
            "[rank2]:   File 'b.py', line 2",
            "[rank2]: KeyError: 'b'",
            "[rank1]: ValueError: a",
        ]
    )
    hits = list(RecordReader(shipped_rules()).read([Block(1, text.encode())]))
    assert [(hit.line, hit.peeled.rank, hit.groups["exception"], hit.groups["record_start"]) for hit in hits] == [
        (5, 2, "KeyError", "2"),
        (6, 1, "ValueError", "1"),
    ]


def test_tracebacks_without_a_rank_that_interleave_end_one_by_one() -> None:
    text = f"{TRACEBACK}\n{TRACEBACK}\n{TRACEBACK}\nValueError: a\nValueError: b\nValueError: c"
    assert read(text) == [("python.exception", line, line, 0) for line in (4, 5, 6)]


def test_a_chain_of_exceptions_is_one_record_each() -> None:
    text = f"{TRACEBACK}\n  File a\nKeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACEBACK}\n  File b\nValueError: 2"  # fmt: skip
    assert read(text) == [
        ("python.exception", 3, 3, 0),
        ("python.chain", 5, 5, 0),
        ("python.exception", 9, 9, 0),
    ]


def test_an_exception_that_a_rule_knows_is_that_record_only() -> None:
    assert read(f"{TRACEBACK}\n  File a\n{OOM}\n") == [("cuda.out_of_memory", 3, 3, 0)]


def test_a_traceback_without_an_end_is_kept_and_says_so() -> None:
    hits = list(RecordReader(shipped_rules()).read([Block(1, f"{TRACEBACK}\n  File a\n".encode())]))
    assert [(hit.rule.id, hit.line, hit.groups) for hit in hits] == [("python.exception", 1, {"record_ended": "no"})]


def test_a_dist_backend_error_takes_the_result_of_its_own_rank() -> None:
    error = "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1331, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.18.1"
    text = "\n".join(
        [
            f"[rank0]: {error}",
            f"[rank1]: {error}",
            "[rank1]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
            "[rank0]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. ",
        ]
    )
    hits = list(RecordReader(shipped_rules()).read([Block(1, text.encode())]))
    assert [(hit.line, hit.line_end, hit.peeled.rank, hit.groups["nccl_result"]) for hit in hits] == [
        (2, 3, 1, "ncclRemoteError"),
        (1, 4, 0, "ncclSystemError"),
    ]
    assert hits[1].groups["nccl_version"] == "2.18.1"
    assert hits[1].groups["where"] == "../ProcessGroupNCCL.cpp:1331"


PROBE = [
    "NVRM: The NVIDIA GPU 0000:05:00.0",
    "NVRM: (PCI ID: 10de:2330) installed in this system has",
    "NVRM: fallen off the bus and is not responding to commands.",
]


@pytest.mark.parametrize(
    "stamps", [("[  1.000001] ",) * 3, ("[  1.000001] ", "", ""), ("Oct  1 00:00:01 n1 kernel: ",) * 3]
)
def test_the_probe_record_has_three_lines_and_no_xid(stamps: tuple[str, str, str]) -> None:
    text = "\n".join(stamp + line for stamp, line in zip(stamps, PROBE, strict=True))
    assert read(text) == [("kernel.fell_off_bus_probe", 1, 3, 0)]


def test_a_probe_of_a_gpu_that_answers_is_no_record() -> None:
    assert read("\n".join([PROBE[0], "NVRM: installed in this system is not supported", "x", "y", "z"])) == []


def test_records_that_end_on_other_lines_are_numbered_within_the_line_that_names_them() -> None:
    text = f"{PROBE[0]}\r{OOM}\n{PROBE[1]}\n{PROBE[2]}\n"
    assert read(text) == [("cuda.out_of_memory", 1, 1, 0), ("kernel.fell_off_bus_probe", 1, 3, 1)]


def test_a_record_does_not_go_on_in_the_output_of_another_host() -> None:
    lines = [
        f"Oct  1 00:00:01 n{host} kernel: {PROBE[line]}" for line, host in ((0, 1), (0, 2), (1, 1), (2, 2), (2, 1))
    ]
    hits = list(RecordReader(shipped_rules()).read([Block(1, "\n".join(lines).encode())]))
    assert [(hit.line, hit.line_end, hit.peeled.host) for hit in hits] == [(2, 4, "n2"), (1, 5, "n1")]


def test_a_record_that_grows_beyond_all_measure_is_kept_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crashlens.scan.records.MOST_RECORD_CHARACTERS", 1000)
    text = f"{TRACEBACK}\n" + "  File a\n" * 300 + "ValueError: x\n"
    hits = list(RecordReader(shipped_rules()).read([Block(1, text.encode())]))
    assert (hits[0].line, hits[0].groups) == (1, {"record_ended": "no", "truncated_record": "yes"})


def test_lines_that_matched_and_lines_that_look_like_errors_are_counted() -> None:
    reader = RecordReader(shipped_rules())
    list(reader.read([Block(1, f"{OOM}\nfine\nsomething failed\n{XID}\nconnection timeout\n".encode())]))
    assert (reader.counts.matched, reader.counts.error_like) == (2, 2)


def test_lines_of_an_open_record_are_claimed_and_those_of_other_ranks_are_not() -> None:
    reader = RecordReader(shipped_rules())
    lines = [
        f"[rank1]: {TRACEBACK}",
        "[rank1]:   raise Failure",
        "[rank2]: connection failed",
        "[rank1]: ValueError: a",
    ]
    list(reader.read([Block(1, "\n".join(lines).encode())]))
    assert (reader.counts.matched, reader.counts.error_like, reader.counts.error_lines) == (3, 1, [3])


TEXT = "\n".join(
    [
        "start",
        watchdog(0) + watchdog(1),
        f"[rank1]: {TRACEBACK}",
        f"[rank2]: {TRACEBACK}",
        "[rank1]:   File 'a.py', line 1",
        "\x1b[31mx\x1b[0m\x00",
        "[rank2]: KeyError: 'b'",
        "step 1 loss 2.0\rstep 2 loss 1.0",
        *PROBE,
        "[rank1]: ValueError: a",
        OOM,
        TRACEBACK,
        "  File a",
    ]
).encode()


@settings(max_examples=60)
@given(st.lists(st.integers(0, TEXT.count(b"\n") + 1), max_size=6))
def test_where_blocks_end_changes_no_record(cuts: list[int]) -> None:
    lines = TEXT.split(b"\n")
    blocks: list[Block] = []
    for first, behind in pairwise(sorted({0, len(lines), *cuts})):
        blocks.append(Block(first + 1, b"\n".join(lines[first:behind]) + (b"\n" if behind < len(lines) else b"")))
    got = [
        (hit.rule.id, hit.line, hit.line_end, hit.n, hit.text, hit.groups)
        for hit in RecordReader(shipped_rules()).read(blocks)
    ]
    whole = [
        (hit.rule.id, hit.line, hit.line_end, hit.n, hit.text, hit.groups)
        for hit in RecordReader(shipped_rules()).read([Block(1, TEXT)])
    ]
    assert got == whole
    assert [one[0] for one in whole].count("python.exception") == 3


class _Everything:
    """An engine that takes every line for a candidate of every rule."""

    def __init__(self, count: int) -> None:
        self.items = tuple(range(count))

    def candidates(self, block: bytes) -> list[Candidate]:
        found, at = [], 0
        for line in block.split(b"\n"):
            found.append(Candidate(at, at + len(line), self.items))
            at += len(line) + 1
        return found if not block.endswith(b"\n") else found[:-1]

    def clean_candidates(self, block: bytes) -> list[Candidate]:
        return self.candidates(block)


def test_the_engine_only_proposes() -> None:
    rules = shipped_rules()
    engine = _Everything(len(rules.rules) + len(rules.step_lines))
    careful = [(hit.rule.id, hit.line, hit.n) for hit in RecordReader(rules, engine).read([Block(1, TEXT)])]  # type: ignore[arg-type]
    assert careful == [(hit.rule.id, hit.line, hit.n) for hit in RecordReader(rules).read([Block(1, TEXT)])]
