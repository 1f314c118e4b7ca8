import json
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import nbformat
import pypdfium2
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from sample_notebook import (
    HOSTILE_LINES,
    META,
    code,
    findings_bundle,
    make_executed,
    notebook,
    png,
    shown,
    svg,
    table_bundle,
    thermal,
)

from crashlens.errors import UnknownTimeZoneError
from crashlens.report.exporter import CrashlensPDFExporter


def export(nb: NotebookNode, name: str = "incident") -> bytes:
    pdf, resources = CrashlensPDFExporter().from_notebook_node(nb, {"metadata": {"name": name}})
    assert resources["output_extension"] == ".pdf"
    return pdf


def pages(pdf: bytes) -> list[str]:
    return [page.get_textpage().get_text_range().replace("\r\n", "\n") for page in pypdfium2.PdfDocument(pdf)]


def flat(pdf: bytes) -> str:
    """All text of the document, without the line ends that the layout put in."""
    return re.sub(r"\s+", " ", " ".join(pages(pdf)))


@pytest.fixture(scope="module")
def made() -> bytes:
    return export(make_executed())


def test_the_title_page_names_the_case_and_says_that_it_is_made_up(made: bytes) -> None:
    title = re.sub(r"\s+", " ", pages(made)[0])
    for words in (
        "Audit of one incident",
        META["title"],
        "Prepared for Example Cluster Operations 주식회사",
        "2026-10-01 17:30:00 to 18:10:00 +09:00, end not included",
        "2026-12-01 19:00:00 +09:00",
        "Asia/Seoul",
        "crashlens 0.1.0",
        "Synthetic sample: made-up data",
        "also states what the evidence cannot decide",
    ):
        assert words in title


def test_the_findings_stand_on_the_title_page_with_verdict_and_page(made: bytes) -> None:
    title = re.sub(r"\s+", " ", pages(made)[0])
    assert re.search(r"F-01 Thermal slowdown of one GPU Supported \d", title)
    assert re.search(r"F-02 Collective timeout Undecided \d", title)


def test_everything_a_finding_holds_is_printed(made: bytes) -> None:
    text = flat(made)
    for words in (
        thermal().summary,
        "How the records relate The thermal slowdown of GPU 3 lowered its SM clock.",
        "thermal.slowdown",
        f"Fingerprint {thermal().fingerprint}",
        "2026-10-01 09:00:00 to 09:10:00 UTC, end not included",
        "node17",
        "tokens_per_s run 55,321 40,980 0.7408 0.731 – 0.752 600 / 598 block bootstrap, 30 s blocks, seed 7",
        "sm_clock_mhz GPU 3 1,755 1,110 0.632 too few values 600 / 4 medians",
        "First telemetry/node17.csv:3312",
        "Downstream logs/train.log:90412 train.step",
        "Speaks against logs/dmesg:77 kernel.thermal",
        "2026-10-01 09:00:12.004 UTC",
        "time unknown",
        "first sample with the thermal bit",
        "[rank3]: step 4211 | loss 2.113 | step_time 1.92 s | tokens/s 41,022",
        "What this does not prove • That the fan or the room is at fault.",
        "Unknown • Memory temperature: not collected in any source.",
        "Software power cap: power draw at the enforced limit and bit 0x4",
        "1 Is the inlet air of node17 warmer than that of its neighbours?",
        "ipmitool -H node17-bmc sdr type Temperature",
        "Expect an inlet above 35 °C speaks for the room",
        "Otherwise a normal inlet speaks for this one board",
        "Thresholds used loaded_utilization_ratio = 0.5 (source: uncalibrated)",
        "Rules thermal_then_throughput",
    ):
        assert words in text, words
    assert text.replace(" ", "").count("GPU-5c1f6f2e-8a41-4a55-9b1c-000000000003") == 1


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("ansi", "\\x1b[31m[rank3] CUDA error\\x1b[0m"),
        ("typst", HOSTILE_LINES["typst"]),
        ("korean", HOSTILE_LINES["korean"]),
        ("chinese", HOSTILE_LINES["chinese"]),
        ("emoji", "training [U+1F525] step 4211 [U+1F680]"),
        ("rtl", "user\\u{202E}txt.exe"),
        ("surrogate", "bad byte [U+DCFF] here"),
        ("nul", "a\\x00b\\x07c"),
        ("combining", "Z[U+0351][U+036B]algo"),
        ("arabic", "[U+062E][U+0637][U+0623] error"),
    ],
)
def test_no_character_breaks_the_page_or_goes_unseen(made: bytes, name: str, seen: str) -> None:
    assert f"logs/{name}.log" in flat(made)
    assert seen in flat(made)


def test_a_long_token_loses_nothing_and_stays_on_the_page(made: bytes) -> None:
    assert HOSTILE_LINES["long"] in re.sub(r"\s+", "", flat(made))


def test_code_html_stack_traces_and_stderr_do_not_appear(made: bytes) -> None:
    text = flat(made)
    for word in ("SECRET_CODE_CELL", "<b>HTML", "alert(1)", "STACK_TRACE_LINE", "NOISE_ON_STDERR", "Out[", "In ["):
        assert word not in text


def test_other_outputs_are_laid_out(made: bytes) -> None:
    text = flat(made)
    for words in (
        "Attention No step times were collected.",
        "SM clock of eight GPUs",
        "SM clock 온도 [U+1F525]",  # a label inside the drawing
        "GPU 3 in colour.",
        "Sources What was read, and how. Path Lines Zone",
        "4 more rows are not shown.",
        "second half",
        "Text from Markdown output.",
        "shape: (3, 2)",
        "A step of the notebook failed ValueError: bad #value",
        "raw $block #panic()",
    ):
        assert words in text, words
    assert text.count("unknown") >= 30  # the cells of the table that are not known


def test_the_document_can_be_navigated(made: bytes) -> None:
    document = pypdfium2.PdfDocument(made)
    assert [(entry.level, entry.get_title()) for entry in document.get_toc()] == [
        (0, "1 Summary"),
        (0, "2 Findings"),
        (1, "F-01 Thermal slowdown of one GPU"),
        (1, "F-02 Collective timeout"),
        (0, "3 The window on one time axis"),
        (0, "4 Sources and versions"),
        (1, "A level was skipped here"),
    ]
    assert document.get_metadata_value("Title") == META["title"]
    assert document.is_tagged()
    for number, text in enumerate(pages(made), start=1):
        assert f"Page {number} of {len(document)}" in text


def test_a_table_does_not_repeat_the_heading_it_stands_under() -> None:
    nb = notebook(
        new_markdown_cell("# Sources\n\n# More"),
        code("t", shown(table=table_bundle())),
        new_markdown_cell("# sources"),
        code("t", shown(table=table_bundle())),
    )
    text = flat(export(nb))
    assert "2 More Sources What was read, and how. Path" in text
    assert "3 sources What was read, and how. Path" in text


def test_the_header_row_of_a_long_table_repeats() -> None:
    pdf = export(notebook(new_markdown_cell("# T"), code("t", shown(table=table_bundle(90)))))
    with_rows = [text for text in pages(pdf) if "train.log" in text]
    assert len(with_rows) >= 2
    assert all("Path Lines Zone" in " ".join(text.split()) for text in with_rows)


def test_another_process_makes_the_same_bytes(made: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_text(json.dumps(make_executed()), encoding="utf-8")
    script = (
        "import json, sys; from crashlens.report.document import read_document; from crashlens.report.typeset import typeset;"
        "sys.stdout.buffer.write(typeset(read_document(json.load(open(sys.argv[1], 'rb')), name='incident')))"
    )
    again = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.ipynb")], capture_output=True, check=True
    ).stdout
    assert again == made


def test_any_notebook_becomes_a_document() -> None:
    nb = notebook(new_markdown_cell("Only words, no heading."), code("1", shown(plain="3 rows")))
    text = flat(export(nb, "my-notes"))
    assert "my-notes" in text
    assert "Only words, no heading." in text
    assert "crashlens" not in text  # it was not made by crashlens and does not say so
    assert flat(export(notebook())).startswith("incident")


def test_the_title_of_a_plain_notebook_is_its_first_heading() -> None:
    document = pypdfium2.PdfDocument(export(notebook(new_markdown_cell("# A *first* heading\n\ntext\n\n## Part"))))
    assert document.get_metadata_value("Title") == "A first heading"


def test_a_korean_document_has_korean_labels() -> None:
    nb = notebook(
        new_markdown_cell("# 요약\n\n글"), code("f", shown(findings=findings_bundle())), **{**META, "lang": "ko"}
    )
    text = flat(export(nb))
    for words in ("의뢰인", "조사 결과 요약", "이것이 증명하지 않는 것", "뒷받침됨", "쪽 중 1쪽"):
        assert words in text


@pytest.mark.parametrize(
    ("output", "seen"),
    [
        (shown(svg="<svg this is not xml"), "A picture of the notebook cannot be shown"),
        (shown(png="bm90IGEgcG5n"), "A picture of the notebook cannot be shown"),
        (shown(png="iVBORw0KGgo="), "A picture of the notebook cannot be shown"),
        (shown(chart={"title": "no drawing"}), "An output of the notebook cannot be shown"),
        (shown(findings={"findings": "none"}), "An output of the notebook cannot be shown"),
        (
            shown(
                findings={
                    "findings": [{"cause": 3, "evidence": [None, {"line": "x"}], "effects": [{}], "next_checks": [{}]}]
                }
            ),
            "F-01 3",
        ),
        (shown(findings={"findings": []}), "No findings."),
        (shown(table={"columns": []}), "An output of the notebook cannot be shown"),
        (
            shown(
                table={
                    "columns": [{"label": "a", "width": 1e400}, {"label": "b"}],
                    "rows": [["1"], ["2", "3", "4"], 5],
                    "more": 1e400,
                }
            ),
            "a b 1 unknown 2 3",
        ),
    ],
)
def test_damaged_outputs_become_a_remark(output: NotebookNode, seen: str) -> None:
    nb = nbformat.from_dict({"cells": [code("x", output)], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert seen in flat(export(nb))


def test_one_broken_picture_leaves_the_others() -> None:
    good = shown(chart={"title": "good", "caption": "", "alt": "x"}, svg=svg("still here"))
    text = flat(export(notebook(code("a", shown(svg="<svg><broken"), good, shown(png=png())))))
    assert "A picture of the notebook cannot be shown" in text
    assert "still here" in text


def test_a_zone_that_is_not_known_is_named() -> None:
    with pytest.raises(UnknownTimeZoneError, match="Asia/Soul"):
        export(notebook(new_markdown_cell("# x"), **{**META, "show_tz": "Asia/Soul"}))


@pytest.mark.parametrize("written", ["# a\n### b\n# c\n#### d\n##### e", "### only deep", "###### x\n# y\n###### z"])
def test_heading_levels_start_at_one_and_never_skip(written: str) -> None:
    levels = [entry.level for entry in pypdfium2.PdfDocument(export(notebook(new_markdown_cell(written)))).get_toc()]
    assert levels[0] == 0
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_the_exporter_is_registered_and_listed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entry = project["entry-points"]["nbconvert.exporters"]["crashlens-pdf"]
    assert entry == f"{CrashlensPDFExporter.__module__}:{CrashlensPDFExporter.__name__}"
    assert CrashlensPDFExporter().file_extension == ".pdf"
    assert CrashlensPDFExporter.output_mimetype == "application/pdf"
    assert CrashlensPDFExporter.export_from_notebook
