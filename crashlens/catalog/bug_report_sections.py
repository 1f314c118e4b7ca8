"""Which sections of an nvidia-bug-report log hold no log lines?"""

from functools import lru_cache

from crashlens.catalog.rows import package_rows


@lru_cache(maxsize=1)
def sections_without_log() -> dict[str, str]:
    """The beginning of each title, and what such a section holds.

    Raises:
        DataFileError: The shipped file is wrong; every fault is named.
    """
    file = package_rows("bug_report_sections.toml", "section")
    found = {row.text("starts"): row.text("holds") for row in file}
    file.check()
    return found


def holds_no_log(title: str) -> bool:
    """Whether the section with this title holds no log lines."""
    return title.startswith(tuple(sections_without_log()))
