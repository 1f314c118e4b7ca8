"""Is a file something crashlens wrote? Its findings, reports and saved cases quote failures and are never evidence."""

_MARKS = (  # a file with all marks of one row is ours
    (b'"crashlens.findings/1"',),
    (b'"crashlens.case/1"',),
    (b'name="generator" content="crashlens',),
    (b'<div class="crashlens"><style>',),  # one output, saved as HTML
    (b"# crashlens report",),
    (b"application/vnd.crashlens.",),
    (b"[crashlens findings]",),
)
_LOOKED_AT = 8 * 1024


def is_own_output(head: bytes) -> bool:
    """Whether the first 8 KiB carry the marks that only crashlens writes."""
    start = head[:_LOOKED_AT]
    return any(all(mark in start for mark in marks) for marks in _MARKS)
