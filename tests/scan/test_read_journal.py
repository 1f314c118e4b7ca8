"""The journal with one field per line: pretty JSON, the export format with fields that are no text, and verbose."""

import json
import struct
from collections.abc import Callable

import polars as pl

import crashlens as cl
from crashlens.scan.normalise import wrapping_of

ReadFile = Callable[[str | bytes], cl.Case]
XID = "NVRM: Xid (PCI:0000:c6:00): 79, pid=4711, name=python, GPU has fallen off the bus."
TRACEBACK = (
    'Traceback (most recent call last):\n  File "/w/t.py", line 3, in <module>\n    main()\nValueError: bad shape'
)
US = 1790848807123456  # 2026-10-01 10:00:07.123456 UTC
FIELDS = {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": str(US), "_TRANSPORT": "kernel", "_HOSTNAME": "node7"}


def pretty(message: object) -> str:
    lines = [f'\t"{key}" : {json.dumps(value)}' for key, value in FIELDS.items()]
    if isinstance(message, list):
        numbers = ",\n".join(f"\t\t{number}" for number in message)  # pyright: ignore[reportUnknownVariableType]
        lines.append(f'\t"MESSAGE" : [\n{numbers}\n\t]')
    else:
        lines.append(f'\t"MESSAGE" : {json.dumps(message)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def export(message: bytes, *, plain: bool) -> bytes:
    head = b"".join(f"{key}={value}\n".encode() for key, value in FIELDS.items())
    if plain:
        return head + b"MESSAGE=" + message + b"\n\n"
    return head + b"MESSAGE\n" + struct.pack("<Q", len(message)) + message + b"\n\n"


def found(case: cl.Case) -> list[tuple[object, ...]]:
    assert case.sources["format"].to_list() == ["journal_log"]
    return case.events.with_columns(us=pl.col("time_utc").dt.timestamp("us")).select(
        "line", "line_end", "rule_id", "host", "us"
    ).rows()  # fmt: skip


def test_pretty_json(read_file: ReadFile) -> None:
    case = read_file(pretty("usb 1-1: new device") + pretty(XID))
    assert found(case) == [(13, 13, "kernel.xid", "node7", US)]
    assert [text.strip() for text in case.events["text"]] == [f'"MESSAGE" : "{XID}"']


def test_a_message_of_bytes_in_pretty_json_begins_where_its_array_begins(read_file: ReadFile) -> None:
    case = read_file(pretty(list(XID.encode() + b"\xff")))
    assert found(case) == [(6, 7 + len(XID) + 1, "kernel.xid", "node7", US)]


def test_what_is_no_record_of_pretty_json_is_passed_on(read_file: ReadFile) -> None:
    case = read_file(pretty("x") + "{\n" + pretty(XID) + '{\n\t"MESSAGE" : "cut')
    assert [row[:3] for row in found(case)] == [(14, 14, "kernel.xid")]
    assert case.sources["notices"][0].to_list()[-1] == "3 lines are of no whole journal record."


def test_fields_of_an_export_that_hold_no_text(read_file: ReadFile) -> None:
    first, second = export(XID.encode() + b" \xff", plain=False), export(TRACEBACK.encode(), plain=False)
    second = second.replace(b"_TRANSPORT=kernel", b"_TRANSPORT=stdout")
    case = read_file(export(b"boot", plain=True) + first + second)
    assert [row[:3] for row in found(case)] == [(12, 12, "kernel.xid"), (19, 22, "python.exception")]


def test_an_export_field_with_a_line_end_in_its_length(read_file: ReadFile) -> None:
    message = XID.encode().ljust(0x0A0A, b".")  # both low bytes of the length are line ends
    case = read_file(export(message, plain=False) + export(XID.encode(), plain=True))
    assert [row[2] for row in found(case)] == ["kernel.xid", "kernel.xid"]


def test_a_length_that_does_not_fit_costs_the_field(read_file: ReadFile) -> None:
    broken = export(XID.encode(), plain=False).replace(struct.pack("<Q", len(XID)), struct.pack("<Q", 3))
    case = read_file(broken + export(XID.encode(), plain=True))
    assert [row[2] for row in found(case)][-1] == "kernel.xid"
    assert case.sources["notices"][0].to_list()[0] == "1 lines are no field of a journal record."


VERBOSE = f"""-- Logs begin at Thu 2026-10-01 08:00:00 UTC, end at Thu 2026-10-01 11:00:00 UTC. --
Thu 2026-10-01 10:00:07.123456 UTC [s=ab;i=1;b=0f;m=171;t={US:x};x=1]
    _TRANSPORT=kernel
    _HOSTNAME=node7
    MESSAGE={XID}
    PRIORITY=3
Thu 2026-10-01 19:00:08.123456 KST [s=ab;i=2;b=0f;m=172;t={US + 1_000_000:x};x=1]
    _TRANSPORT=stdout
    _HOSTNAME=node7
    SYSLOG_IDENTIFIER=python3
    MESSAGE=Traceback (most recent call last):
              File "/w/t.py", line 3, in <module>
                main()
            ValueError: bad shape
    _PID=812
"""


def test_verbose(read_file: ReadFile) -> None:
    case = read_file(VERBOSE)
    assert found(case) == [
        (5, 5, "kernel.xid", "node7", US),
        (11, 14, "python.exception", "node7", US + 1_000_000),
    ]
    assert case.events["pid"].to_list()[1] == 812


def test_indented_lines_alone_are_no_journal() -> None:
    assert wrapping_of(b"a:\n" + b"    KEY=value\n" * 20) is None
