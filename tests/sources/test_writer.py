import polars as pl

from crashlens.schemas import Column, Schema
from crashlens.sources.writer import SHOWN_UNREAD, ReadOptions, TableWriter

SCHEMA = Schema(
    "t", (Column("source_id", pl.UInt32, "a"), Column("line", pl.UInt32, "b"), Column("x", pl.Float64, "c"))
)


def writer() -> TableWriter:
    return TableWriter(7, ReadOptions(), {"t": SCHEMA})


def test_rows_carry_their_source_and_conform() -> None:
    out = writer()
    out.rows("t", pl.DataFrame({"line": [1, 2], "other": ["a", "b"]}))
    (frame,) = out.frames["t"]
    assert frame.schema == pl.Schema(SCHEMA.polars())
    assert frame.rows() == [(7, 1, None), (7, 2, None)]


def test_no_rows_leave_no_table() -> None:
    out = writer()
    out.rows("t", pl.DataFrame({"line": []}))
    assert out.frames == {}


def test_a_notice_is_said_once() -> None:
    out = writer()
    for sentence in ("a.", "b.", "a."):
        out.notice(sentence)
    assert out.all_notices() == ["a.", "b."]


def test_the_first_unread_lines_are_named_and_the_rest_counted() -> None:
    out = writer()
    for line in range(1, 1240):
        out.unread(line, "no number")
    assert out.all_notices() == [
        *(f"Line {line} was not read: no number." for line in range(1, SHOWN_UNREAD + 1)),
        "1,236 more lines were not read.",
    ]
