"""What every test may use: the shared reference data, and one closing line that says whether it was there."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A first example compiles patterns, and a busy machine is slow: the clock decides no test.
settings.register_profile("crashlens", deadline=None)
settings.load_profile("crashlens")

ROOT = Path(__file__).resolve().parents[1]


def shared_folder() -> Path:
    """Where the reference data would lie: $CRASHLENS_SHARED, else `shared` beside the repository."""
    given = os.environ.get("CRASHLENS_SHARED")
    return Path(given) if given else ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data; the test is skipped where it is absent."""
    folder = shared_folder()
    if not (folder / "data").is_dir():
        pytest.skip(f"no reference data at {folder} (set CRASHLENS_SHARED to the folder that holds data/)")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A test that takes the fixture reads the data, whether or not its author remembered the mark.
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()) and item.get_closest_marker("shared_data") is None:
            item.add_marker(pytest.mark.shared_data)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    def count(*outcomes: str) -> int:
        reports = (report for outcome in outcomes for report in terminalreporter.stats.get(outcome, ()))
        return sum("shared_data" in getattr(report, "keywords", ()) for report in reports)

    ran, skipped = count("passed", "failed", "error"), count("skipped")
    if (shared_folder() / "data").is_dir():
        terminalreporter.write_line(f"shared data: used by {ran} tests, at {shared_folder()}")
    else:
        terminalreporter.write_line(
            f"shared data: absent; {skipped} tests that read it were skipped (set CRASHLENS_SHARED)"
        )
