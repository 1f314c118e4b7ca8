import polars as pl

from crashlens.sources.turns import LONGEST_TEXT, RULE, TurnFinder


def samples(*rows: tuple[str, int, int | None, int | None]) -> pl.DataFrame:
    schema = {"gpu_key": pl.String, "line": pl.UInt32, "clock_us": pl.Int64, "clocks_event_reasons": pl.UInt64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def turns(*blocks: pl.DataFrame) -> list[tuple[object, ...]]:
    finder = TurnFinder()
    for block in blocks:
        finder.note(block, pl.Series([f"line {line}" for line in block["line"]], dtype=pl.String))
    found = []
    for row in finder.rows():
        fields = {one["key"]: one["value"] for one in row["fields"]}  # type: ignore[union-attr, index]
        found.append((row["gpu_key"], fields["reason_class"], fields["edge"], row["line"], fields["mask"], row["text"]))
    return sorted(found)


SW_POWER_CAP, HW_THERMAL = 0x4, 0x40  # NVML API reference, NvmlClocksEventReasons


def test_the_first_and_the_last_sample_of_a_reason_are_told() -> None:
    got = turns(samples(("a", 2, 10, 0), ("a", 3, 20, SW_POWER_CAP), ("a", 4, 30, SW_POWER_CAP), ("a", 5, 40, 0)))
    named = [row for row in got if row[4] == "0x4"]
    assert [(row[0], row[2], row[3], row[5]) for row in named] == [
        ("a", "first", 3, "line 3"),
        ("a", "last", 4, "line 4"),
    ]
    assert len({row[1] for row in named}) == 1


def test_one_sample_is_told_once() -> None:
    got = [row for row in turns(samples(("a", 3, 20, HW_THERMAL))) if row[4] == "0x40"]
    assert [row[2:4] for row in got] == [("first", 3)] * len({row[1] for row in got})


def test_gpus_are_kept_apart_and_blocks_are_joined() -> None:
    whole = samples(("a", 2, 10, 4), ("b", 3, 10, 4), ("a", 4, 20, 4), ("b", 5, 20, 64), ("a", 6, 30, 4))
    assert turns(whole) == turns(whole.slice(0, 2), whole.slice(2, 2), whole.slice(4))


def test_the_order_of_time_counts_and_not_that_of_lines() -> None:
    rows = turns(samples(("a", 2, 30, 4), ("a", 3, 10, 4), ("a", 4, 20, 4)))
    assert [(row[2], row[3]) for row in rows] == [("first", 3), ("last", 2)]


def test_unknown_masks_and_absent_columns_say_nothing() -> None:
    assert turns(samples(("a", 2, 10, None))) == []
    assert turns(samples(("a", 2, 10, 4)).drop("clocks_event_reasons")) == []


def test_several_records_of_one_line_are_numbered() -> None:
    finder = TurnFinder()
    finder.note(samples(("a", 2, 10, SW_POWER_CAP | HW_THERMAL)), pl.Series(["x"]))
    rows = finder.rows()
    assert len(rows) > 1
    assert [row["n"] for row in rows] == list(range(len(rows)))
    assert {row["rule_id"] for row in rows} == {RULE}


def test_a_secret_at_the_place_of_the_cut_is_masked() -> None:
    token = "hf_" + "Zq7Xw2Lm9Kp4Vt8R" * 2
    for before in range(LONGEST_TEXT - 30, LONGEST_TEXT):
        finder = TurnFinder()
        finder.note(samples(("a", 2, 10, 4)), pl.Series(["x" * (before - 1) + " " + token]))
        assert all("Zq7Xw" not in str(row["text"]) and len(str(row["text"])) <= LONGEST_TEXT for row in finder.rows())
