from crashlens.views import mime
from crashlens.views.case_view import case_bundle, case_html, case_text

SOURCES = [
    {
        "source_id": 0,
        "path": "telemetry.csv",
        "format": "nvidia_smi_csv",
        "state": "read",
        "lines": 97,
        "bytes": 4096,
        "notices": [],
    },
    {"source_id": 1, "path": "core\x1b.bin", "state": "not_read", "bytes": 9, "notices": ["It is a program.", "more"]},
]


def test_a_case_says_what_was_read_what_was_not_and_what_it_decides(made) -> None:
    case = made.tables(made.run(gpus=2, polls=3), sources=SOURCES)
    assert case_text(case, made.coverage).split("\n") == [
        "1 file read: 97 lines, 4.0 KiB.",
        "Tables: samples 6, gpus 2, clocks 3.",
        "Time: 2026-10-01 08:00:00 UTC to 2026-10-01 08:00:10 UTC.",
        "Not read or read in part",
        "  - core␛.bin: not read. It is a program.",
        "What the evidence can decide",
        "  - thermal: yes",
        "  - memory heat: no (missing: memory_temperature_c (not supported), sm_clock_mhz (in part, 52.0% of",
        "    samples))",
    ]


def test_a_case_in_which_nothing_was_recognised_says_so_first(made) -> None:
    case = made.tables(sources=SOURCES[1:])
    assert case_text(case, made.coverage.clear()).split("\n") == [
        "Nothing was recognised in what was given; no conclusion can be drawn from it.",
        "Not read or read in part",
        "  - core␛.bin: not read. It is a program.",
        "What the evidence can decide",
        "  - What it can decide was not measured.",
    ]


def test_html_says_the_same_and_escapes(made) -> None:
    case = made.tables(sources=[{**SOURCES[1], "path": "<b>.bin"}])
    html = case_html(case, made.coverage)
    assert "&lt;b&gt;.bin: not read. It is a program." in html
    assert "memory heat: no" in html


def test_many_files_are_counted(made) -> None:
    many = [{"source_id": number, "path": f"f{number:02}", "state": "not_read", "notices": []} for number in range(20)]
    assert "  - 8 more: see the table sources." in case_text(made.tables(sources=many), made.coverage)


def test_times_that_are_not_placed_are_said(made) -> None:
    case = made.tables([made.sample(0, 0.0, placed=False)], sources=SOURCES[:1])
    text = case_text(case, made.coverage)
    assert "Time: no record could be placed in UTC." in text
    assert "1 of 1 records keep their order inside their own file only; give tz= (--tz) to place them." in text


def test_the_report_gets_it_as_a_table(made) -> None:
    made_bundle = case_bundle(made.tables(made.run(), sources=SOURCES), made.coverage)
    assert [row[0] for row in made_bundle[mime.TABLE]["rows"]] == [
        "Read",
        "Not read or read in part",
        "What the evidence can decide",
    ]
    assert set(made_bundle) == {mime.TABLE, "text/plain", "text/html"}


def test_what_no_rule_knows_is_said_in_short(made) -> None:
    said = [
        {"template": f"{word} <n> failed", "lines": 9 - at, "first_line": at + 1}
        for at, word in enumerate(("disk", "rank\x1b", "link", "fan"))
    ]
    rows = [SOURCES[0] | {"lines_error_like": 30, "lines_harmless": 0, "error_templates": said}]
    text = case_text(made.tables(made.run(gpus=1, polls=1), sources=rows), made.coverage).split("\n")
    start = text.index("Not understood")
    assert text[start : start + 9] == [
        "Not understood",
        "  - Lines with an error word that no rule knows: 30 (in files: 1).",
        "  - telemetry.csv:1 (9×)",
        "    | disk <n> failed",
        "  - telemetry.csv:2 (8×)",
        "    | rank␛ <n> failed",
        "  - telemetry.csv:3 (7×)",
        "    | link <n> failed",
        "  - 1 more: see case.unmatched() or error_templates in the table sources.",
    ]
