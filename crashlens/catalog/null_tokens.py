"""What does a cell without a value say: not supported, not collected, an error, a GPU that wants a reset?"""

from functools import lru_cache
from importlib.resources import files
from typing import Any

from crashlens.catalog.toml_text import toml_document


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return toml_document(files("crashlens.catalog").joinpath("null_tokens.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def null_tokens() -> dict[str, str]:
    """Lower-case text without outer spaces to the state it stands for, where a number is expected."""
    return {text.lower(): row["state"] for row in _document()["token"] for text in row["texts"]}


@lru_cache(maxsize=1)
def null_tokens_of_text() -> dict[str, str]:
    """The same where text is expected: words such as `None` are values there."""
    rows = (row for row in _document()["token"] if not row.get("numbers_only", False))
    return {text.lower(): row["state"] for row in rows for text in row["texts"]}


@lru_cache(maxsize=1)
def sentinels() -> dict[int, str]:
    """Numbers that DCGM stores in place of a value, to the state they stand for."""
    return {value: row["state"] for row in _document()["sentinel"] for value in row["values"]}


@lru_cache(maxsize=1)
def bracket_state() -> str:
    """State of a cell `[...]` whose text is not listed."""
    return str(_document()["brackets"]["state"])
