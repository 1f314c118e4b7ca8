"""Is a file something crashlens wrote? Its findings, reports and saved cases quote failures and are never evidence."""

_MARKS = (
    b'"crashlens.findings/1"',
    b'"crashlens.case/1"',
    b'name="generator" content="crashlens',
    b"# crashlens report",
    b"application/vnd.crashlens.",
    b"[crashlens findings]",
)
_LOOKED_AT = 8 * 1024


def is_own_output(head: bytes) -> bool:
    """Whether the first 8 KiB carry a mark that only crashlens writes."""
    start = head[:_LOOKED_AT]
    return any(mark in start for mark in _MARKS)
