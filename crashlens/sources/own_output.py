"""Is a file something crashlens wrote? Its findings, reports and saved cases quote failures and are never evidence."""

import re

_MARKS = (  # a file with all marks of one row is ours
    (b'"crashlens.findings/1"',),
    (b'"crashlens.case/1"',),
    (b'name="generator" content="crashlens',),
    (b'<div class="crashlens"><style>',),  # one output, saved as HTML
    (b"# crashlens report",),
    (b"application/vnd.crashlens.",),
    (b"[crashlens findings]",),
)
_RULE_FILE = re.compile(rb"(?m)^[ \t]*\[\[[ \t]*(?:rule|harmless|step_line)[ \t]*\]\]")
_LOOKED_AT = 8 * 1024


def is_rule_file(head: bytes) -> bool:
    """Whether the first 8 KiB are those of a rule file: its examples quote records and are never evidence."""
    start = head[:_LOOKED_AT]
    return _RULE_FILE.search(start) is not None and all(word in start for word in (b"pattern", b"literals"))


def is_own_output(head: bytes) -> bool:
    """Whether the first 8 KiB carry the marks that only crashlens writes."""
    start = head[:_LOOKED_AT]
    return any(all(mark in start for mark in marks) for marks in _MARKS)
