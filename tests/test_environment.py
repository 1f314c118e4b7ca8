"""environment.yml, pyproject.toml and .ci/run say the same."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT: dict[str, Any] = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

CONDA_NAMES = {"tzdata": "python-tzdata"}  # conda's own `tzdata` holds the system's zone files, not the Python package
ITSELF = "-e ."


def wanted(extra: str) -> set[str]:
    """Requirements of an extra, those of the extras it names included."""
    found: set[str] = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        nested = re.fullmatch(re.escape(PROJECT["name"]) + r"\[([\w,]+)\]", requirement)
        found |= {each for name in nested[1].split(",") for each in wanted(name)} if nested else {requirement}
    return found


def conda_spelling(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)[0]
    return CONDA_NAMES.get(name, name) + requirement[len(name) :]


def test_the_environment_holds_what_the_project_requires_and_nothing_else() -> None:
    conda = [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]
    [pip] = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    listed = [*conda, *(conda_spelling(entry) if entry != ITSELF else entry for entry in pip)]
    required = {conda_spelling(each) for each in {*PROJECT["dependencies"], *wanted("all")}}
    assert sorted(listed) == sorted({*required, ITSELF, "pip", f"python{PROJECT['requires-python']}"})


def test_the_environment_takes_packages_from_conda_forge_alone() -> None:
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]


def test_one_requirement_has_one_spelling_in_all_extras() -> None:
    spellings: dict[str, set[str]] = {}
    for requirement in {*PROJECT["dependencies"], *wanted("all"), *wanted("test")}:
        spellings.setdefault(re.match(r"[\w.-]+", requirement)[0].lower(), set()).add(requirement)
    assert {name: sorted(each) for name, each in spellings.items() if len(each) > 1} == {}


def readme_command(section: str) -> str:
    """The one command line of a README section."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    fence = re.search(rf"^## {section}$.*?^```bash[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert fence, f"the README has no command under {section!r}"
    [line] = fence[1].splitlines()
    return line


def test_ci_runs_the_second_readme_command_word_for_word() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert readme_command("Run the tests") in script


def test_the_readme_commands_install_what_they_then_use() -> None:
    audit, tests = readme_command("Try it"), readme_command("Run the tests")
    assert "'.[all]'" in audit
    assert audit.endswith("crashlens audit sample_data/throttled_then_xid94 -o audit.pdf --tz UTC")
    assert "'.[all,test]'" in tests
