"""`crashlens audit`: evidence in, a PDF that somebody else can check out."""

import argparse
import os
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from crashlens.cli.inputs import Subparsers, add_input_options, check_year, zones_from
from crashlens.errors import NoSuchInputError
from crashlens.report.audit import run_audit
from crashlens.report.files import check_evidence_is_kept
from crashlens.report.quick_import import pass_over_grammar
from crashlens.report.templates import template
from crashlens.rules import load
from crashlens.timebase import Window, find_zone

WRITTEN = 0
TITLES = {"en": "Audit of a GPU job", "ko": "GPU 작업 감사"}


def add_audit(commands: Subparsers) -> None:
    """Add the command to the parser."""
    audit = commands.add_parser(
        "audit",
        help="write an audit of logs and telemetry exports as PDF",
        description="Reads logs and telemetry exports, executes the audit notebook on them and writes it as PDF.",
        epilog="Exit status: 0 the audit was written, 2 it could not be written. What it found stands in it.",
    )
    add_input_options(audit)
    audit.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help="the PDF to write")
    audit.add_argument("--title", default="", help="title of the document")
    audit.add_argument("--client", default="", help="whom it is written for")
    audit.add_argument(
        "--window",
        default="",
        metavar="START/END",
        help="only this stretch of time, its end not included, such as 2026-10-01T08:20/2026-10-01T09:20; "
        "times without an offset are read in --tz",
    )
    audit.add_argument(
        "--show-tz",
        default="UTC",
        metavar="ZONE",
        help="time zone of the times in tables and charts (UTC); sentences say UTC",
    )
    audit.add_argument("--lang", choices=("en", "ko"), default="en", help="language of the sentences (en)")
    audit.add_argument("--html", type=Path, metavar="FILE", help="write it as one HTML page too")
    audit.add_argument("--keep-notebook", type=Path, metavar="FILE", help="write the executed notebook too")
    audit.add_argument("--force", action="store_true", help="replace earlier outputs; evidence is never replaced")
    audit.set_defaults(run=run_audit_command)


def run_audit_command(options: argparse.Namespace) -> int:
    """Check what can be checked at once, then execute, typeset and write."""
    zones = zones_from(options.tz)
    check_year(options.year)
    find_zone(options.show_tz, f"--show-tz {options.show_tz}")
    missing = [path for path in options.paths if not os.path.lexists(path)]
    if missing:
        raise NoSuchInputError(
            f"{missing[0]!r} is not there; nothing was read.",
            way_out="Check the path, or give the folder with the logs.",
        )
    load(*options.rules)  # a faulty rule file is named before anything is executed
    outputs = [path for path in (options.output, options.html, options.keep_notebook) if path is not None]
    check_evidence_is_kept(outputs, [*options.paths, *options.rules])
    window = Window.parse(options.window, tz=zones.get("*")) if options.window else None
    made = datetime.now(UTC).replace(microsecond=0)
    pass_over_grammar()
    result = run_audit(
        template("audit_ko" if options.lang == "ko" else "audit"),
        {
            "evidence": list(options.paths),
            "window": str(window) if window else "",
            "tz": "" if len(zones) != 1 or "*" not in zones else zones["*"],
            "tz_by_source": zones if len(zones) > 1 or "*" not in zones else {},
            "year": options.year or 0,
            **({"rules": list(options.rules)} if options.rules else {}),  # a template of one's own may lack it
            "show_tz": options.show_tz,
            "title": options.title or TITLES[options.lang],
            "client": options.client,
            "lang": options.lang,
        },
        out=options.output,
        meta={
            "title": options.title or TITLES[options.lang],
            "client": options.client,
            "window": [window.start.isoformat(), window.end.isoformat()] if window else None,
            "made": made.isoformat(),
            "show_tz": options.show_tz,
            "version": _version(),
            "lang": options.lang,
            "synthetic": any(_is_synthetic(path) for path in options.paths),
        },
        html=options.html,
        keep_notebook=options.keep_notebook,
        overwrite=options.force,
        progress=lambda line: print(line, file=sys.stderr, flush=True),
    )
    for path in (result.pdf, result.html, result.notebook):
        if path is not None:
            print(path)
    return WRITTEN


def _is_synthetic(path: str) -> bool:
    """Whether the evidence is a shipped sample: its folder says so in a README."""
    folder = Path(path)
    readme = (folder if folder.is_dir() else folder.parent).parent / "README.md"
    try:
        return folder.resolve().parent.name == "sample_data" and "synthetic" in readme.read_text("utf-8", "replace")
    except OSError:
        return False


def _version() -> str:
    try:
        return version("crashlens-gpu")
    except PackageNotFoundError:
        return "0"
