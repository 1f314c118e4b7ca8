"""The code as its tools see it: ruff (lint and format) and pyright in strict mode, configured in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def output_of(*arguments: str) -> tuple[int, str]:
    return outcome([sys.executable, "-m", *arguments], ROOT)


def outcome(command: list[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    assert output_of("ruff", "check", "--no-cache", "--output-format=concise", ".") == (0, "All checks passed!\n")


def test_ruff_would_format_nothing() -> None:
    status, text = output_of("ruff", "format", "--no-cache", "--check", ".")
    assert status == 0, text


@pytest.mark.slow
def test_pyright_finds_nothing() -> None:
    status, text = output_of("pyright", "--pythonpath", sys.executable)
    assert status == 0, text


@pytest.mark.parametrize(
    ("tool", "text", "complaint"),
    [
        (("ruff", "check", "--no-cache"), "import os\n", "F401"),
        (("ruff", "format", "--no-cache", "--check"), "x=1\n", "would be reformatted"),
        (("pyright", "--pythonpath", sys.executable), "def f(x): return x\n", "reportMissingParameterType"),
    ],
)
def test_each_tool_uses_our_settings_and_can_fail(
    tmp_path: Path, tool: tuple[str, ...], text: str, complaint: str
) -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "crashlens").mkdir()
    (tmp_path / "sample_data").mkdir()
    (tmp_path / "crashlens" / "wrong.py").write_text(text, encoding="utf-8")
    arguments = [sys.executable, "-m", *tool, *([] if tool[0] == "pyright" else ["."])]
    status, said = outcome(arguments, tmp_path)
    assert status == 1
    assert complaint in said
