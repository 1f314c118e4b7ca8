"""One file per transport envelope, in the shape that its writer prints: where and when is the record found?"""

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from tests.scan.conftest import ReadFile

XID = "NVRM: Xid (PCI:0000:c6:00): 79, pid=4711, name=python, GPU has fallen off the bus."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def docker(log: str, stream: str = "stderr", second: int = 0, **more: object) -> str:
    entry = {"log": log, "stream": stream} | more | {"time": f"2026-10-01T10:00:{second:02d}.123456789Z"}
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_docker_json_is_decoded_and_keeps_its_lines(read_file: ReadFile) -> None:
    case = read_file(
        "\n".join(
            [
                docker("step 1\n", "stdout"),
                docker(f"\x1b[31m[rank3]: {OOM}\x1b[0m\n", second=7),
                docker('he said "no"\n'),
                docker(f"{XID} \u00e9\n", second=9),
            ]
        )
    )
    source, events = case.sources.row(0, named=True), case.events
    assert (source["format"], source["lines"], source["notices"]) == ("docker_log", 4, [])
    assert events.select("line", "line_end", "rule_id", "rank", "time_utc").rows() == [
        (2, 2, "cuda.out_of_memory", 3, at("2026-10-01 10:00:07.123456")),
        (4, 4, "kernel.xid", None, at("2026-10-01 10:00:09.123456")),
    ]
    assert events["component"].to_list() == ["process", "kernel"]
    assert events["text"][0] == f"[rank3]: {OOM}"


def test_docker_json_goes_on_until_the_line_end_per_stream(read_file: ReadFile) -> None:
    case = read_file(
        "\n".join(
            [
                docker("torch.OutOfMemoryError: CUDA out ", second=1),
                docker("step 2\n", "stdout", second=2),
                docker("of memory. Tried to allocate ", second=3),
                docker("2.00 GiB.\n", second=4),
                docker("next\n", second=5),
            ]
        )
    )
    assert case.events.select("line", "line_end", "rule_id", "time_utc").rows() == [
        (1, 4, "cuda.out_of_memory", at("2026-10-01 10:00:01.123456"))
    ]
    assert {"key": "requested", "value": "2.00 GiB"} in case.events["fields"].to_list()[0]


def test_docker_json_with_more_fields_and_broken_lines(read_file: ReadFile) -> None:
    good = [docker(f"step {n}\n") for n in range(40)]
    bad = ['{"log":"half', "no json at all", "[" * 5000, "{" + '"a":{' * 5000]
    case = read_file("\n".join([*good, *bad, docker(OOM + "\n", attrs={"tag": "t"})]))
    assert case.events.select("line", "rule_id").rows() == [(45, "cuda.out_of_memory")]
    assert case.sources["notices"][0].to_list() == [
        "4 lines are no JSON object of the docker log driver; they were read as they stand."
    ]


def test_an_entry_of_docker_json_that_never_ends_is_read(read_file: ReadFile) -> None:
    case = read_file("\n".join([docker("a\n"), docker("b\n"), docker("c\n"), docker("d\n"), docker(OOM)]))
    assert case.events.select("line", "line_end", "rule_id").rows() == [(5, 5, "cuda.out_of_memory")]


@pytest.mark.parametrize("offset", ["Z", "+08:00", "-07:00"])
def test_cri_parts_are_joined_before_they_are_decoded(read_file: ReadFile, offset: str) -> None:
    head = f"2026-10-01T10:00:00.5{offset}"
    message = f"\u20ac [rank1]: {OOM}".encode()
    cut = 1  # inside the three bytes of the euro sign
    lines = [
        f"{head} stdout F step 1".encode(),
        f"{head} stderr P ".encode() + message[:cut],
        f"{head} stdout F step 2".encode(),
        f"{head} stderr P ".encode() + message[cut:40],
        f"{head} stderr F ".encode() + message[40:],
        f"{head} stderr F {XID}".encode(),
    ]
    case = read_file(b"\n".join(lines))
    hours = {"Z": 0, "+08:00": -8, "-07:00": 7}[offset]
    assert case.sources["format"].to_list() == ["cri_log"]
    assert case.events.select("line", "line_end", "rule_id", "time_utc").rows() == [
        (2, 5, "cuda.out_of_memory", at(f"2026-10-01 {10 + hours:02d}:00:00.5")),
        (6, 6, "kernel.xid", at(f"2026-10-01 {10 + hours:02d}:00:00.5")),
    ]


def test_streams_of_a_container_are_kept_apart(read_file: ReadFile) -> None:
    head = "2026-10-01T10:00:00.5Z"
    case = read_file(
        f"{head} stderr F Traceback (most recent call last):\n"
        f"{head} stdout F KeyError: 'of another program'\n"
        f'{head} stderr F   File "a.py", line 1, in f\n'
        f"{head} stderr F ValueError: bad shape\n"
    )
    ended = case.events.filter(pl.col("rule_id") == "python.exception")
    assert ended["line"].to_list() == [4]
    assert {"key": "exception", "value": "ValueError"} in ended["fields"].to_list()[0]


Row = tuple[str, str, str | None, int | None, int | None, list[tuple[str, str]], int | None]
ONE_LINE: list[Row] = [  # name, envelope, host, pid, rank, stamps (layer, kind), time in UTC of the best
    ("kubectl --timestamps", "2026-10-01T10:00:07.123456789Z ", None, 4711, None, [("iso", "utc")], 7),
    ("kubectl --prefix", "[pod/train-0/main] ", None, 4711, None, [], None),
    ("kubectl both", "[pod/train-0/main] 2026-10-01T10:00:07.123456789Z ", None, 4711, None, [("iso", "utc")], 7),
    ("docker compose", "trainer-1  | ", None, 4711, None, [], None),
    ("docker compose, ranks", "trainer-1  | [rank2]: ", None, 4711, 2, [], None),
    ("syslog 5424", "<3>1 2026-10-01T10:00:07.123456Z node7 kernel - - - ", "node7", 4711, None, [("syslog", "utc")], 7),
    ("syslog 5424 data", '<3>1 2026-10-01T12:00:07.123456+02:00 node7 kernel - ID [a@1 b="c"] \ufeff', "node7", 4711, None, [("syslog", "utc")], 7),
    ("talos", "10.0.0.1: kern: warning: [2026-10-01T10:00:07.123456789Z]: ", "10.0.0.1", 4711, None, [("talos", "utc")], 7),
    ("short-full", "Thu 2026-10-01 10:00:07.123456 UTC node7 kernel: ", "node7", 4711, None, [("iso", "utc")], 7),
    ("short-unix", "1790848807.123456 node7 kernel: ", "node7", 4711, None, [("syslog", "utc")], 7),
    ("short-monotonic", "[   12.345678] node7 kernel: ", "node7", 4711, None, [("dmesg", "monotonic")], None),
    ("console with caller", "[   12.345678][  T4711] ", None, 4711, None, [("dmesg", "monotonic")], None),
    ("dmesg --show-delta", "[   12.345678 <    0.000012>] ", None, 4711, None, [("dmesg", "monotonic")], None),
    ("pstore", "<4>[  201.650687] ", None, 4711, None, [("dmesg", "monotonic")], None),
    ("ISO and uptime", "2026-10-01T10:00:07.123456+00:00 node7 kernel: [   12.345678] ", "node7", 4711, None, [("iso", "utc"), ("dmesg", "monotonic")], 7),
    ("masked host", "Oct  1 10:00:07 <host> kernel: ", None, 4711, None, [("syslog", "local_no_year")], None),
    ("colour rests", "#033[36m[36m\\u001b[1m[   12.345678] ", None, 4711, None, [("dmesg", "monotonic")], None),
]  # fmt: skip


@pytest.mark.parametrize("row", ONE_LINE, ids=[row[0] for row in ONE_LINE])
def test_an_envelope_of_one_line(read_file: ReadFile, row: Row) -> None:
    _, envelope, host, pid, rank, layers, second = row
    case = read_file(f"{envelope}boot\n{envelope}{XID}[0m\n{envelope}end\n")
    (event,) = case.events.to_dicts()
    assert (event["line"], event["rule_id"], event["component"]) == (2, "kernel.xid", "kernel")
    assert (event["host"], event["pid"], event["rank"]) == (host, pid, rank)
    assert [name for name, _ in layers] == case.tables.stamps["layer"].to_list()
    kinds = {clock_id.split(":")[1] for clock_id in case.tables.stamps["clock_id"].to_list()}
    assert kinds == {kind for _, kind in layers}
    assert event["time_utc"] == (None if second is None else at(f"2026-10-01 10:00:{second:02d}.123456"))


MONTHS = [
    ("août 25 19:38:06", 8, 25), ("févr. 25 19:38:06", 2, 25), ("déc. 05 19:38:06", 12, 5), ("Okt 25 19:38:06", 10, 25),
    ("Mär 25 19:38:06", 3, 25), ("11月 15 19:38:06", 11, 15), (" 1月 15 19:38:06", 1, 15), ("11월 15 19:38:06", 11, 15),
    ("ene 15 19:38:06", 1, 15), ("gen 15 19:38:06", 1, 15), ("dez 15 19:38:06", 12, 15), ("май 15 19:38:06", 5, 15),
    ("мая 15 19:38:06", 5, 15), ("Oct  5 19:38:06", 10, 5), ("mrt 15 19:38:06", 3, 15), ("eki 15 19:38:06", 10, 15),
]  # fmt: skip


@pytest.mark.parametrize(("stamp", "month", "day"), MONTHS)
def test_months_of_other_languages(read_file: ReadFile, stamp: str, month: int, day: int) -> None:
    case = read_file(f"{stamp} gpu-7 kernel: {XID}\n", tz="UTC", year=2026)
    assert case.events.select("host", "time_utc").rows() == [("gpu-7", at(f"2026-{month:02d}-{day:02d} 19:38:06"))]


@pytest.mark.parametrize(
    "stamp", ["[lun. août 25 19:38:06 2025]", "[二 11月 25 19:38:06 2025]", "[Mo Aug 25 19:38:06 2025]"]
)
def test_dmesg_times_of_other_languages(read_file: ReadFile, stamp: str) -> None:
    (event,) = read_file(f"{stamp} {XID}\n", tz="UTC").events.to_dicts()
    assert (event["component"], event["time_utc"].day, event["time_utc"].hour) == ("kernel", 25, 19)


def journal(message: object, cursor: str = "s=1;i=1", **more: object) -> str:
    record = {
        "__CURSOR": cursor, "__REALTIME_TIMESTAMP": "1790848807123456", "__MONOTONIC_TIMESTAMP": "12345678",
        "_BOOT_ID": "00000000000000000000000000000001", "_HOSTNAME": "node7", "PRIORITY": "4", "_TRANSPORT": "kernel",
        "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": message,
    }  # fmt: skip
    return json.dumps(record | more)


def test_journal_json_in_all_forms_of_its_message(read_file: ReadFile) -> None:
    bytes_message = [*XID.encode(), 255]
    lines = [
        journal(XID),
        journal(bytes_message, "s=1;i=2", _SOURCE_MONOTONIC_TIMESTAMP="99"),
        journal(None, "s=1;i=3"),
        journal(XID),  # the cursor of the first record
        journal([300, -1], "s=1;i=5"),
        journal(OOM, "s=1;i=6", _TRANSPORT="stdout", SYSLOG_IDENTIFIER="python3", _PID="88"),
        journal(
            "Traceback (most recent call last):\n  File a\nKeyError: 'x'",
            "s=1;i=7",
            _TRANSPORT="stdout",
            SYSLOG_IDENTIFIER="python3",
        ),
    ]
    case = read_file("\n".join(lines))
    assert case.sources["format"].to_list() == ["journal_log"]
    assert case.events.select("line", "line_end", "rule_id", "host", "pid").rows() == [
        (1, 1, "kernel.xid", "node7", 4711),
        (2, 2, "kernel.xid", "node7", 4711),
        (6, 6, "cuda.out_of_memory", "node7", 88),
        (7, 7, "python.exception", "node7", None),
    ]
    assert set(case.events["time_utc"]) == {at("2026-10-01 10:00:07.123456")}
    assert case.tables.stamps.filter(pl.col("line") == 2)["clock_us"].to_list() == [1790848807123456, 99]
    assert case.sources["notices"][0].to_list()[:2] == [
        "2 journal records have no message (it was too big, or none was kept).",
        "1 journal records stand there more than once; they were read once.",
    ]


def test_boots_of_a_journal_have_clocks_of_their_own(read_file: ReadFile) -> None:
    case = read_file("\n".join([journal(XID), journal(XID, "s=2", _BOOT_ID="00000000000000000000000000000002")]))
    clocks = set(case.tables.clocks["clock_id"])
    assert len(clocks) == 3
    assert sum("monotonic" in clock for clock in clocks) == 2


def test_journal_export(read_file: ReadFile) -> None:
    record = ["__CURSOR=s=1", "__REALTIME_TIMESTAMP=1790848807123456", "_TRANSPORT=kernel", "_HOSTNAME=node7"]
    case = read_file("\n".join([*record, "MESSAGE=boot", "", *record, f"MESSAGE={XID}", "PRIORITY=4", ""]))
    assert case.sources["format"].to_list() == ["journal_log"]
    assert case.events.select("line", "rule_id", "host", "time_utc").rows() == [
        (11, "kernel.xid", "node7", at("2026-10-01 10:00:07.123456"))
    ]


AGENTS = [
    {"level": "warn", "msg": XID, "time": "2026-10-01T10:00:07Z"},
    {"level": "warn", "ts": 1790848807.0, "message": XID, "hostname": "node7"},
    {"log": XID + "\n", "stream": "stdout", "time": "2026-10-01T10:00:07Z", "kubernetes": {"pod": "a"}},
    {"severity": "ERROR", "timestamp": "2026-10-01T12:00:07+02:00", "message": XID},
    {"lvl": "eror", "ts": 1790848807000, "event": XID},
]


@pytest.mark.parametrize("document", AGENTS, ids=",".join)
@pytest.mark.parametrize("prefix", ["", "2026-10-01T10:00:09Z "])
def test_agents_that_log_json(read_file: ReadFile, document: dict[str, object], prefix: str) -> None:
    lines = [prefix + json.dumps(document | {"n": n}) for n in (1, 2)]
    case = read_file("\n".join(lines))
    assert case.events.select("line", "rule_id", "component").rows() == [
        (1, "kernel.xid", "kernel"),
        (2, "kernel.xid", "kernel"),
    ]
    assert case.events["time_utc"][0] == at(f"2026-10-01 10:00:0{9 if prefix else 7}")


def test_half_characters_in_json_reach_no_table(read_file: ReadFile) -> None:
    for prefix in ("", "2026-10-01T10:00:09Z "):
        document = (
            '{"level":"error","time":"2026-10-01T10:00:00Z","host":"\\ud800","msg":"\\ud83d\\ude00 \\ud800 '
            + OOM
            + '"}'
        )
        case = read_file(f"{prefix}{document}\n{prefix}{document}\n")
        assert case.events["rule_id"].to_list() == ["cuda.out_of_memory"] * 2


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"prompt": XID, "completion": OOM}),
        json.dumps({"id": 7, "text": f"what does {XID} mean"}),
        json.dumps([XID]),
    ],
)
def test_json_that_is_data_is_no_log(read_file: ReadFile, line: str) -> None:
    assert read_file(f"{line}\n{line}\n").events.height == 0


def test_reltime_differences_add_up_and_start_anew_with_each_minute(read_file: ReadFile) -> None:
    case = read_file(
        f"[Apr23 10:15] Linux version 6.8\n[  +1.500000] usb\n[  +0.000844] {XID}\n[  +2.000000] {XID}\n[Apr23 10:17] {XID}\n"
    )
    assert case.sources["format"].to_list() == ["kernel_log"]
    assert case.events.select("line", "clock_id", "clock_us").rows() == [
        (3, "s0:monotonic:from minute 1", 1_500_844),
        (4, "s0:monotonic:from minute 1", 3_500_844),
        (5, "s0:monotonic:from minute 2", 0),
    ]


def test_kmsg_facilities_and_dictionary_lines(read_file: ReadFile) -> None:
    case = read_file(
        f"4,1234,5678901,-;{XID}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:c6:00.0\n12,1235,5678902,-;quoting x: {XID}\n"
    )
    assert case.events.select("line", "component", "clock_us").rows() == [(1, "kernel", 5_678_901)]
