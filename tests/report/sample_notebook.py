"""An executed notebook made by hand: every kind of output, and text that tries to break the page."""

import base64
import struct
import zlib
from datetime import UTC, datetime
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from crashlens.findings import Alternative, Effect, Evidence, Finding, NextCheck, Place, Threshold
from crashlens.timebase import Window

WINDOW = Window(datetime(2026, 10, 1, 9, 0, tzinfo=UTC), datetime(2026, 10, 1, 9, 10, tzinfo=UTC))
REFERENCE = Window(datetime(2026, 10, 1, 8, 30, tzinfo=UTC), datetime(2026, 10, 1, 8, 40, tzinfo=UTC))

HOSTILE_LINES = {
    "ansi": "\x1b[31m[rank3] CUDA error\x1b[0m",
    "typst": '#panic("x") $1+1$ `raw` *bold* _it_ <label> @ref \\ // /* [',
    "korean": "오류: GPU 3번의 온도가 너무 높습니다 (93도)",
    "chinese": "显卡掉线 GPU 已从总线脱落",
    "emoji": "training 🔥 step 4211 🚀",
    "rtl": "user\u202etxt.exe",
    "surrogate": "bad byte \udcff here",
    "long": "/very/long/" + "checkpoint-" * 40 + "end.pt",
    "nul": "a\x00b\x07c",
    "combining": "Z\u0351\u036balgo",
    "arabic": "خطأ error",
}


def thermal() -> Finding:
    return Finding(
        id="F-01",
        cause="thermal.slowdown",
        verdict="supported",
        summary="GPU 3 of node17 reported a hardware thermal slowdown in 412 of 600 samples, and throughput was 0.74 of its reference.",
        causal="The thermal slowdown of GPU 3 lowered its SM clock.",
        first_event=Place("telemetry/node17.csv", 3312),
        evidence=(
            Evidence(
                Place("telemetry/node17.csv", 3312),
                "first",
                "2026/10/01 09:00:12.004, 3, GPU-5c1f, 93, 612.40 W, 1110 MHz, 0x0000000000000040",
                time_utc=datetime(2026, 10, 1, 9, 0, 12, 4000, tzinfo=UTC),
                note="first sample with the thermal bit",
            ),
            Evidence(
                Place("logs/train.log", 90412),
                "downstream",
                "[rank3]: step 4211 | loss 2.113 | step_time 1.92 s | tokens/s 41,022",
                rule_id="train.step",
                time_utc=datetime(2026, 10, 1, 9, 0, 31, tzinfo=UTC),
            ),
            Evidence(
                Place("logs/dmesg", 77), "counter", "thermal thermal_zone0: temperature 41 C", rule_id="kernel.thermal"
            ),
        ),
        does_not_prove=(
            "That the fan or the room is at fault.",
            "That the other seven GPUs would not slow down as well.",
        ),
        unknown=("Memory temperature: not collected in any source.",),
        next_checks=(
            NextCheck(
                "Is the inlet air of node17 warmer than that of its neighbours?",
                "ipmitool -H node17-bmc sdr type Temperature",
                "an inlet above 35 °C speaks for the room",
                "a normal inlet speaks for this one board",
            ),
            NextCheck(
                "Does the slowdown follow the board to another slot?",
                None,
                "it follows: the board",
                "it stays: the slot",
            ),
        ),
        window=WINDOW,
        hosts=("node17",),
        devices=("GPU-5c1f6f2e-8a41-4a55-9b1c-000000000003",),
        ranks=(3,),
        effects=(
            Effect(
                "tokens_per_s",
                55321.0,
                40980.0,
                0.7408,
                (0.731, 0.752),
                (REFERENCE, WINDOW),
                (600, 598),
                "block bootstrap, 30 s blocks",
                7,
                "run",
            ),
            Effect(
                "sm_clock_mhz", 1755.0, 1110.0, 0.632, None, (REFERENCE, WINDOW), (600, 4), "medians", None, "GPU 3"
            ),
        ),
        alternatives=(Alternative("power.cap", "power draw at the enforced limit and bit 0x4"),),
        rule_ids=("thermal_then_throughput",),
        thresholds=(Threshold("loaded_utilization_ratio", 0.5, "", "uncalibrated"),),
    )


def hostile() -> Finding:
    return Finding(
        id="F-02",
        cause="communication.collective_timeout",
        verdict="undecided",
        summary="Lines that try to break the page: "
        + " | ".join(HOSTILE_LINES[name] for name in ("typst", "korean", "emoji", "rtl", "long")),
        first_event=None,
        evidence=tuple(
            Evidence(Place(f"logs/{name}.log", n), "context", line, note=f"#emph[{name}]")
            for n, (name, line) in enumerate(HOSTILE_LINES.items(), 1)
        ),
        does_not_prove=("That a rank failed.",),
        next_checks=(),
    )


def findings_bundle() -> dict[str, Any]:
    return {
        "lang": "en",
        "findings": [thermal().to_json(), hostile().to_json()],
        "titles": {
            "thermal.slowdown": "Thermal slowdown of one GPU",
            "communication.collective_timeout": "Collective timeout",
            "power.cap": "Software power cap",
        },
        "show_tz": "UTC",
    }


def table_bundle(rows: int = 3) -> dict[str, Any]:
    return {
        "title": "Sources",
        "caption": "What was read, and how.",
        "columns": [
            {"label": "Path", "align": "left", "mono": True, "width": None},
            {"label": "Lines", "align": "right", "mono": False, "width": None},
            {"label": "Zone", "align": "left", "mono": False, "width": None},
        ],
        "rows": [
            [f"logs/node{n:02d}/a-rather-long-folder-name-without-blanks/train.log", f"{n * 1017:,}", None]
            for n in range(rows)
        ],
        "more": 4,
    }


def svg(label: str = "SM clock") -> str:
    points = " ".join(f"{40 + x},{120 - (x * 37) % 83}" for x in range(0, 560, 7))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="170" viewBox="0 0 640 170">'
        f'<text x="40" y="20" font-family="IBM Plex Sans" font-size="11">{label}</text>'
        f'<polyline points="{points}" fill="none" stroke="#8f3a00"/><line x1="40" y1="130" x2="610" y2="130" stroke="#999"/></svg>'
    )


def png() -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    raw = b"".join(b"\x00" + bytes([30, 90, 140]) * 60 for _ in range(20))
    head = struct.pack(">IIBBBBB", 60, 20, 8, 2, 0, 0, 0)
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    ).decode()


def shown(**data: Any) -> NotebookNode:
    """A display output; keyword names are short for MIME names."""
    names = {
        "findings": "application/vnd.crashlens.findings+json",
        "table": "application/vnd.crashlens.table+json",
        "chart": "application/vnd.crashlens.chart+json",
        "note": "application/vnd.crashlens.note+json",
        "svg": "image/svg+xml",
        "png": "image/png",
        "markdown": "text/markdown",
        "plain": "text/plain",
        "html": "text/html",
    }
    return new_output("display_data", data={names[key]: value for key, value in data.items()})


def code(source: str, *outputs: NotebookNode) -> NotebookNode:
    return new_code_cell(source, outputs=list(outputs), execution_count=7)


def notebook(*cells: NotebookNode, **meta: Any) -> NotebookNode:
    for at, cell in enumerate(cells):
        cell["id"] = f"cell-{at}"
    found = new_notebook(cells=list(cells), metadata={"crashlens": meta} if meta else {})
    nbformat.validate(found)
    return found


META = {
    "title": "Job 4711: eight GPUs, one of them hot",
    "client": "Example Cluster Operations 주식회사",
    "window": ["2026-10-01T08:30:00+00:00", "2026-10-01T09:10:00+00:00"],
    "made": "2026-12-01T10:00:00+00:00",
    "show_tz": "Asia/Seoul",
    "version": "0.1.0",
    "lang": "en",
    "synthetic": True,
}


def make_executed() -> NotebookNode:
    """Every kind of output once."""
    return notebook(
        new_markdown_cell(
            "# Audit of one incident\n\nWhat the evidence shows, with `inline code` and a **bold** word."
        ),
        new_markdown_cell(
            "## Summary\n\n1. first\n2. second with [a link](https://example.org/x)\n\n> quoted *words*\n\n- a\n  - b\n- c"
        ),
        code(
            "SECRET_CODE_CELL = 1",
            shown(note={"kind": "warning", "text": "No step times were collected."}, html="<b>HTML</b>"),
        ),
        new_markdown_cell("## Findings"),
        code(
            "case.findings()", shown(findings=findings_bundle(), html="<script>alert(1)</script>", plain="2 findings")
        ),
        new_markdown_cell("## The window on one time axis"),
        code(
            "chart",
            shown(
                chart={
                    "title": "SM clock of eight GPUs",
                    "caption": "GPU 3 in colour.",
                    "alt": "Line chart: GPU 3 falls to 1110 MHz.",
                },
                svg=svg("SM clock 온도 🔥"),
            ),
            shown(png=png(), plain="<Figure size 640x480>"),
        ),
        new_markdown_cell(
            "## Sources and versions\n\n#### A level was skipped here\n\n| name | value |\n|:--|--:|\n| a `code` | 1 |\n| b | 2 |\n\n```\nraw $block #panic()\n```"
        ),
        code("case.sources", shown(table=table_bundle(30))),
        code(
            "print",
            new_output("stream", name="stdout", text="printed \x1b[1mline\x1b[0m\nsecond"),
            new_output("stream", name="stdout", text=" half\n"),
            new_output("stream", name="stderr", text="NOISE_ON_STDERR"),
            shown(markdown="Text from *Markdown* output."),
            shown(plain="shape: (3, 2)"),
        ),
        code("boom", new_output("error", ename="ValueError", evalue="bad #value", traceback=["STACK_TRACE_LINE"])),
        **META,
    )
