"""The options by which every command that reads evidence is told what to read."""

import argparse
from typing import Any

from crashlens.errors import WindowError
from crashlens.timebase import find_zone

Subparsers = Any  # argparse does not export the type of add_subparsers()


def add_input_options(command: argparse.ArgumentParser) -> None:
    """`PATH...`, `--tz`, `--year` and `--rules`."""
    command.add_argument("paths", nargs="+", metavar="PATH", help="files and folders to read")
    command.add_argument(
        "--tz",
        action="append",
        default=[],
        metavar="ZONE|GLOB=ZONE",
        help="zone of times that are written without one, such as Asia/Seoul; for all sources, or for the files that "
        "match a glob ('*.csv=UTC'); may be given several times",
    )
    command.add_argument("--year", type=int, metavar="YYYY", help="year of the first time that is written without one")
    add_rules_option(command)


def add_rules_option(command: argparse.ArgumentParser) -> None:
    """`--rules`."""
    command.add_argument(
        "--rules",
        action="append",
        default=[],
        metavar="FILE",
        help="rule file of your own (TOML), used beside the shipped rules; may be given several times",
    )


def zones_from(given: list[str]) -> dict[str, str]:
    """Glob to zone from the values of `--tz`; globs given one by one come before the zone for all.

    Raises:
        UnknownTimeZoneError: A zone is not known here.
    """
    pairs = [text.rpartition("=") for text in given]
    zones = {glob: zone for glob, _, zone in pairs if glob}
    zones |= dict([("*", zone) for glob, _, zone in pairs if not glob][-1:])
    for glob, zone in zones.items():
        find_zone(zone, f"--tz {glob}={zone}" if glob != "*" else f"--tz {zone}")
    return zones


def check_year(year: int | None) -> None:
    """Refuse a year that no log is from.

    Raises:
        WindowError: It is not between 1990 and 2200.
    """
    if year is not None and not 1990 <= year <= 2200:
        raise WindowError(
            "That is no year of a log; nothing was read.", facts=[("given by", f"--year {year}")], way_out="--year 2026"
        )
