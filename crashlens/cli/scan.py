"""`crashlens scan`: read evidence, print the findings; the exit status is the answer."""

import argparse
import json
import sys

from crashlens.api import read
from crashlens.cli.inputs import Subparsers, add_input_options, check_year, zones_from
from crashlens.findings import exit_status
from crashlens.views.visible import visible

NOTHING_READABLE = 2
_NOT_LOOKED_AT = {"not_read"}


def add_scan(commands: Subparsers) -> None:
    """Add the command to the parser."""
    scan = commands.add_parser(
        "scan",
        help="print the findings of logs and telemetry exports",
        description="Reads logs and telemetry exports and prints what they show, with the lines it rests on.",
        epilog="Exit status: 0 all benign, 1 at least one supported or consistent finding, 3 undecided, "
        "2 wrong usage, a missing path, or no given file readable.",
    )
    add_input_options(scan)
    scan.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    scan.add_argument("--lang", choices=("en", "ko"), default="en", help="language of the sentences (en)")
    scan.set_defaults(run=run_scan)


def run_scan(options: argparse.Namespace) -> int:
    """Read, conclude, print."""
    zones = zones_from(options.tz)
    check_year(options.year)
    case = read(options.paths, tz=zones or None, year=options.year, rules=options.rules or None, progress=_say_file)
    answer = case.answer(lang=options.lang)
    if options.format == "json":
        json.dump(answer.to_json(), sys.stdout, ensure_ascii=False, indent=1)
        sys.stdout.write("\n")
    else:
        print(case.answer_text(lang=options.lang))
    readable = case.sources.filter(~case.sources["state"].is_in(list(_NOT_LOOKED_AT))).height
    return exit_status(answer.findings) if readable else NOTHING_READABLE


def _say_file(path: str) -> None:
    """Name the file that is read, to a person who waits; a log of the command gets no such lines."""
    if sys.stderr.isatty():
        print(f"reading {visible(path)}", file=sys.stderr, flush=True)
