"""The command line: one file per command. Parse, call, print; the result goes to stdout, everything else to stderr.

Exit status 2 means that the command could not do its work: wrong usage, a missing path, nothing readable.
"""

from crashlens.cli.main import main

__all__ = ["main"]
