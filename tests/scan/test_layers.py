"""Envelopes in front of a line that people and their tools put there: what each says, and that the message is found."""

import json
from collections.abc import Callable

import pytest

import crashlens as cl
from crashlens.scan.envelope import peel

ReadFile = Callable[[str], cl.Case]
XID = "NVRM: Xid (PCI:0000:c6:00): 79, GPU has fallen off the bus."
STAMPED = f"Jan 25 10:34:54 node7 kernel: {XID}"


@pytest.mark.parametrize(
    "line",
    [
        f"kern.log:{STAMPED}",  # grep in several files
        f"/var/log/syslog.1.gz:{STAMPED}",  # zgrep
        f"/var/log/kern.log:12345:[ 8123.123456] {XID}",  # grep -n
        f"   812\t{STAMPED}",  # cat -n
        f"train.1.x7ab@node1    | {STAMPED}",  # docker service logs
        f"Jan 25 2026 10:34:54 node7 kernel: {XID}",
        f"2026 Jan 25 10:34:54 node7 kernel: {XID}",
        f"kernel: [8123.123456] {XID}",
        f"kernel: {XID}",
        f"[ 8123.1] {XID}",  # digits left out by a person
        f"[ 8123.123456] kernel: {XID}",
    ],
)
def test_a_record_of_the_kernel_behind_what_stands_in_front(line: str) -> None:
    peeled = peel(line)
    assert (peeled.component, peeled.message) == ("kernel", XID)


@pytest.mark.parametrize(
    "line",
    [
        f"see kern.log: {XID}",  # a sentence about a file
        f'raise RuntimeError("kernel: {XID}")',
        f"note: {XID}",
    ],
)
def test_what_only_mentions_a_record_of_the_kernel_is_none(line: str) -> None:
    assert peel(line).component == "process"


@pytest.mark.parametrize(
    ("prefix", "rank", "local_rank", "host"),
    [
        ("[3]<stderr>:", 3, None, None),  # Horovod
        ("[prterun-n1-811@1,3]<stderr>: ", 3, None, None),  # PRRTE
        ("2026-01-02T03:04:05.1Z [3]<stdout>:", 3, None, None),
        ("[trainer3]:", None, 3, None),  # torchrun --role trainer
        ("[rank: 3] ", 3, None, None),  # Lightning
        ("[RANK 3] ", 3, None, None),  # trlx
        ("[node-1:rank3] ", 3, None, "node-1"),
        ("node-0/rank-3: ", 3, None, None),
        ("2026-01-02 03:04:05,123 - rank3 - ERROR - ", 3, None, None),
        ("[2026-01-02 03:04:05,123] [ERROR] [rank 3] ", 3, None, None),
        ("18:11:06.680 [rank4]:", 4, None, None),
    ],
)
def test_ranks_of_launchers(prefix: str, rank: int | None, local_rank: int | None, host: str | None) -> None:
    peeled = peel(f"{prefix}ValueError: bad shape")
    assert (peeled.rank, peeled.local_rank, peeled.host) == (rank, local_rank, host)
    assert peeled.message == "ValueError: bad shape"


def test_a_time_of_day_alone_dates_nothing() -> None:
    assert peel("18:11:06.680 [rank4]: x").stamps == []


def test_files_that_grep_names_are_outputs_of_their_own() -> None:
    assert peel("rank3.log:ValueError: x").part == "rank3.log"
    assert peel("config.py:12: x").part is None


@pytest.mark.parametrize("payload", [{"textPayload": XID}, {"jsonPayload": {"message": XID, "n": 1}}])
def test_google_cloud_logging(read_file: ReadFile, payload: dict[str, object]) -> None:
    document = {"insertId": "a", "timestamp": "2026-10-01T10:00:07Z", "severity": "ERROR", **payload}
    case = read_file("\n".join([json.dumps(document)] * 2))
    assert case.events.select("line", "rule_id").rows() == [(1, "kernel.xid"), (2, "kernel.xid")]


def test_a_payload_without_a_message_is_data(read_file: ReadFile) -> None:
    document = {"timestamp": "2026-10-01T10:00:07Z", "severity": "ERROR", "jsonPayload": {"text": XID}}
    assert read_file("\n".join([json.dumps(document)] * 2)).events.height == 0


def test_a_log_that_is_quoted_as_a_whole_is_a_log(read_file: ReadFile) -> None:
    case = read_file(f"> {STAMPED}\n> Jan 25 10:34:55 node7 systemd[1]: x\n")
    assert case.events.select("line", "rule_id", "host").rows() == [(1, "kernel.xid", "node7")]


def test_a_quoted_line_among_others_is_a_quotation(read_file: ReadFile) -> None:
    assert read_file(f"it said\n> {STAMPED}\nand then nothing\n").events.height == 0


def test_hosts_in_front_of_kernel_records(read_file: ReadFile) -> None:
    case = read_file(f"n7: [ 8123.123456] {XID}\nn7: [ 8124.123456] usb 1-1: x\n")
    assert case.events.select("line", "rule_id", "host").rows() == [(1, "kernel.xid", "n7")]
