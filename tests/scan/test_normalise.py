"""Normalisers on anything: no bytes crash them, every line says where it stands, and wrapping changes no record."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.rules.load import shipped_rules
from crashlens.scan.line_writer import MOST_PART_BYTES
from crashlens.scan.member import Block
from crashlens.scan.normalise import WRAPPINGS, Wrapping, normalised, wrapping_of
from crashlens.scan.records import RecordReader

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
XID = "NVRM: Xid (PCI:0000:c6:00): 79, pid=4711, name=python, GPU has fallen off the bus."
FRAGMENTS = [
    b'{"log":"', b'","stream":"stderr","time":"2026-10-01T10:00:00.1Z"}', b"\\n", b"\\", b'"', b"\n", b"\r", b"\x00",
    b"2026-10-01T10:00:00.1Z stderr P ", b"2026-10-01T10:00:00.1Z stderr F ", b'{"MESSAGE":[104,300,-1,1.5]}', b"\xe2",
    b'{"__CURSOR":"a","__REALTIME_TIMESTAMP":"1","MESSAGE":null}', b"[  +0.000844] ", b"[Apr23 10:15] ", b"3: ", b"P0 3: ",
    b"node-1: ", b"[10:00:07] ERROR    x", b" " * 20, b"x" * 80, b"x" * 79, b"\x1e", b"\x1f", b"\x1b[31m", b"\\ud800",
    b"MESSAGE=a", b"__REALTIME_TIMESTAMP=9", OOM.encode(), XID.encode(), b"\xff", b'{"msg":"a\\nb","time":"2026-10-01T10:00:00Z"}',
    b"Traceback (most recent call last):", b"KeyError: 'x'", b"[" * 50, b'{"a":' * 50, b"\x85", b"\x0b",
]  # fmt: skip


def blocks_of(data: bytes, size: int) -> Iterator[Block]:
    """Whole lines in blocks of about `size` bytes."""
    at, line = 0, 1
    while at < len(data):
        end = data.find(b"\n", min(len(data) - 1, at + size)) + 1 or len(data)
        yield Block(line, data[at:end])
        line += data.count(b"\n", at, end)
        at = end


def found(data: bytes, size: int = 1000, head: bytes | None = None) -> list[tuple[str, int, int]]:
    blocks = normalised(blocks_of(data, size), data[:65536] if head is None else head, lambda _: None)
    return [(hit.rule.id, hit.line, hit.line_end) for hit in RecordReader(shipped_rules()).read(blocks)]


@pytest.mark.parametrize("wrapping", WRAPPINGS, ids=lambda one: one.name)
@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(st.sampled_from(FRAGMENTS), max_size=40), size=st.integers(1, 200))
def test_no_bytes_crash_a_normaliser_and_every_line_says_where_it_stands(
    wrapping: Wrapping, pieces: list[bytes], size: int
) -> None:
    data = b"".join(pieces)
    lines = data.split(b"\n")
    normaliser = wrapping.make([line for line in lines if line.strip()] or [b"x"])
    out = [normaliser.feed(block) for block in blocks_of(data, size)]
    rest = normaliser.close()
    assert isinstance(normaliser.notices(), list)
    for block in (*out, *([rest] if rest else [])):
        if block.lines is None:
            continue
        for index in range(block.data.count(b"\n")):
            first, last = block.lines.first[index], block.lines.last[index]
            assert 1 <= first <= last <= len(lines)
            shown = block.lines.shown(index)
            assert shown in {b"\n".join(lines[first - 1 : last]), lines[first - 1]}


@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(FRAGMENTS), max_size=60), size=st.integers(1, 300))
def test_no_bytes_crash_the_reading_and_lines_are_those_of_an_editor(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    lines = data.split(b"\n")
    for _, line, line_end in found(data, size):
        assert 1 <= line <= line_end <= len(lines)


def docker(line: str, _n: int) -> str:
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-10-01T10:00:00Z"}, separators=(",", ":"))


def journal(line: str, n: int) -> str:
    return json.dumps({"__CURSOR": str(n), "__REALTIME_TIMESTAMP": "1790848807123456", "MESSAGE": line})


WRAPPERS: dict[str, Callable[[str, int], str]] = {
    "docker_json": docker,
    "cri": lambda line, _: f"2026-10-01T10:00:00.5+08:00 stderr F {line}",
    "journal_json": journal,
    "json_lines": lambda line, _: json.dumps({"level": "info", "time": "2026-10-01T10:00:00Z", "msg": line}),
    "kubectl": lambda line, _: f"2026-10-01T10:00:00.5Z {line}",
    "srun_label": lambda line, _: f"0: {line}",
}
LINES = [
    "step one", "", "  indented", OOM, XID, "Traceback (most recent call last):", '  File "a.py", line 1, in f', "KeyError: 'x'",
    "ValueError: a \u20ac \U0001f600", "[rank3]: " + OOM, 'said "no" \\ and \t left', "something failed",
    "NVRM: The NVIDIA GPU 0000:05:00.0", "NVRM: (PCI ID: 10de:2330) installed in this system has",
    "NVRM: fallen off the bus and is not responding to commands.", "\x1b[31mred\x1b[0m " + OOM,
]  # fmt: skip


@pytest.mark.parametrize("name", WRAPPERS)
@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.sampled_from(LINES), min_size=3, max_size=30), size=st.integers(1, 3000))
def test_an_envelope_around_all_lines_changes_no_record(name: str, lines: list[str], size: int) -> None:
    lines = [*lines, "a closing line", "and another"]
    wrapped = "\n".join(WRAPPERS[name](line, n) for n, line in enumerate(lines)).encode()
    wrapping = wrapping_of(wrapped)
    assert (None if wrapping is None else wrapping.name) == (None if name == "kubectl" else name)
    assert found(wrapped, size) == found("\n".join(lines).encode(), head=b"plain")


@pytest.mark.parametrize("name", ["docker_json", "cri"])
@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, 60), min_size=1, max_size=20), size=st.integers(1, 2000))
def test_parts_of_a_line_are_one_line_that_begins_at_the_first(name: str, cuts: list[int], size: int) -> None:
    texts = [OOM, "\u20ac step", XID, OOM]
    lines: list[bytes] = []
    begins: list[tuple[int, int]] = []
    for n in range(12):
        text, cut = texts[n % 4].encode(), cuts[n % len(cuts)]
        pieces = [text[at : at + cut] for at in range(0, len(text), cut)]
        begins.append((len(lines) + 1, len(lines) + len(pieces)))
        for number, piece in enumerate(pieces, 1):
            ended = number == len(pieces)
            if name == "cri":
                lines.append(b"2026-10-01T10:00:00.5Z stdout " + (b"F " if ended else b"P ") + piece)
            else:  # docker cuts between characters
                log = piece.decode("utf-8", "replace") + ("\n" if ended else "")
                entry = {"log": log, "stream": "stdout", "time": "2026-10-01T10:00:00Z"}
                lines.append(json.dumps(entry, separators=(",", ":")).encode())
    ids = ["cuda.out_of_memory", "", "kernel.xid", "cuda.out_of_memory"]
    expected = [(ids[n % 4], *place) for n, place in enumerate(begins) if ids[n % 4]]
    head = b"\n".join(lines)
    assert wrapping_of(head) is not None
    assert found(head, size) == expected


def test_a_message_without_an_end_is_cut_and_said() -> None:
    part = b"2026-10-01T10:00:00.5Z stdout P " + b"x" * 16000
    notices: list[str] = []
    data = b"\n".join([part] * 200)
    list(normalised(blocks_of(data, 100_000), data[:65536], notices.append))
    # 66 parts of 16,000 bytes are the first to exceed 1 MiB: three times in 200 parts.
    assert notices == [f"3 messages are longer than {MOST_PART_BYTES // 1024} KiB; they were read in pieces."]


@pytest.mark.parametrize(
    "line",
    [
        b'{"log":"' + b"\\" * 500_000 + b'\\n","stream":"stderr","time":"2026-10-01T10:00:00Z"}',
        b'{"log":"' + b"a" * 1_000_000,
        b'{"MESSAGE":[' + b"1," * 400_000 + b"1]}",
        b'{"__REALTIME_TIMESTAMP":"1","MESSAGE":' + b"[" * 500_000,
        b"3: " * 300_000,
        b"[  +0.000844" * 90_000,
        b"__REALTIME_TIMESTAMP=" + b"A" * 1_000_000,
    ],
    ids=lambda line: line[:24].decode(),
)
def test_a_long_line_costs_time_in_proportion(line: bytes) -> None:
    def cost(data: bytes) -> float:
        begun = time.thread_time()
        for wrapping in WRAPPINGS:
            normaliser = wrapping.make([data])
            wrapping.share([data])
            normaliser.feed(Block(1, data))
        return time.thread_time() - begun

    assert cost(line) < 2 + 12 * cost(line[: len(line) // 4])


def test_the_head_may_end_within_a_line() -> None:
    data = "\n".join(docker(f"step {n}", n) for n in range(2000)).encode()
    assert (wrapping_of(data[:65536]) or WRAPPINGS[-1]).name == "docker_json"
    assert wrapping_of(b"") is None
    assert wrapping_of(b"\n\n") is None
    assert wrapping_of(b"{") is None
