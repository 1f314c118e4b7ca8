from datetime import UTC, datetime

import polars as pl
import pytest

from crashlens.errors import MissingColumnError
from crashlens.views import mime
from crashlens.views.tables import Shown, Table, table_of

FRAME = pl.DataFrame(
    {
        "host": ["node<01>", None, "node03"],
        "power_draw_w": [699.5, None, 0.0],
        "time_utc": [datetime(2026, 10, 1, 8, tzinfo=UTC), None, None],
    }
)
SHOWN = {"host": Shown("Host", mono=True), "power_draw_w": Shown("Power"), "time_utc": Shown("When", width=2)}


def test_a_frame_becomes_text_with_units_and_a_null_stays_one() -> None:
    got = table_of(FRAME, SHOWN, title="Power", caption="Read it so.", show_tz="Asia/Seoul").to_json()
    assert got == {
        "title": "Power",
        "caption": "Read it so.",
        "columns": [
            {"label": "Host", "align": "left", "mono": True, "width": None},
            {"label": "Power", "align": "right", "mono": False, "width": None},
            {"label": "When", "align": "left", "mono": False, "width": 2},
        ],
        "rows": [
            ["node<01>", "699.5 W", "2026-10-01 17:00:00 +09:00"],
            [None, None, None],
            ["node03", "0 W", None],
        ],
        "more": 0,
    }


def test_a_missing_value_is_shown_as_unknown_and_a_zero_as_zero() -> None:
    table = table_of(FRAME, SHOWN, title="Power")
    assert str(table).split("\n")[2:] == [
        "Host        Power  When",
        "node<01>  699.5 W  2026-10-01 08:00:00 UTC",
        "unknown   unknown  unknown",
        "node03        0 W  unknown",
    ]
    html = table._repr_mimebundle_()["text/html"]
    assert html.count('<span class="cl-unknown">unknown</span>') == 4
    assert "node&lt;01&gt;" in html


def test_rows_that_are_left_out_are_counted() -> None:
    table = table_of(FRAME, SHOWN, title="Power", most=1)
    assert (len(table.rows), table.more) == (1, 2)
    assert str(table).endswith("2 more rows are not shown.")
    assert "2 more rows are not shown." in table.to_html()


def test_a_column_that_is_not_there_raises() -> None:
    with pytest.raises(MissingColumnError):
        table_of(FRAME, {"rank": Shown("Rank")}, title="Ranks")


def test_a_wide_table_is_stacked_in_a_terminal_and_controls_are_shown() -> None:
    table = Table("T", "", (Shown("A"), Shown("B")), (("x" * 100, "y\x1b" + "y" * 100),))
    lines = str(table).split("\n")
    assert lines[2] == "A  " + "x" * 100
    assert lines[3] == "B  y␛" + "y" * 100


def test_a_table_carries_its_json() -> None:
    assert table_of(FRAME, SHOWN, title="Power")._repr_mimebundle_()[mime.TABLE]["rows"][2][1] == "0 W"
