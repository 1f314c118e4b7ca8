import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.scan.envelope import peel, strip_unprinted
from crashlens.scan.stamps import NO_YEAR

MESSAGE = "NVRM: Xid (PCI:0000:c6:00): 79, GPU has fallen off the bus."
SECOND = 1_000_000


def us(*parts: int, zone: timezone = UTC) -> int:
    return (datetime(*parts, tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)  # type: ignore[misc]


def stamps(line: str) -> list[tuple[str, str, int, int]]:
    return [(one.layer, one.kind, one.clock_us, one.resolution_us) for one in peel(line).stamps]


KERNEL = [  # logs.md §1; envelope, host, stamps
    ("[ 74785.660366] ", None, [("dmesg", "monotonic", 74_785_660_366, 1)]),
    ("[    0.000000] ", None, [("dmesg", "monotonic", 0, 1)]),
    ("[Sun Feb 23 16:24:18 2025] ", None, [("ctime", "local", us(2025, 2, 23, 16, 24, 18), SECOND)]),
    ("[Sat Feb  1 06:04:08 2025] ", None, [("ctime", "local", us(2025, 2, 1, 6, 4, 8), SECOND)]),
    ("[Sun Feb 23 16:24:18] ", None, [("ctime", "local_no_year", us(NO_YEAR, 2, 23, 16, 24, 18), SECOND)]),
    ("2025-01-25T10:34:54,859532+00:00 ", None, [("iso", "utc", us(2025, 1, 25, 10, 34, 54, 859532), 1)]),
    ("kern  :err   : [   12.345678] ", None, [("dmesg", "monotonic", 12_345_678, 1)]),
    ("kern  :warn  : 2025-01-25T10:34:54,859532+09:00 ", None, [("iso", "utc", us(2025, 1, 25, 1, 34, 54, 859532), 1)]),
    ("kern  :crit  : [Sun Feb 23 16:24:18 2025] ", None, [("ctime", "local", us(2025, 2, 23, 16, 24, 18), SECOND)]),
    ("4,1234,5678901,-;", None, [("kmsg", "monotonic", 5_678_901, 1)]),
    ("3,9,123,-;", None, [("kmsg", "monotonic", 123, 1)]),
    ("<6>[  201.650687] ", None, [("dmesg", "monotonic", 201_650_687, 1)]),
    ("Nov  9 03:12:44 node1 kernel: ", "node1", [("syslog", "local_no_year", us(NO_YEAR, 11, 9, 3, 12, 44), SECOND)]),
    (
        "Nov 19 03:12:44 gpuhost kernel: ",
        "gpuhost",
        [("syslog", "local_no_year", us(NO_YEAR, 11, 19, 3, 12, 44), SECOND)],
    ),
    (
        "Nov  9 03:12:44 node1 kernel: [  123.456789] ",
        "node1",
        [
            ("syslog", "local_no_year", us(NO_YEAR, 11, 9, 3, 12, 44), SECOND),
            ("dmesg", "monotonic", 123_456_789, 1),
        ],
    ),
    (
        "Nov 09 03:12:44.123456 node1 kernel: ",
        "node1",
        [("syslog", "local_no_year", us(NO_YEAR, 11, 9, 3, 12, 44, 123456), 1)],
    ),
    (
        "2025-01-25T10:34:54.859532+00:00 node kernel: ",
        "node",
        [("iso", "utc", us(2025, 1, 25, 10, 34, 54, 859532), 1)],
    ),
    ("2025-01-25T10:34:54+0100 node kernel: ", "node", [("iso", "utc", us(2025, 1, 25, 9, 34, 54), SECOND)]),
    (
        "2025-01-25T10:34:54Z node.example kernel: ",
        "node.example",
        [("iso", "utc", us(2025, 1, 25, 10, 34, 54), SECOND)],
    ),
    ("2026-10-25 02:58:07 gpu1 kernel: ", "gpu1", [("wall", "local", us(2026, 10, 25, 2, 58, 7), SECOND)]),
]


@pytest.mark.parametrize(("envelope", "host", "expected"), KERNEL, ids=[row[0] for row in KERNEL])
def test_kernel_envelopes(envelope: str, host: str | None, expected: list[tuple[str, str, int, int]]) -> None:
    peeled = peel(envelope + MESSAGE)
    assert stamps(envelope + MESSAGE) == expected
    assert (peeled.message, peeled.component, peeled.host) == (MESSAGE, "kernel", host)


@pytest.mark.parametrize(
    ("line", "host", "message"),
    [
        ("nixos kernel: mce: CPU6: hot", "nixos", "mce: CPU6: hot"),
        ("n7 kernel: mlx5_core 0000:5c:00.0: low", "n7", "mlx5_core 0000:5c:00.0: low"),
        ("n7 kernel: [  12.345678] usb 1-1: new", "n7", "usb 1-1: new"),
        ("[...] " + MESSAGE, None, MESSAGE),
        ("mlx5_cmd_out_err:838:(pid 14): bad", None, "mlx5_cmd_out_err:838:(pid 14): bad"),
        ("pcieport 0000:00:01.0: AER: x", None, "pcieport 0000:00:01.0: AER: x"),
    ],
)
def test_kernel_lines_whose_stamp_is_left_out(line: str, host: str | None, message: str) -> None:
    peeled = peel(line)
    assert (peeled.component, peeled.host, peeled.message) == ("kernel", host, message)


def test_nccl_lines_whose_process_is_left_out() -> None:
    peeled = peel("[rank1]: NCCL WARN NET/IB : Got async event : port error")
    assert (peeled.component, peeled.message) == ("nccl", "NET/IB : Got async event : port error")


def test_a_driver_line_without_envelope_is_a_kernel_line() -> None:
    assert peel(MESSAGE).component == "kernel"
    assert peel("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal").component == "kernel"


RANKS = [  # envelope, (rank, local_rank, pid, host, component), stamps
    ("[rank3]: ", (3, None, None, None, "process"), []),
    ("[default3]:", (None, 3, None, None, "process"), []),
    ("[default5]:[rank13]: ", (13, 5, None, None, "process"), []),
    ("[default5]:[ 12.345678] ", (None, 5, None, None, "kernel"), [("dmesg", "monotonic", 12_345_678, 1)]),
    ("(RayTrainWorker pid=123, ip=10.0.0.5) ", (None, None, 123, "10.0.0.5", "process"), []),
    ("(RayTrainWorker pid=123, ip=fd00::5) ", (None, None, 123, "fd00::5", "process"), []),
    (
        "(EngineCore_0 pid=123) ERROR 08-01 10:11:12 [core.py:700] ",
        (None, None, 123, None, "process"),
        [("vllm", "local_no_year", us(NO_YEAR, 8, 1, 10, 11, 12), SECOND)],
    ),
    (
        "INFO 10-01 10:11:12 llm_engine.py:226] ",
        (None, None, None, None, "process"),
        [("vllm", "local_no_year", us(NO_YEAR, 10, 1, 10, 11, 12), SECOND)],
    ),
    ("gpu-node-07:48213:48377 [5] NCCL INFO ", (None, None, 48213, "gpu-node-07", "nccl"), []),
    ("n2:91:204 [-1] NCCL WARN ", (None, None, 91, "n2", "nccl"), []),
    ("n2:91:204 [3] misc/socket.cc:55 NCCL WARN ", (None, None, 91, "n2", "nccl"), []),
    (
        "[2025-08-01 12:34:56] n2:91:204 [3] transport/net_ib.cc:88 NCCL WARN ",
        (None, None, 91, "n2", "nccl"),
        [("bracketed", "local", us(2025, 8, 1, 12, 34, 56), SECOND)],
    ),
    ("[E ProcessGroupNCCL.cpp:458] ", (None, None, None, None, "c10d"), []),
    ("[rank1]:[E ProcessGroupNCCL.cpp:1316] ", (1, None, None, None, "c10d"), []),
    (
        "[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] ",
        (0, None, None, None, "c10d"),
        [("glog", "local_no_year", us(NO_YEAR, 12, 6, 18, 44, 12, 715298), 1)],
    ),
    (
        "[rank0]:[E321 18:44:12.715298746 ProcessGroupNCCL.cpp:607] ",
        (0, None, None, None, "c10d"),
        [("glog", "local_no_year", us(NO_YEAR, 3, 21, 18, 44, 12, 715298), 1)],
    ),
    (
        "[W1119 08:00:00.000001 socket.cpp:752] ",
        (None, None, None, None, "c10d"),
        [("glog", "local_no_year", us(NO_YEAR, 11, 19, 8, 0, 0, 1), 1)],
    ),
    (
        "E0325 20:57:27.620000 2606 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] ",
        (None, None, None, None, "process"),
        [("glog", "local_no_year", us(NO_YEAR, 3, 25, 20, 57, 27, 620000), 1)],
    ),
    (
        "I1025 02:19:08.002792       1 health.go:151] ",
        (None, None, None, None, "process"),
        [("glog", "local_no_year", us(NO_YEAR, 10, 25, 2, 19, 8, 2792), 1)],
    ),
    (
        "2026-10-01T09:00:00Z E 41 model_lifecycle.cc:654] ",
        (None, None, None, None, "process"),
        [("iso", "utc", us(2026, 10, 1, 9, 0, 0), SECOND)],
    ),
    (
        "2025-03-01 10:00:00,123 - trainer.loop - ERROR - ",
        (None, None, None, None, "process"),
        [("wall", "local", us(2025, 3, 1, 10, 0, 0, 123000), 1000)],
    ),
    ("ERROR:", (None, None, None, None, "process"), []),
    (
        "2023-04-07 13:08:55,468\tERROR ",
        (None, None, None, None, "process"),
        [("wall", "local", us(2023, 4, 7, 13, 8, 55, 468000), 1000)],
    ),
    (
        "[2023-04-07 13:08:55,468] [INFO] ",
        (None, None, None, None, "process"),
        [("bracketed", "local", us(2023, 4, 7, 13, 8, 55, 468000), 1000)],
    ),
    (
        "2026-10-01T10:00:00Z rank=7 INFO ",
        (7, None, None, None, "process"),
        [("iso", "utc", us(2026, 10, 1, 10, 0, 0), SECOND)],
    ),
    (
        "Oct  1 10:00:00 n5 python[9921]: ",
        (None, None, 9921, "n5", "process"),
        [("syslog", "local_no_year", us(NO_YEAR, 10, 1, 10, 0, 0), SECOND)],
    ),
]


@pytest.mark.parametrize(("envelope", "said", "expected"), RANKS, ids=[row[0] for row in RANKS])
def test_job_envelopes(envelope: str, said: tuple[object, ...], expected: list[tuple[str, str, int, int]]) -> None:
    line = envelope + "the message: itself"
    peeled = peel(line)
    assert (peeled.rank, peeled.local_rank, peeled.pid, peeled.host, peeled.component) == said
    assert stamps(line) == expected
    assert peeled.message == "the message: itself"


@pytest.mark.parametrize(
    ("envelope", "severity"),
    [
        ("ERROR:", "error"),
        ("[WARNING] ", "warning"),
        ("INFO - ", "info"),
        ("[E ProcessGroupNCCL.cpp:458] ", "error"),
        ("F1206 18:44:12.715298 12 a.cc:607] ", "fatal"),
        ("n2:91:204 [3] NCCL WARN ", "warn"),
        ("", None),
    ],
)
def test_the_level_is_what_the_logger_called_it(envelope: str, severity: str | None) -> None:
    assert peel(envelope + "x y").severity == severity


@pytest.mark.parametrize(
    "line",
    [
        "Note: this is a sentence with a colon",
        "Step one is easy: do it",
        "node1 kernel: a quotation without a stamp",
        "[12] reference to a list",
        "[12.5] percent",
        "Jan 5 is a date: yes",
        "rank 3 is mentioned: here",
        "Errors found: 3",
        "INFORMATION: x",
        "WARNINGS: none",
        "(see page pid=7)",
        "host:12: a compiler message",
        "1,2,3;4",
        "2026-13-45T99:00:00Z x: y",
        "https://example.org:8080: open",
    ],
)
def test_what_is_no_envelope_stays_in_the_message(line: str) -> None:
    peeled = peel(line)
    assert (peeled.message, peeled.stamps, peeled.host, peeled.rank, peeled.pid) == (line, [], None, None, None)


@pytest.mark.parametrize(
    "rest", ["epoch1 loss: 2.1", "step-5 done: yes", "Loading weights: 5 files", "Result of run: good"]
)
def test_a_sentence_behind_a_stamp_names_no_host(rest: str) -> None:
    peeled = peel("2025-03-01 10:00:00,123 " + rest)
    assert (peeled.host, peeled.message) == (None, rest)


def test_an_inner_stamp_does_not_replace_an_outer_one() -> None:
    line = "2025-01-25T10:34:54Z [rank1]:[E125 12:34:54.715298746 ProcessGroupNCCL.cpp:607] x"
    assert [kind for _, kind, _, _ in stamps(line)] == ["utc", "local_no_year"]


def test_layers_are_bounded() -> None:
    peeled = peel("[rank1]: " * 50 + "x")
    assert peeled.message.startswith("[rank1]: ")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (b"\x1b[36m(Actor pid=1)\x1b[0m x\n", b"(Actor pid=1) x\n"),
        (b"\x1b]0;title\x07x\n", b"x\n"),
        (b"\x1b]8;;http://a\x1b\\x\n", b"x\n"),
        (b"a\x1bMb\n", b"ab\n"),
        (b"\x1b[1;31", b"\x1b[1;31"),
        (b"a\x00b\x00\n", b"ab\n"),
        (b"\x1b]never closed\nnext\n", b"\x1b]never closed\nnext\n"),
        (b"plain\r\n", b"plain\r\n"),
    ],
)
def test_escapes_and_nul_are_taken_out_and_lines_stay(raw: bytes, clean: bytes) -> None:
    got = strip_unprinted(raw)
    assert got == clean or (raw.startswith(b"\x1b]never") and got.count(b"\n") == 2)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_taking_out_escapes_never_changes_the_number_of_lines(data: bytes) -> None:
    pieces = data.replace(b"0", b"\x1b[").replace(b"1", b"\x1b]").replace(b"2", b"\n")
    assert strip_unprinted(pieces).count(b"\n") == pieces.count(b"\n")


@settings(max_examples=100)
@given(st.text(alphabet="[]() :,.<>0123456789-TZ+EIWFNCCLrankpidJanNVRM=/\t", max_size=80))
def test_peeling_never_raises_and_keeps_the_end_of_the_line(line: str) -> None:
    message = peel(line).message
    assert line.endswith(message)


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            [
                "\x1e",
                "\x1f",
                "=",
                "when",
                "epoch_us",
                "uptime",
                "boot",
                "rank",
                "pid",
                "host",
                "layer",
                "part",
                "12",
                "9" * 30,
                ".",
                "\u0663",
                "-1",
                "2026-10-01T10:00:00Z",
                '{"',
                '"}',
                '":"',
                "msg",
                "time",
                "\\ud800",
                " ",
            ]
        ),
        max_size=20,
    )
)
def test_a_line_that_pretends_to_be_normalised_raises_nothing(pieces: list[str]) -> None:
    peeled = peel("".join(pieces))
    peeled.message.encode()
    assert peeled.rank is None or peeled.rank < 10**6


@pytest.mark.parametrize(
    ("line", "severity", "message"),
    [
        ("[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected", "error", "[ERROR] [tid 841] detected"),
        ("2025-05-01 10:11:12.123456789 [W:onnxruntime:, a.cc:1 f] x", "warning", "[W:onnxruntime:, a.cc:1 f] x"),
        ("[05/01/2025-10:11:12] [E] [TRT] x", "error", "[E] [TRT] x"),
        ("[2026-10-01 10:00:07,123] [ERROR] [launch.py:318:f] x", "error", "x"),
        ("[15:58:29] WARNING  Sending process 197                    api.py:699", "warning", "Sending process 197"),
        ('time="2026-10-01T10:00:07Z" level=warning msg="a" error="b"', "warning", "a error=b"),
    ],
)  # fmt: skip
def test_what_rules_read_behind_the_stamp_stays(line: str, severity: str, message: str) -> None:
    peeled = peel(line)
    assert (peeled.severity, peeled.message.strip()) == (severity, message)


@pytest.mark.parametrize(
    "line", ["[  12.3456] nvme nvme0: I/O error", "[  12.3456] EDAC MC0: 1 CE", "[  12.3456] i915 card0: hang"]
)
def test_a_driver_behind_an_uptime_is_no_host(line: str) -> None:
    peeled = peel(line)
    assert (peeled.host, peeled.message) == (None, line[12:])


@pytest.mark.parametrize(
    "piece", ["[rank1]: ", "E0325 ", " 1", "[", "a", "a.", "2025-01-25 ", "n1:1:", "0,", "(a pid=1"]
)
def test_peeling_is_linear_in_the_line(piece: str) -> None:
    def best(length: int) -> float:
        line, times = piece * (length // len(piece)), []
        for _ in range(3):
            begun = time.thread_time()
            peel(line)
            times.append(time.thread_time() - begun)
        return min(times)

    assert best(32_000) < 0.05 + 9 * best(8_000)


@pytest.mark.parametrize(
    "envelope", ["E1001 09:00:00.120000 41 model.py:106] ", "2026-10-01T09:00:00Z E 41 model.py:106] "]
)
def test_a_message_that_is_one_json_string_is_taken_out_of_its_quotes(envelope: str) -> None:
    assert peel(envelope + r'"failed to load \"det\": no\nfile"').message == 'failed to load "det": no\nfile'


@pytest.mark.parametrize(
    "line",
    [
        'the log then says "failed to load"',
        '[ERROR] "failed to load"',
        'E1001 09:00:00.120000 41 model.py:106] "failed to load" stands there',
        r'E1001 09:00:00.120000 41 model.py:106] "failed to load \q"',
        'E1001 09:00:00.120000 41 model.py:106] "',
    ],
)
def test_quotation_marks_elsewhere_stay(line: str) -> None:
    assert '"' in peel(line).message
