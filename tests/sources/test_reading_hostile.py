"""Any bytes under any name: reading ends with tables, and a line number is the one that an editor shows."""

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crashlens as cl
from crashlens.rules.load import shipped_rules

# Heads by which formats are told: what follows them is noise all the same.
HEADS = [
    b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh9", b"PK\x03\x04",
    b"\x80\x04\x95", b"\x80\x02}q", b"\x93NUMPY", b"\x7fELF", b"\x00" * 300, b"ustar\x00", b"Obj\x01", b"PAR1", b"%PDF-1.7\n",
    b'{"version": "2.4", "entries": [', b'{"schema": "crashlens.findings/1"', b"[", b"[[rule]]\n", b"<?xml version='1.0'?>",
    b"timestamp, index, power.draw [W], clocks.sm [MHz]\n", b"# gpu   pwr gtemp\n# Idx     W     C\n",
    b"timestamp,metric,Hostname,gpu,value\n", b"#!/bin/sh\nset -x\n",
]  # fmt: skip

# What stands in front of a message: transport, launcher and logger, with gaps for hypothesis to break.
ENVELOPES = [
    b"", b" ", b"[ 1843.308145] ", b"[  +0.000844] ", b"[Sun Feb 23 16:24:18 2025] ", b"<4>[  201.650687] ", b"4,1234,5678901,-;",
    b"Nov  9 03:12:44 node-4 kernel: ", b"2025-01-25T10:34:54.859532+00:00 node-4 kernel: ", b"kern  :err   : [   12.5] ",
    "août 12 03:04:05 node-4 kernel: ".encode(), "11月 03 01:02:03 node-4 kernel: ".encode(), b"3: ", b"[default3]:", b"[rank3]: ",
    b"[rank3]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] ", b"(Worker pid=41, ip=10.0.0.5) ", b"node-4:41:52 [3] NCCL WARN ",
    b"2024-06-28T08:51:05.123456789Z stderr F ", b"2024-06-28T08:51:05.123456789Z stdout P ", b"svc-1  | ",
    b'{"log":"', b'{"MESSAGE":"', b'{"MESSAGE":[', b"\x1b[36m", b"E0325 20:57:27.620000 2606 api.py:869] ", b"[INFO] [launch.py:318:main] ",
]  # fmt: skip

# Messages of the shapes that rules look for, whole and cut.
MESSAGES = [
    b"NVRM: Xid (PCI:0000:3b:00): 79, pid=41, name=python, GPU has fallen off the bus.", b"NVRM: Xid (PCI:", b"NVRM: The NVIDIA GPU 0000:c1:00.0",
    b"NVRM: fallen off the bus and is not responding to commands.", b"NVRM: API mismatch: the client has the version 1, but",
    b"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress", b"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Data {0x1, 0x2}",
    b"pcieport 0000:00:02.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)", b"pcieport 0000:00:02.0:    [ 5] SDES   (First)",
    b"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/a,task=python,pid=41,uid=0", b"Memory cgroup out of memory: Killed process 41 (python)",
    b"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600041 milliseconds",
    b"Traceback (most recent call last):", b'  File "train.py", line 3, in <module>', b"ValueError: x", b"RuntimeError: CUDA error: out of memory",
    b"Root Cause (first observed failure):", b"  rank      : 3 (local_rank: 3)", b"  exitcode  : -9 (pid: 41)", b"CUDA out of memory. Tried to allocate 2.00 GiB",
    b"comm 0x55 rank 5 nranks 8 cudaDev 5 busId 9b000 - Init COMPLETE", b"transport/net.cc:1134 -> 6", b"step 10 loss 2.1 tokens/s 41000",
    b"iteration 100/ 500 | elapsed time per iteration (ms): 1.0 | lm loss: 2.0 |", b'"quoted: CUDA out of memory. Tried to allocate 2.00 GiB"',
    b"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2023-03-07T13:20:56 DUE TO TIME LIMIT ***", b"last message repeated 3 times", b"\xff\xfe\xfd",
    b"\x00\x00\x00", b"99999999999999999999999999", b"[" * 40, b"(" * 40, b"{" * 40, b" " * 200, b"\\n\\u001b\\", b'"}', b"\xe2\x80\xa8", b"\x0b\x0c\x1c\x85",
]  # fmt: skip

piece = st.one_of(st.sampled_from(ENVELOPES), st.sampled_from(MESSAGES), st.binary(max_size=12))
lines = st.lists(
    st.tuples(
        st.lists(piece, max_size=4).map(b"".join), st.sampled_from([b"\n", b"\r\n", b"\r", b"", b"\r\r\n", b"\n\n"])
    ),
    max_size=24,
)
NAMES = ["a.log", "train.out", "a.json", "a.csv", "dump_rank_0", "trace.pkl", "a.log.gz", "a.tar", "smi.xml", "a.jsonl"]

TEXT = b"2026-10-01 10:00:00 the loader has read another shard of the data, as it does every second\n" * 200

settled = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder: Path, name: str, data: bytes) -> cl.Case:
    path = folder / name
    path.write_bytes(data)
    return cl.read(path)


def joined(parts: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(text + end for text, end in parts)


def line_count(data: bytes) -> int:
    return len(data.split(b"\n")) - data.endswith(b"\n")


def assert_sound(case: cl.Case) -> None:
    """Every row points at a line of its source, and a case always answers."""
    counts = dict(case.sources.select("source_id", "lines").iter_rows())
    for table in (case.events, case.steps, case.stamps, case.samples, case.metrics):
        for source_id, line in table.select("source_id", "line").iter_rows():
            assert 1 <= line <= counts[source_id]
    for line, line_end in case.events.select("line", "line_end").iter_rows():
        assert line <= line_end
    for finding in case.findings():
        assert finding.summary


@settled
@given(name=st.sampled_from(NAMES), head=st.sampled_from(HEADS), tail=st.binary(max_size=2000))
def test_no_bytes_stop_a_reading(tmp_path: Path, name: str, head: bytes, tail: bytes) -> None:
    assert_sound(read(tmp_path, name, head + tail))


@settled
@given(name=st.sampled_from(NAMES), head=st.sampled_from(HEADS), parts=lines)
def test_no_mix_of_log_lines_stops_a_reading(
    tmp_path: Path, name: str, head: bytes, parts: list[tuple[bytes, bytes]]
) -> None:
    assert_sound(read(tmp_path, name, head + joined(parts)))


@settled
@given(parts=lines, cut=st.integers(0, 60))
def test_a_cut_gzip_stops_no_reading(tmp_path: Path, parts: list[tuple[bytes, bytes]], cut: int) -> None:
    packed = gzip.compress(joined(parts), mtime=0)
    assert_sound(read(tmp_path, "a.log.gz", packed[: max(0, len(packed) - cut)]))


@settled
@given(parts=lines, every=st.integers(1, 5))
def test_a_record_is_told_with_the_line_that_it_stands_on(
    tmp_path: Path, parts: list[tuple[bytes, bytes]], every: int
) -> None:
    """Each planted record holds the number of its own line, so that a record told for another line gives itself away."""
    data = TEXT  # enough of it that the noise behind it does not make the file a binary one
    planted: set[int] = set()
    for n, (text, end) in enumerate(parts):
        data += text + end
        if n % every == 0:
            if not data.endswith(b"\n"):
                data += b"\n"
            line = data.count(b"\n") + 1
            planted.add(line)
            data += b"NVRM: Xid (PCI:0000:3b:00): 31, pid=7%06d, name=python, Ch 00000008\n" % line
    case = read(tmp_path, "a.log", data)
    (source,) = case.sources.to_dicts()
    assert source["lines"] == line_count(data)
    told = case.events.filter((case.events["rule_id"] == "kernel.xid") & (case.events["pid"] > 7_000_000))
    assert [(line, pid) for line, pid in told.select("line", "pid").iter_rows() if pid != 7_000_000 + line] == []
    assert planted - set(told["line"].to_list()) == set()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(
        st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), max_size=20), max_size=30
    )
)
def test_only_a_line_feed_ends_a_line(tmp_path: Path, end: bytes, words: list[str]) -> None:
    """U+2028, form feed and the like end no line, whatever Python's `splitlines` says."""
    front = (
        end.join(word.encode() for word in ["start " * 60, *words]) + end
    )  # more than a tenth of controls is no text
    case = read(tmp_path, "a.log", front + b"RuntimeError: CUDA error: unknown error" + end)
    told = case.events.filter(case.events["rule_id"] == "cuda.error")
    assert told["line"].to_list()[-1:] == [front.count(b"\n") + 1]


def mutated(line: bytes, chance: random.Random) -> bytes:
    """`line` with one to four faults: a byte changed, taken out or put in, a stretch cut or repeated, the rest gone."""
    data = bytearray(line)
    for _ in range(chance.randint(1, 4)):
        at, end = (chance.randint(0, len(data)) for _ in range(2))
        match chance.randrange(6):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                data[at:at] = chance.choice(
                    [b'"', b"(", b"[", b"\\", b"\x00", b"\x1b[", b" " * 40, b"9" * 30, b"\xe2\x80", b"\r"]
                )
            case 2:
                del data[at:end]
            case 3:
                data[at:at] = data[end : end + 20]
            case 4:
                del data[at:]
            case _:
                data[at : at + 1] = data[end : end + 1]
    return bytes(data).replace(b"\n", b" ")


@pytest.mark.slow
def test_two_hundred_thousand_broken_lines_stop_no_reading(tmp_path: Path) -> None:
    chance = random.Random(41)
    rules = shipped_rules()
    whole = [match.encode() for item in (*rules.rules, *rules.step_lines) for match in item.matches]
    seeds = [line for text in (*whole, *MESSAGES) for line in text.split(b"\n")]
    for part in range(20):
        lines_of_it = [mutated(chance.choice(ENVELOPES) + chance.choice(seeds), chance) for _ in range(10_000)]
        data = TEXT + b"\n".join(lines_of_it) + b"\n"
        case = read(tmp_path, f"part-{part}.log", data)
        (source,) = case.sources.to_dicts()
        assert source["state"] in {"read", "partly_read"}
        assert source["lines"] == line_count(data)
        assert case.events.height > 100
        assert_sound(case)
