"""The notebooks are what people copy: their twins are current, and every cell is one plain call."""

import ast
import importlib.util
import itertools
import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
NAMES = ("audit", "audit_ko", "quickstart")
PARAMETERS = {"evidence", "window", "tz", "tz_by_source", "year", "rules", "show_tz", "title", "client", "lang"}


def build():
    spec = importlib.util.spec_from_file_location("notebooks_build", NOTEBOOKS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(name: str, kind: str):
    twin = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))
    return [cell for cell in twin["cells"] if cell["cell_type"] == kind]


def source(cell) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("name", NAMES)
def test_the_twin_is_current(name: str) -> None:
    percent = (NOTEBOOKS / f"{name}.py").read_text("utf-8")
    assert build().text(percent) == (NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"), "run python notebooks/build.py"


def test_every_notebook_is_built() -> None:
    assert {path.name for path in NOTEBOOKS.glob("*.py")} - {"build.py"} == set(build().SOURCES)
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_outputs_are_stored(name: str) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(name, "code"))


@pytest.mark.parametrize("name", NAMES)
def test_the_twin_is_a_valid_notebook(name: str) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4))


def test_the_audit_has_one_cell_of_parameters_and_each_has_a_plain_default() -> None:
    tagged = [cell for cell in cells("audit", "code") if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1
    body = ast.parse(source(tagged[0])).body
    assert all(isinstance(line, ast.AnnAssign) and line.value is not None for line in body)
    assert {ast.unparse(line.target) for line in body} == PARAMETERS
    for line in body:
        ast.literal_eval(line.value)


def test_the_audit_asks_its_questions_in_order() -> None:
    text = "\n".join(source(cell) for cell in cells("audit", "markdown"))
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == [
        "Summary",
        "Scope and window",
        "Findings",
        "What can and cannot be decided",
        "The window on one time axis",
        "Sources and versions",
    ]


def test_the_korean_audit_runs_the_same_cells() -> None:
    english, korean = ([source(cell) for cell in cells(name, "code")] for name in ("audit", "audit_ko"))
    assert korean == [text.replace('lang: str = "en"', 'lang: str = "ko"') for text in english]
    assert len(cells("audit_ko", "markdown")) == len(cells("audit", "markdown"))
    titles = [cell["metadata"]["title"] for cell in cells("audit_ko", "code") if "title" in cell["metadata"]]
    said = [*titles, *(source(cell) for cell in cells("audit_ko", "markdown"))]
    assert [text for text in said if not any("가" <= letter <= "힣" for letter in text)] == []


def test_headings_never_skip_a_level() -> None:
    for name in NAMES:
        text = "\n".join(source(cell) for cell in cells(name, "markdown"))
        levels = [len(line) - len(line.lstrip("#")) for line in text.split("\n") if line.startswith("#")]
        assert levels[0] == 1
        assert all(later <= before + 1 for before, later in itertools.pairwise(levels))


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_is_a_few_plain_calls(name: str) -> None:
    control = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.For,
        ast.While,
        ast.Try,
        ast.comprehension,
    )
    for cell in cells(name, "code"):
        tree = ast.parse(source(cell))
        assert not [node for node in ast.walk(tree) if isinstance(node, control)], source(cell)
        assert len(tree.body) <= 10 if "tags" in cell["metadata"] else len(tree.body) <= 3, source(cell)
        assert "sys.path" not in source(cell)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_public_api_is_used(name: str) -> None:
    for cell in cells(name, "code"):
        for node in ast.walk(ast.parse(source(cell))):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= {"crashlens", "polars", "tempfile"}
            assert not isinstance(node, ast.ImportFrom)
            assert not (isinstance(node, ast.Attribute) and node.attr.startswith("_"))


def test_a_marker_that_cannot_be_read_stops_the_build() -> None:
    with pytest.raises(SystemExit, match="Not a cell marker"):
        build().notebook("# %% a [b] c\nx\n")


def test_markdown_titles_and_tags_are_read() -> None:
    made = build().notebook('# %% [markdown]\n# # T\n#\n# é\n# %% Look tags=["a"]\nx = 1\n')["cells"]
    assert made[0]["source"] == ["# T\n", "\n", "é"]
    assert made[1]["metadata"] == {"title": "Look", "tags": ["a"]}
    assert made[1]["source"] == ["x = 1"]
