"""Files written by hand and read through the door."""

from collections.abc import Callable
from pathlib import Path

import pytest

import crashlens as cl

ReadFile = Callable[..., cl.Case]


@pytest.fixture
def read_file(tmp_path: Path) -> ReadFile:
    """Writes `data` (text or bytes) as a file of its own and reads it."""
    count = 0

    def read(data: str | bytes, *, tz: str | None = None, year: int | None = None) -> cl.Case:
        nonlocal count
        count += 1
        file = tmp_path / f"{count}.log"
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return cl.read(file, tz=tz, year=year)

    return read
