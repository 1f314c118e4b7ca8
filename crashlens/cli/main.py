"""`crashlens COMMAND`: which command, and what becomes of an error."""

import argparse
import os
import sys
from collections.abc import Sequence

from crashlens.cli.audit import add_audit
from crashlens.cli.rules import add_rules
from crashlens.cli.scan import add_scan
from crashlens.errors import CrashlensError
from crashlens.rules.fast_matcher import fast_engine
from crashlens.views.visible import visible

COULD_NOT = 2
INTERRUPTED = 130
SHOW_TRACE = "CRASHLENS_TRACE"  # environment variable: show where a fault of crashlens itself happened


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. No stack trace reaches the user."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
    except CrashlensError as error:
        print(f"crashlens: {visible(str(error))}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print("crashlens: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nobody is left to tell, and the interpreter must not try.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT
    except OSError as error:
        print(f"crashlens: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return COULD_NOT
    except Exception as error:
        if os.environ.get(SHOW_TRACE):
            raise
        print(f"crashlens: a fault of crashlens itself: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"Run it again with {SHOW_TRACE}=1 and report what it prints.", file=sys.stderr)
        return COULD_NOT
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crashlens",
        description="Turns what a dead or slow GPU job left behind into findings that can be checked line by line.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print version and search engine, and end")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_scan(commands)
    add_audit(commands)
    add_rules(commands)
    return parser


class _Version(argparse.Action):
    """Looks the version up when it is asked for: that alone takes as long as reading a short log."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        print(f"crashlens {_version()} (search: {fast_engine() or 'reference'})")
        parser.exit()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see _Version

    try:
        return version("crashlens-gpu")
    except PackageNotFoundError:
        return "from a checkout that is not installed"
