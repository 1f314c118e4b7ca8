"""Turns what a dead or slow GPU job left behind into tables, findings and an audit that somebody else can check.

`read` takes files and folders and returns a `Case`; the case holds the tables and answers what happened, what the
evidence can decide and what it cannot. The same calls stand behind the command `crashlens`.
"""

from crashlens import errors, rules
from crashlens.api import Case, open_case, read, sample
from crashlens.findings import Answer, Finding
from crashlens.timebase import Window

open = open_case  # noqa: A001 - `cl.open(folder)` is what a reader expects beside `cl.read(folder)`

__all__ = ["Answer", "Case", "Finding", "Window", "errors", "open", "read", "rules", "sample"]
