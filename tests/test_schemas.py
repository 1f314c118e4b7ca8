import polars as pl
import pyarrow as pa
import pytest

from crashlens.errors import MissingColumnError
from crashlens.schemas import BASE_SCHEMAS, SCHEMA_VERSION, Column, Schema, Tables, need
from crashlens.sources.reading import table_schemas

TWO = Schema("two", (Column("a", pl.Int32, "first", "s"), Column("b", pl.String, "second")))


def test_there_is_one_schema_per_table() -> None:
    assert tuple(table_schemas()) == tuple(BASE_SCHEMAS)
    assert set(BASE_SCHEMAS) == set(Tables.names())
    assert all(schema.name == name for name, schema in BASE_SCHEMAS.items())


@pytest.mark.parametrize("name", Tables.names())
def test_every_column_has_a_meaning_and_no_name_stands_twice(name: str) -> None:
    columns = table_schemas()[name].columns
    assert len({column.name for column in columns}) == len(columns)
    assert [column.name for column in columns if not column.meaning] == []


def test_rows_may_leave_columns_out() -> None:
    assert TWO.frame([{"b": "x"}, {"a": 1}, {}]).rows() == [(None, "x"), (1, None), (None, None)]
    assert TWO.frame([]).schema == TWO.empty().schema == pl.Schema(TWO.polars())


def test_conform_orders_casts_and_fills() -> None:
    got = TWO.conform(pl.DataFrame({"z": [1], "b": ["x"], "a": pl.Series([7], dtype=pl.Int64)}))
    assert got.schema == pl.Schema({"a": pl.Int32, "b": pl.String})
    assert got.rows() == [(7, "x")]
    assert TWO.conform(pl.DataFrame({"b": ["x"]})).rows() == [(None, "x")]


def test_arrow_carries_unit_and_meaning() -> None:
    table = TWO.to_arrow(TWO.frame([{"a": 1, "b": "x"}]))
    assert isinstance(table, pa.Table)
    assert table.schema.field("a").metadata == {b"meaning": b"first", b"unit": b"s"}
    assert table.schema.metadata == {b"table": b"two", b"version": SCHEMA_VERSION.encode()}
    assert table.to_pylist() == [{"a": 1, "b": "x"}]


def test_more_columns_stand_behind() -> None:
    assert list(TWO.with_columns([Column("c", pl.Float64, "third")]).polars()) == ["a", "b", "c"]
    assert list(TWO.polars()) == ["a", "b"]


def test_need_names_what_is_absent_and_what_is_there() -> None:
    need(TWO.empty(), "a", "b")
    with pytest.raises(MissingColumnError) as caught:
        need(TWO.empty(), "a", "x", "y")
    assert str(caught.value).startswith("The table has no column x, y; nothing was measured.\n  columns  a, b\n")
