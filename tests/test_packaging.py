"""The wheel: everything a user needs is in it, and its core runs without Jupyter and without the PDF stack."""

import os
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = (
    "altair", "anywidget", "IPython", "ipykernel", "ipywidgets", "jupyter_client", "jupyterlab", "mistune", "nbclient",
    "nbconvert", "nbformat", "typst", "vl_convert",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def tracked(folder: str) -> set[str]:
    """Files of `folder` that belong to the project: known to git, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}


def test_every_module_and_data_file_is_in_the_wheel(names: set[str]) -> None:
    ours = tracked("crashlens")
    assert "crashlens/py.typed" in ours
    assert any(name.endswith(".toml") for name in ours)
    assert ours - names == set()


@pytest.mark.parametrize("folder", ["notebooks", "sample_data"])
def test_notebooks_and_samples_travel_inside_the_package(folder: str, names: set[str]) -> None:
    wanted = {f"crashlens/_data/{name}" for name in tracked(folder)}
    assert wanted
    assert {name for name in names if name.startswith(f"crashlens/_data/{folder}/")} == wanted


def test_an_editable_install_leads_to_the_checkout_and_copies_nothing(tmp_path: Path) -> None:
    # The README installs with -e; a copy of the samples in site-packages would go stale unseen.
    code = f"import hatchling.build as b; print(b.build_editable({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, timeout=300)
    [built] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        outside = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert outside == ["_crashlens_gpu.pth"]
        assert Path(archive.read("_crashlens_gpu.pth").decode().strip()) == ROOT


def test_nothing_else_is_in_the_wheel(names: set[str]) -> None:
    rest = {name for name in names if not name.startswith("crashlens/") and ".dist-info/" not in name}
    assert rest == set()
    assert {name for name in names if name.endswith((".pyc", ".ipynb_checkpoints"))} == set()


def test_the_wheel_says_what_the_project_says(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        about = Parser().parsestr(archive.read(metadata).decode())
        entry_points = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert (about["Name"], about["Version"]) == (project["name"], project["version"])
    assert (about["Requires-Python"], about["License-Expression"]) == (">=3.11", "Apache-2.0")
    assert set(about.get_all("Provides-Extra", [])) >= {"notebook", "pdf", "integrations", "all"}
    assert "crashlens = crashlens.cli:main" in entry_points
    assert "crashlens-pdf = crashlens.report.exporter:CrashlensPDFExporter" in entry_points
    assert len(licences) == 1


def without_extras(code: str, installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `code` with the unpacked wheel, away from the checkout, as if no optional package were installed."""
    blocker = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"blocked by the test: {{name}}", name=name)
sys.meta_path.insert(0, Blocker())
"""
    return subprocess.run(
        [sys.executable, "-c", blocker + code, *arguments],
        check=False, cwd=installed, env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_the_blocker_blocks(installed: Path) -> None:
    done = without_extras("import altair", installed)
    assert done.returncode == 1
    assert "blocked by the test: altair" in done.stderr


def test_the_core_imports_without_extras_and_from_the_wheel(installed: Path) -> None:
    done = without_extras("import crashlens as cl; print(cl.__file__); print(len(cl.__all__))", installed)
    assert done.returncode == 0, done.stderr
    file, public = done.stdout.split()
    assert Path(file).is_relative_to(installed)
    assert int(public) > 0


def test_scan_works_without_extras_on_the_sample_of_the_wheel(installed: Path) -> None:
    sample = installed / "crashlens" / "_data" / "sample_data" / "throttled_then_xid94"
    run = "from crashlens.cli import main\nsys.exit(main())"
    done = without_extras(run, installed, "scan", str(sample), "--tz", "UTC")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stdout + done.stderr
    assert "Xid" in done.stdout


def test_audit_without_extras_names_the_extra_and_shows_no_trace(installed: Path, tmp_path: Path) -> None:
    sample = installed / "crashlens" / "_data" / "sample_data" / "throttled_then_xid94"
    run = "from crashlens.cli import main\nsys.exit(main())"
    done = without_extras(run, installed, "audit", str(sample), "-o", str(tmp_path / "audit.pdf"), "--tz", "UTC")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stdout + done.stderr
    assert "crashlens-gpu[pdf]" in done.stderr
    assert not (tmp_path / "audit.pdf").exists()
