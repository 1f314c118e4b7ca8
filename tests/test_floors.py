"""The house: a module imports only from lower floors, and inside one package without a circle (DESIGN.md, section 1)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "crashlens"

# Written by hand from DESIGN.md. A new package needs a row here before it can be imported.
FLOORS = {
    "errors": 0, "findings": 0, "schemas": 0, "timebase": 0,
    "catalog": 1,
    "rules": 2,
    "scan": 3,
    "analysis": 4, "sources": 4,
    "conclude": 5, "case": 5,
    "views": 6,
    "report": 7, "export": 7, "gates": 7,
    "api": 8,
    "": 9,  # crashlens/__init__.py itself: the public names
    "cli": 10, "__main__": 10,
}  # fmt: skip
ONE_HOUSEHOLD = {"errors": "ground", "findings": "ground", "schemas": "ground", "timebase": "ground", "__main__": "cli"}

Edge = tuple[str, str, int]  # importing module, imported module, line


def modules(root: Path) -> dict[str, Path]:
    """Dotted module name to file, for every module under `root/crashlens`."""
    found = {}
    for file in sorted((root / PACKAGE).rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(name: str, file: Path, known: dict[str, Path]) -> Iterator[Edge]:
    """Every import of our own modules in `file`, wherever it stands."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            targets = [f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            targets = [a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        else:
            continue
        for target in dict.fromkeys(targets):
            if target.split(".")[0] == PACKAGE:
                yield name, target, node.lineno


def household(module: str) -> str:
    """The package (or lone module) directly under crashlens that `module` belongs to; the ground floor is one."""
    top = module.split(".")[1] if "." in module else ""
    return ONE_HOUSEHOLD.get(top, top)


def floor(module: str) -> int | None:
    return FLOORS.get(module.split(".")[1] if "." in module else "")


def wrong_floors(edges: list[Edge]) -> list[str]:
    """Imports that do not go down."""
    faults = []
    for source, target, line in edges:
        if household(source) == household(target):
            continue
        here, there = floor(source), floor(target)
        if here is None or there is None:
            faults.append(f"{source}:{line} imports {target}: no floor is written down for one of them")
        elif there >= here:
            faults.append(f"{source}:{line} (floor {here}) imports {target} (floor {there})")
    return faults


def circles(edges: list[Edge]) -> list[str]:
    """Groups of modules of one household that import each other in a circle, each named once."""
    graph: dict[str, set[str]] = {}
    for source, target, _ in edges:
        if household(source) == household(target) and source != target:
            graph.setdefault(source, set()).add(target)

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        open_ = [start]
        while open_:
            for following in graph.get(open_.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    open_.append(following)
        return seen

    reach = {module: reachable(module) for module in graph}
    groups = {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, ()))): None
        for module in graph
        if module in reach[module]
    }
    return [" <-> ".join(group) for group in groups]


def edges_of(root: Path) -> list[Edge]:
    known = modules(root)
    return [edge for name, file in known.items() for edge in imports(name, file, known)]


def test_every_import_goes_down() -> None:
    edges = edges_of(ROOT)
    assert edges, "no import was read: the test looks at nothing"
    assert wrong_floors(edges) == []


def test_no_package_imports_itself_in_a_circle() -> None:
    assert circles(edges_of(ROOT)) == []


def test_every_top_level_name_has_a_floor() -> None:
    tops = {name.split(".")[1] if "." in name else "" for name in modules(ROOT)}
    assert tops - set(FLOORS) == set()


@pytest.fixture
def tree(tmp_path: Path):
    def plant(files: dict[str, str]) -> list[Edge]:
        for path, text in files.items():
            file = tmp_path / PACKAGE / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return edges_of(tmp_path)

    return plant


def test_an_import_from_above_is_named_with_its_line(tree) -> None:
    edges = tree(
        {
            "__init__.py": "",
            "schemas.py": "",
            "views/__init__.py": "",
            "analysis/__init__.py": "",
            "analysis/load.py": "from crashlens import schemas\n\ndef measure():\n    from crashlens.views import charts\n",
            "views/charts.py": "from crashlens.analysis.load import measure\n",
        }
    )
    assert wrong_floors(edges) == ["crashlens.analysis.load:4 (floor 4) imports crashlens.views.charts (floor 6)"]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("import crashlens.sources.writer", "crashlens.sources.writer (floor 4)"),
        ("from ..sources import writer", "crashlens.sources.writer (floor 4)"),
        ("import importlib\nimportlib.import_module('crashlens.sources.writer')", "crashlens.sources.writer (floor 4)"),
        ("import crashlens as cl", "crashlens (floor 9)"),
    ],
)
def test_every_way_to_import_is_seen(tree, text: str, target: str) -> None:
    edges = tree({"__init__.py": "", "sources/__init__.py": "", "sources/writer.py": "", "analysis/x.py": text})
    line = text.count("\n") + 1
    assert wrong_floors(edges) == [f"crashlens.analysis.x:{line} (floor 4) imports {target}"]


def test_a_package_without_a_floor_is_a_fault(tree) -> None:
    edges = tree({"__init__.py": "", "misc/__init__.py": "", "cli/__init__.py": "import crashlens.misc\n"})
    assert wrong_floors(edges) == [
        "crashlens.cli:1 imports crashlens.misc: no floor is written down for one of them",
    ]


def test_a_circle_inside_a_package_is_named_once_and_a_chain_is_none(tree) -> None:
    edges = tree(
        {
            "__init__.py": "",
            "scan/__init__.py": "",
            "scan/a.py": "from crashlens.scan import b\n",
            "scan/b.py": "from .c import x\n",
            "scan/c.py": "def x():\n    import crashlens.scan.a\n",
            "scan/d.py": "from crashlens.scan.a import y\n",
            "errors.py": "",
            "timebase.py": "from crashlens.errors import CrashlensError\n",
        }
    )
    assert circles(edges) == ["crashlens.scan.a <-> crashlens.scan.b <-> crashlens.scan.c"]
    assert wrong_floors(edges) == []
