from crashlens.timebase import Window
from crashlens.views.scope import extent, file_counts, scope_view


def test_the_scope_says_what_the_conclusions_rest_on(made) -> None:
    samples = [made.sample(gpu, second) for second in (0, 5, 10, 15, 55) for gpu in range(2)]
    case = made.tables(
        samples,
        [made.event(2, 8, 30.0, "kernel.xid", host="node07")],
        [made.step(1, 1.0, 9.0), made.step(1, 1.0, 9.0, rank=1)],
    )
    table = scope_view(case, Window(made.start, made.after(600)), "UTC")
    assert table.rows == (
        ("Window asked for", "2026-10-01 08:00:00 UTC / 2026-10-01 08:10:00 UTC (10 min)"),
        ("Files", "2 read, 1 read in part, 0 not read, 0 skipped"),
        ("Dated evidence", "2026-10-01 08:00:00 UTC to 2026-10-01 08:00:55 UTC"),
        ("Hosts", "node07"),
        ("GPUs", "2 (not stated)"),
        ("Telemetry samples", "10, one per GPU every 5 s"),
        ("Longest gap in telemetry", "40 s"),
        ("Training steps", "1"),
        ("Log records", "1"),
        ("Times shown in", "UTC"),
    )


def test_what_is_not_placed_or_not_there_is_said(made) -> None:
    case = made.tables(
        [made.sample(0, 0.0, placed=False)], sources=[{"source_id": 0, "path": "x", "state": "not_read"}]
    )
    rows = dict(scope_view(case, None, "UTC").rows)
    assert rows["Reading"] == "Nothing was recognised in what was given; no conclusion can be drawn from it."
    assert rows["Window asked for"] == "none: everything that was read"
    assert rows["Dated evidence"] == "no record could be placed in UTC"
    assert rows["Records not placed in UTC"] == "1 of 1; they keep their order inside their own file only"
    assert rows["Hosts"] is None
    assert rows["Log records"] == "none read"


def test_extent_and_counts(made) -> None:
    case = made.tables([made.sample(0, 5.0), made.sample(0, 9.0, placed=False)])
    seen = extent(case)
    assert (seen.start, seen.end, seen.unplaced, seen.total) == (made.after(5), made.after(5), 1, 2)
    assert file_counts(case) == {"read": 2, "partly_read": 1, "not_read": 0, "skipped": 0}
