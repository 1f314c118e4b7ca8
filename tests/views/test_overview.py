from crashlens.views.overview import clocks_view, digests_view, sources_view, unmatched_view, versions_view


def test_every_file_is_listed_with_what_was_wrong(made) -> None:
    sources = [
        {
            "source_id": 0,
            "path": "b.csv",
            "format": "nvidia_smi_csv",
            "state": "read",
            "lines": 1234,
            "zone": "UTC",
            "zone_from": "given",
            "notices": [],
        },
        {"source_id": 1, "path": "a.bin", "state": "not_read", "notices": ["It is a PDF.", "Second."]},
        {
            "source_id": 2,
            "path": "c.log",
            "format": "job_log",
            "state": "read",
            "lines": 3,
            "zone_from": "offset in file",
            "notices": [f"n{i}" for i in range(7)],
        },
    ]
    assert sources_view(made.tables(sources=sources)).rows == (
        ("a.bin", "not recognised", None, "not read", "no zone", "It is a PDF.\nSecond."),
        ("b.csv", "nvidia_smi_csv", "1,234", "read", "UTC (given)", "none"),
        (
            "c.log",
            "job_log",
            "3",
            "read",
            "offset in file",
            "n0\nn1\nn2\nn3\nn4\n2 more notices stand in the table sources.",
        ),
    )


def test_a_file_that_could_not_be_read_has_no_digest(made) -> None:
    sources = [{"source_id": 0, "path": "a", "sha256": "ab" * 32, "bytes": 2048}, {"source_id": 1, "path": "b"}]
    assert digests_view(made.tables(sources=sources)).rows == (("a", "ab" * 32, "2,048 B"), ("b", None, None))


def test_a_clock_says_how_it_was_placed(made) -> None:
    case = made.tables()
    clocks = case.clocks.with_columns(
        method=case.clocks["kind"].replace_strict({"local": "none", "utc": "offset in file"})
    )
    rows = clocks_view(type(case)(**{name: getattr(case, name) for name in case.names()} | {"clocks": clocks})).rows
    assert rows == (
        ("kern.log", "UTC", "offset in the file", "none", "9", "1-9", None),
        ("telemetry.csv", "local time", "not placed", "no zone", "96", "2-97", None),
        ("train.log", "UTC", "offset in the file", "none", "40", "1-40", None),
    )


def test_versions_keep_their_order() -> None:
    table = versions_view([("rules/kernel.toml", "ab" * 32, 7), ("catalog/xids.toml", "cd" * 32, 1200)])
    assert table.rows == (("rules/kernel.toml", "ab" * 32, "7"), ("catalog/xids.toml", "cd" * 32, "1,200"))
    assert versions_view([]).rows == ()


def test_lines_that_no_rule_knows_are_listed_by_what_they_say(made) -> None:
    def templates(*rows: tuple[str, int, int]) -> list[dict[str, object]]:
        return [{"template": text, "lines": lines, "first_line": first} for text, lines, first in rows]

    tables = made.tables(
        sources=[
            {"source_id": 0, "path": "a.log", "lines_error_like": 5, "lines_harmless": 1200, "error_templates": templates(("disk <n> failed", 5, 3))},
            {"source_id": 1, "path": "b.log", "lines_error_like": 9, "lines_harmless": 0, "error_templates": templates(("rank <n> failed", 7, 1), ("no link, error", 2, 8))},
            {"source_id": 2, "path": "c.csv", "lines_error_like": None, "lines_harmless": None, "error_templates": None},
        ]
    )  # fmt: skip
    table = unmatched_view(tables)
    assert table.rows == (
        ("b.log:1", "7", "rank <n> failed"),
        ("a.log:3", "5", "disk <n> failed"),
        ("b.log:8", "2", "no link, error"),
    )
    assert table.caption.startswith(
        "Lines with an error word that no rule knows: 14 (in files: 2). Lines whose error word"
    )
    assert ": 1,200." in table.caption


def test_a_case_without_error_words_says_none(made) -> None:
    table = unmatched_view(
        made.tables(sources=[{"source_id": 0, "path": "a.log", "lines_error_like": 0, "lines_harmless": 0}])
    )
    assert (table.rows, table.caption.split(":")[1].split(".")[0]) == ((), " none")
